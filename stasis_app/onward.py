"""The way from the bot to a target of the dialplan. Only what stands in voicebot.yaml ever goes into it."""

import logging

from stasis_app.ari.errors import AriError
from stasis_app.ari.rest import Ari
from stasis_app.switchboard import Switchboard
from stasis_app.to_its_end import to_its_end
from stasis_app.tools.settings import Target

log = logging.getLogger(__name__)

TRANSFER_VARIABLE = "VOICEBOT_TRANSFER"


async def is_there(ari: Ari, channel_id: str, name: str, target: Target) -> bool:
    """Whether the dialplan has this target: `continue` to a place that it lacks would end the call."""
    place = f"{target.context},{target.extension},{target.priority}"
    try:
        found = await ari.channel_variable(channel_id, f"DIALPLAN_EXISTS({place})")
    except AriError as error:
        if not error.gone:
            log.error(  # noqa: TRY400 - Asterisk's answer says it all
                "nobody is put through to %s: Asterisk cannot be asked whether the dialplan has it (%s);"
                " does it load func_dialplan.so?",
                name,
                error,
            )
        return False
    if found != "1":
        log.error(
            "nobody is put through to %s: the dialplan has no %s@%s with priority %d; see `dialplan show %s`",
            name,
            target.extension,
            target.context,
            target.priority,
            target.context,
        )
    return found == "1"


async def put_through(board: Switchboard, channel_id: str, name: str, target: Target) -> None:
    """Send the caller there, with VOICEBOT_REASON=transfer; where that fails, on behind Stasis() as ever.

    Once begun it is done, also when the process is told to end meanwhile.
    """
    await to_its_end(_put_through(board, channel_id, name, target))


async def _put_through(board: Switchboard, channel_id: str, name: str, target: Target) -> None:
    ari = board.link.ari
    try:
        await ari.set_variable(channel_id, "VOICEBOT_REASON", "transfer")
        await ari.set_variable(channel_id, TRANSFER_VARIABLE, name)
        await ari.continue_in_dialplan(channel_id, target.context, target.extension, target.priority)
    except AriError as error:
        if not error.gone:
            log.warning("a caller could not be put through to %s, and is handed back: %s", name, error)
            await board.hand_back(channel_id, "transfer_failed")
