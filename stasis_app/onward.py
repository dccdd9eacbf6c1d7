"""The way from the bot to a target of the dialplan. Only what stands in voicebot.yaml ever goes into it."""

import logging

from stasis_app.ari.errors import AriError
from stasis_app.ari.events import Channel
from stasis_app.history import History
from stasis_app.seams import CallRequests
from stasis_app.settings import Profile
from stasis_app.switchboard import Switchboard
from stasis_app.to_its_end import to_its_end
from stasis_app.tools.settings import TRANSFER, Target
from stasis_app.tools.toolbox import Outside, Toolbox

log = logging.getLogger(__name__)

TRANSFER_VARIABLE = "VOICEBOT_TRANSFER"


def toolbox_of(
    call_id: str, channel_id: str, profile: Profile, history: History, board: Switchboard
) -> Toolbox:
    """The tools of one call."""
    outside = Outside(
        board.requests,
        board.transfers,
        lambda name, target: is_there(board.link.ari, channel_id, name, target),
    )
    return Toolbox(call_id, profile.tools, history, outside, board.metrics)


async def is_there(ari: CallRequests, channel_id: str, name: str, target: Target) -> bool:
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


async def put_through(board: Switchboard, visit: Channel, name: str, target: Target) -> str:
    """Send the caller there, with VOICEBOT_REASON=transfer; where that fails, on behind Stasis() as ever.

    Returns how the call has ended by that, as `voicebot_calls_ended_total` names it.

    Once begun it is done, also when the process is told to end meanwhile.
    """
    return await to_its_end(_put_through(board, visit, name, target))


async def _put_through(board: Switchboard, visit: Channel, name: str, target: Target) -> str:
    ari = board.link.ari
    try:
        await ari.set_variable(visit.id, "VOICEBOT_REASON", "transfer")
        await ari.set_variable(visit.id, TRANSFER_VARIABLE, name)
        await ari.continue_in_dialplan(visit.id, target.context, target.extension, target.priority)
        board.link.hub.left(visit)
    except AriError as error:
        if error.gone:
            return "caller_hung_up"
        log.warning("a caller could not be put through to %s, and is handed back: %s", name, error)
        board.metrics.tools.labels(TRANSFER, "failed").inc()
        await board.hand_back(visit, "transfer_failed")
        return "transfer_failed"
    board.metrics.tools.labels(TRANSFER, "ok").inc()
    return "transferred"
