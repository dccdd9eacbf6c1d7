"""What to do about channels and bridges after the event socket was down, or after this process was.

ARI forgets: what happened during a gap is never told. So after every connect, and now and then, what Asterisk has is
compared with what the bot knows. Names carry all that is needed (ari.names), so this works across restarts.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from .ari.errors import AriError
from .ari.events import Bridge, Channel
from .ari.hub import EventHub
from .ari.names import LegNames, is_call_bridge, is_media_channel
from .ari.rest import Ari

ORPHAN_GRACE_S = 1.0
"""A caller may stand in the list before its StasisStart was read: the two come over different connections."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CallerGone:
    """A caller of ours is not in the app any more: end its call."""

    channel_id: str


@dataclass(frozen=True, slots=True)
class DeleteChannel:
    """A media channel of no live call."""

    channel_id: str


@dataclass(frozen=True, slots=True)
class DeleteBridge:
    """A bridge of no live call."""

    bridge_id: str


@dataclass(frozen=True, slots=True)
class Adopt:
    """A caller in the app who was never answered: the StasisStart was lost in a gap, or the bot was killed before it
    could answer. It is taken like any other call.
    """

    channel: Channel


@dataclass(frozen=True, slots=True)
class HandBack:
    """A caller in the app who was answered and whom nobody serves: the bot that did was killed.

    It goes on in the dialplan, with VOICEBOT_REASON. A bot that greets anew in the middle of a talk confuses, and
    hanging up is for the dialplan to decide: what stands behind Stasis() is already the admin's answer to a bot that is
    not there (another bot, a queue, a voice mailbox), and a plain Hangup() stands there where nothing better does.
    """

    channel_id: str


Action = CallerGone | DeleteChannel | DeleteBridge | Adopt | HandBack

STOPPED = "stopped"
"""VOICEBOT_REASON of a caller whose talk was cut off."""


def plan(
    channels: Sequence[Channel],
    bridges: Sequence[Bridge],
    *,
    app: str,
    names: LegNames,
    callers: AbstractSet[str],
    legs: AbstractSet[str],
) -> list[Action]:
    """Compare what Asterisk listed with the live callers (channel ids) and legs (call ids). Pure.

    Foreign channels and other bots' legs are left alone, and so is a caller in another bot's bridge.
    """
    served_elsewhere = {
        channel_id
        for bridge in bridges
        if is_call_bridge(bridge.id) and names.call_of_bridge(bridge.id) is None
        for channel_id in bridge.channel_ids
    }
    ours = [(channel.id, names.call_of_channel(channel.id)) for channel in channels]
    made = [(bridge.id, names.call_of_bridge(bridge.id)) for bridge in bridges]
    return [
        *callers_gone(channels, app, callers),
        *(DeleteChannel(channel_id) for channel_id, call in ours if call is not None and call not in legs),
        *(DeleteBridge(bridge_id) for bridge_id, call in made if call is not None and call not in legs),
        *(
            HandBack(channel.id) if channel.state == "Up" else Adopt(channel)
            for channel in channels
            if channel.in_app(app)
            and not is_media_channel(channel.id)
            and channel.id not in callers
            and channel.id not in served_elsewhere
        ),
    ]


def callers_gone(channels: Iterable[Channel], app: str, callers: AbstractSet[str]) -> list[CallerGone]:
    """Which live callers are not in the app any more. Pure."""
    present = {channel.id for channel in channels if channel.in_app(app)}
    return [CallerGone(channel_id) for channel_id in sorted(callers - present)]


async def reconcile(ari: Ari, hub: EventHub, grace_s: float = ORPHAN_GRACE_S) -> None:
    """Look, compare and act. Raises AriError when Asterisk did not answer or an action failed: try again later."""
    actions = await _look(ari, hub)
    orphans = {action for action in actions if isinstance(action, Adopt | HandBack)}
    failures = await apply([action for action in actions if action not in orphans], ari, hub)
    if orphans:
        await asyncio.sleep(grace_s)
        failures += await apply([action for action in await _look(ari, hub) if action in orphans], ari, hub)
    if failures:
        raise failures[0]


async def end_calls_gone(ari: Ari, hub: EventHub) -> None:
    """Only end the calls whose caller is gone: for a process that gets no more events. Raises AriError."""
    known = set(hub.callers)
    await apply(callers_gone(await ari.list_channels(), ari.app, known), ari, hub)


async def apply(actions: Iterable[Action], ari: Ari, hub: EventHub) -> list[AriError]:
    """Do all of it, whatever fails. Returns what failed. What is gone already is well done."""
    failures = []
    for action in actions:
        log.warning("reconcile: %s", action)
        try:
            match action:
                case CallerGone(channel_id):
                    hub.gone(channel_id)
                case DeleteChannel(channel_id):
                    await ari.hangup(channel_id)
                case DeleteBridge(bridge_id):
                    await ari.delete_bridge(bridge_id)
                case Adopt(channel):
                    hub.adopt(channel)
                case HandBack(channel_id):
                    await ari.set_variable(channel_id, "VOICEBOT_REASON", STOPPED)
                    await ari.continue_in_dialplan(channel_id)
        except AriError as error:
            if not error.gone:
                failures.append(error)
    return failures


async def _look(ari: Ari, hub: EventHub) -> list[Action]:
    before = set(hub.callers)
    channels = await ari.list_channels()
    bridges = await ari.list_bridges()
    now = set(hub.callers)
    actions = plan(channels, bridges, app=ari.app, names=hub.names, callers=now, legs=hub.legs)
    # who came while the lists were being made is not in them
    return [action for action in actions if not isinstance(action, CallerGone) or action.channel_id in before]
