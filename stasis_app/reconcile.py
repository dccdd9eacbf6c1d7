"""What to do about channels and bridges after the event socket was down, or after this process was.

ARI forgets: what happened during a gap is never told. So after every connect, and now and then, what Asterisk has is
compared with what the bot knows. Names carry all that is needed (ari.names), so this works across restarts.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from .ari.errors import AriError
from .ari.events import Bridge, Channel
from .ari.hub import EventHub
from .ari.names import LegNames, beat_variable, is_call_bridge, is_media_channel
from .ari.rest import Ari
from .ari.runs import OtherRuns

ORPHAN_GRACE_S = 1.5
"""A caller may stand in the list before its StasisStart was read: the two come over different connections. And another
run of this bot, which was replaced just now, needs a moment to say that it lives."""

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
    unserved: AbstractSet[str] = frozenset(),
    alive: AbstractSet[str] = frozenset(),
) -> list[Action]:
    """Compare what Asterisk listed with the live callers (channel ids) and legs (call ids). Pure.

    `unserved`: those of the callers who have no call.
    `alive`: other runs of this bot that finish their calls. Foreign channels, other bots' legs and those of runs that
    live are left alone, and so is a caller in a bridge of theirs.
    """
    served_elsewhere = {
        channel_id
        for bridge in bridges
        if is_call_bridge(bridge.id) and names.run_of(bridge.id) in {None, *alive}
        for channel_id in bridge.channel_ids
    }

    def left(name: str, call: str | None) -> bool:
        run = names.run_of(name)
        return run is not None and (call not in legs if run == names.run else run not in alive)

    return [
        *callers_gone(channels, app, callers),
        *(
            DeleteChannel(channel.id)
            for channel in channels
            if is_media_channel(channel.id) and left(channel.id, names.call_of_channel(channel.id))
        ),
        *(DeleteBridge(bridge.id) for bridge in bridges if left(bridge.id, names.call_of_bridge(bridge.id))),
        *(
            HandBack(channel.id) if channel.state == "Up" else Adopt(channel)
            for channel in channels
            if channel.in_app(app)
            and not is_media_channel(channel.id)
            and channel.id not in callers - unserved
            and channel.id not in served_elsewhere
        ),
    ]


def callers_gone(channels: Iterable[Channel], app: str, callers: AbstractSet[str]) -> list[CallerGone]:
    """Which live callers are not in the app any more. Pure."""
    present = {channel.id for channel in channels if channel.in_app(app)}
    return [CallerGone(channel_id) for channel_id in sorted(callers - present)]


async def reconcile(
    ari: Ari,
    hub: EventHub,
    runs: OtherRuns,
    on_refused: Callable[[str], None],
    grace_s: float = ORPHAN_GRACE_S,
) -> None:
    """Look, compare and act. Raises AriError when Asterisk did not answer or an action failed: try again later.

    `on_refused` is told the VOICEBOT_REASON of each caller who is handed back.
    """
    actions = await _look(ari, hub, runs)
    doubtful = {action for action in actions if _may_be_anothers(action, hub.names)}
    failures = await apply([action for action in actions if action not in doubtful], ari, hub, on_refused)
    if doubtful:
        await asyncio.sleep(grace_s)
        still = [action for action in await _look(ari, hub, runs) if action in doubtful]
        failures += await apply(still, ari, hub, on_refused)
    if failures:
        raise failures[0]


async def end_calls_gone(ari: Ari, hub: EventHub) -> None:
    """Only end the calls whose caller is gone: for a process that gets no more events. Raises AriError."""
    before = dict(hub.callers)
    for gone in callers_gone(await ari.list_channels(), ari.app, before.keys()):
        if hub.callers.get(gone.channel_id) is before[gone.channel_id]:
            log.warning("reconcile: %s", gone)
            hub.gone(gone.channel_id)


def _may_be_anothers(action: Action, names: LegNames) -> bool:
    """A second look decides."""
    match action:
        case DeleteChannel(name) | DeleteBridge(name):
            return names.run_of(name) != names.run
        case CallerGone():
            return False
        case Adopt() | HandBack():
            return True


async def apply(
    actions: Iterable[Action], ari: Ari, hub: EventHub, on_refused: Callable[[str], None]
) -> list[AriError]:
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
                    visit = hub.callers.get(channel_id)
                    await ari.set_variable(channel_id, "VOICEBOT_REASON", STOPPED)
                    await ari.continue_in_dialplan(channel_id)
                    on_refused(STOPPED)
                    if visit is not None:
                        hub.left(visit)
        except AriError as error:
            if not error.gone:
                failures.append(error)
    return failures


async def _look(ari: Ari, hub: EventHub, runs: OtherRuns) -> list[Action]:
    before = dict(hub.callers)
    channels = await ari.list_channels()
    bridges = await ari.list_bridges()
    listed = [*(channel.id for channel in channels), *(bridge.id for bridge in bridges)]
    alive = await _other_runs(ari, hub.names, listed, runs)
    now = hub.callers
    actions = plan(
        *(channels, bridges),
        app=ari.app,
        names=hub.names,
        callers=now.keys(),
        legs=hub.legs,
        unserved=hub.unserved,
        alive=alive,
    )
    # who came, or came back, while the lists were being made is not in them
    return [
        action
        for action in actions
        if not isinstance(action, CallerGone) or before.get(action.channel_id) is now[action.channel_id]
    ]


async def _other_runs(ari: Ari, names: LegNames, listed: Iterable[str], runs: OtherRuns) -> frozenset[str]:
    """Those that have made something of what is listed, and live."""
    clock = asyncio.get_running_loop().time
    for run in {made for name in listed if (made := names.run_of(name)) and made != names.run}:
        runs.saw(run, await ari.global_variable(beat_variable(run)), clock())
    return runs.alive(clock())
