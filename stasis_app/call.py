"""One call: what must be undone in order (port, external leg, bridge) around one TaskGroup of what runs."""

import asyncio
import logging
from collections import deque
from contextlib import AsyncExitStack
from types import TracebackType

from media_bridge import events as media
from media_bridge.ports import NoPortError
from media_bridge.session import MediaSession
from media_bridge.transport import Offer
from stasis_app import conversation as talk
from stasis_app.ari.errors import AriError, AriRefused, LegFailed
from stasis_app.ari.events import (
    ENDINGS,
    ChannelDtmfReceived,
    ChannelEvent,
    ChannelGone,
    ChannelHold,
    ChannelUnhold,
    StasisEnd,
    StasisStart,
)
from stasis_app.ari.hub import Subscription
from stasis_app.conversation import SOUNDING, Phase, State, step
from stasis_app.effects import Effects
from stasis_app.expecting import expecting
from stasis_app.flight.recorder import Flight
from stasis_app.hearing import Hearing
from stasis_app.history import History
from stasis_app.keys import Keys
from stasis_app.legs import external_leg
from stasis_app.media_news import complaint, news
from stasis_app.onward import put_through, toolbox_of
from stasis_app.passages import Passages, is_of_speech, over_passage
from stasis_app.record import Sound
from stasis_app.settings import Profile
from stasis_app.silence import Silence
from stasis_app.switchboard import Switchboard
from stasis_app.timers import Timers
from stasis_app.tools.settings import HANG_UP
from stasis_app.tools.toolbox import Toolbox
from stasis_app.turn import Parts

log = logging.getLogger(__name__)

INTERRUPTED = {Phase.CHECKING, Phase.JUDGING, Phase.JUDGING_LATE, Phase.TALKING_ON}

GREET_ANYWAY_S = 0.25
"""The greeting begins with the caller's first packet, when the phone's audio is open, or this long after the leg."""

CALL_VARIABLE = "VOICEBOT_CALL"
TELL_NAME_S = 0.5
"""Nobody waits for that variable: the requests that connect callers of the same moment go first."""

SOUND_STOPPED_S = 1.0
"""Sound that last came longer ago had stopped before the event port was found closed: that takes 0.25 s."""
ASTERISK_DOWN_S = 0.5
"""No event socket can be opened and no sound came for this long: Asterisk has ended, and the call with it."""


class Call:
    """`run` takes the call from its StasisStart to its end and leaves nothing behind."""

    def __init__(self, start: StasisStart, call_id: str, profile: Profile, board: Switchboard) -> None:
        self.call_id = call_id
        self.sound: Sound | None = None
        self._start = start
        self._profile = profile
        self._board = board
        self._state = State(max_prompts=profile.no_input_prompts)
        self._mailbox: asyncio.Queue[talk.Event] = asyncio.Queue()
        self._deferred: deque[talk.Event] = deque()
        self._timers = Timers(self.post)
        self._history = History.of(profile, board.context_tokens)
        self._offer: Offer | None = None
        self._session: MediaSession | None = None
        self._passages = Passages(
            [profile.disclosure, *profile.must_play], profile.language, profile.pronounced
        )
        self._keys = Keys(
            self.post, profile.digits_pause_s, self._wanted_digits, self._passage_left_s, board.metrics
        )
        self._silence = Silence(self._timers, profile.no_input_s, self._no_input)
        self._cause = "normal"
        self._why_gone = "caller_hung_up"
        self._flight: Flight | None = None
        self._onward: str | None = None  # where the caller goes when all else is undone

    def post(self, event: talk.Event) -> None:
        """Hand the conversation an event, from anywhere on the loop."""
        self._mailbox.put_nowait(event)

    @property
    def connected(self) -> bool:
        """Whether caller and bot can hear each other."""
        return self._state.phase is not Phase.CONNECTING

    def end_politely(self) -> None:
        """Say goodbye and hang up, whatever is going on."""
        self.post(talk.CallLimit())

    def asterisk_is_down(self) -> None:
        """Its event port is closed, or ARI is gone. Where sound still comes Asterisk lives, and so does the call.

        Of a caller whose sound had stopped before, on hold or by silence suppression, that says nothing: what Asterisk
        lists when it can be asked again decides.
        """
        session = self._session
        if session is None:
            return
        self._why_gone = "asterisk_lost"
        if session.sound_comes(SOUND_STOPPED_S) and not self._timers.waits(talk.MediaLost):
            heard = session.stats().packets_in
            self._timers.call(talk.MediaLost, ASTERISK_DOWN_S, lambda: self._end_if_silent(heard))

    def _end_if_silent(self, heard: int) -> None:
        if self._session is not None and (self._session.on_hold or self._session.stats().packets_in > heard):
            self._why_gone = "caller_hung_up"
        else:
            self.post(talk.MediaLost("asterisk_lost"))

    async def run(self) -> str:
        """The call, to its end; returns why it ended."""
        link = self._board.link
        try:
            async with AsyncExitStack() as stack:
                # before anything is built: what is undone first is the leg, then the caller goes on
                stack.push_async_exit(self._leave_nobody_behind)
                self._flight = stack.enter_context(self._board.flights.flight(self.call_id))
                session = await stack.enter_async_context(
                    self._board.plane.open(self.call_id, self._on_media, self._flight, self._profile.media)
                )
                if self._flight is not None:
                    self._flight.begin(self._state, session.rate, session.settings)
                self._offer = session.offer
                stack.callback(self._count, session)
                self._session = session
                stack.callback(self._stop_timers)
                leg_id = link.hub.names.media_channel_id(self.call_id)
                inbox = stack.enter_context(link.hub.subscribe(self._start.channel.id, leg_id))
                leg = external_leg(
                    link.ari,
                    link.hub,
                    self._start.channel.id,
                    self.call_id,
                    session.offer,
                    session.connect,
                )
                async with link.building(self._start.channel.id, self.call_id):
                    await stack.enter_async_context(leg)
                async with asyncio.TaskGroup() as group:
                    caller = group.create_task(self._watch_caller(inbox, session))
                    named = group.create_task(self._tell_name())
                    await self._converse(session, group)
                    caller.cancel()
                    named.cancel()
            await self._go_onward()
        except LegFailed as error:
            if error.caller_gone:
                return "caller_hung_up"
            log.warning("%s", error)
            self._cause = "media_failed"
            await self._board.hand_back(self._start.channel, "media_failed")
        except NoPortError as error:
            log.warning("call %s: %s", self.call_id, error)
            self._cause = "no_port"
            await self._board.hand_back(self._start.channel, "no_port")
        except AriRefused:
            self._cause = "ari_refused"  # the link has been told, and the process ends with it
        return self._cause

    async def _tell_name(self) -> None:
        """Asterisk's side of the call gets our name of it, for the dialplan and its records."""
        await asyncio.sleep(TELL_NAME_S)
        try:
            await self._board.link.ari.set_variable(self._start.channel.id, CALL_VARIABLE, self.call_id)
        except AriError as error:
            log.debug("call %s: %s was not set: %s", self.call_id, CALL_VARIABLE, error)

    async def _leave_nobody_behind(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """When the process ends at once the caller goes on in the dialplan, not on a dead line."""
        if kind is not None and issubclass(kind, asyncio.CancelledError):
            await self._board.hand_back(self._start.channel, "stopped" if self.connected else "draining")

    async def _watch_caller(self, inbox: Subscription, session: MediaSession) -> None:
        async for event in inbox:
            if isinstance(event, ChannelEvent) and event.channel_id != self._start.channel.id:
                self._on_leg(event)
                continue
            match event:
                case ChannelGone():
                    self.post(talk.CallerGone(self._why_gone))
                case _ if isinstance(event, ENDINGS):
                    self.post(talk.CallerGone("caller_hung_up"))
                case ChannelDtmfReceived(digit=digit):
                    self._keys.press(digit)
                case ChannelHold():
                    session.hold(True)
                    self._silence.hold()
                case ChannelUnhold():
                    session.hold(False)
                    self._silence.unhold(self._state.turn)

    def _on_leg(self, event: ChannelEvent) -> None:
        """Somebody took the media channel down: over RTP nothing else tells that before the media timeout."""
        if isinstance(event, StasisEnd | ChannelGone) and self._state.phase is not Phase.ENDED:
            log.warning("call %s: its media channel ended in Asterisk", self.call_id)
            self.post(talk.MediaLost("media_closed"))

    def _on_media(self, event: media.MediaEvent) -> None:
        if isinstance(event, media.SpeechPaused | media.SpeechEnded):
            self._keys.enter()
            self._silence.caller_spoke(event.utterance.ended)
        elif isinstance(event, media.PlayoutStarted):
            self._silence.bot_spoke()
        # every call's connection closes when its leg is taken down
        if self._state.phase is not Phase.ENDED and (said := complaint(event, self._offer)):
            log.warning("call %s: %s", self.call_id, said)
        if isinstance(event, media.MediaFailed):
            self._board.metrics.defects.labels("media").inc()
        if told := news(event):
            self.post(told)

    async def _next_event(self) -> talk.Event:
        event = self._deferred.popleft() if self._deferred else await self._mailbox.get()
        if not is_of_speech(event) or not self._passage_left_s():
            return event
        told, *deferred = over_passage(event, self._state.phase)
        self._deferred.extend(deferred)
        return told

    # --- the conversation ---

    async def _converse(self, session: MediaSession, group: asyncio.TaskGroup) -> None:
        toolbox = toolbox_of(self.call_id, self._start.channel.id, self._profile, self._history, self._board)
        # a phone that sends nothing while it listens is greeted all the same
        self._timers.post(talk.MediaReady(), GREET_ANYWAY_S)
        async with Effects(
            self._parts(session, toolbox),
            self._board.transcript,
            group,
            self.post,
            self._timers,
            self._silence,
            self._passage_left_s,
            self._hang_up,
            self._will_go_onward,
        ) as effects:
            while self._state.phase is not Phase.ENDED:
                await self._step(await self._next_event(), effects)

    async def _step(self, event: talk.Event, effects: Effects) -> None:
        if isinstance(event, talk.CallerGone):
            self._cause = event.cause
        before = self._state.phase
        self._state, commands = step(self._state, event)
        phase = self._state.phase
        if self._flight is not None:
            self._flight.step(event, self._state, commands)
        if before in INTERRUPTED and phase not in INTERRUPTED:
            self._board.metrics.interruptions.labels(_verdict(commands)).inc()
        kind = type(event).__name__
        log.debug("call %s: %s + %s -> %s", self.call_id, before.name, kind, phase.name)
        await effects.obey(commands)
        effects.read_ahead(phase, before, event)

    def _parts(self, session: MediaSession, toolbox: Toolbox) -> Parts:
        board = self._board
        return Parts(
            call_id=self.call_id,
            profile=self._profile,
            media=session,
            hearing=Hearing(board.stt, self.call_id, self._profile.language),
            history=self._history,
            llm=board.llm,
            tts=board.tts,
            phrases=board.phrases,
            metrics=board.metrics,
            end_waits=board.end_waits,
            tools=toolbox,
            post=self.post,
        )

    def _no_input(self, turn: int) -> None:
        """Who was asked often enough, and never sent any sound, is told so instead of goodbye."""
        state, session = self._state, self._session
        last = state.phase is Phase.LISTENING and state.turn == turn and state.prompts >= state.max_prompts
        if last and session is not None and not session.stats().packets_in:
            self._on_media(media.MediaTimeout(asyncio.get_running_loop().time(), "first_packet"))
        else:
            self.post(talk.NoInput(turn))

    def _wanted_digits(self) -> int | None:
        expected = expecting(self._history, self._profile)
        return expected.count if expected and expected.kind == "digits" else None

    def _passage_left_s(self) -> float:
        """0 also for one that paused playout has not begun, or that was thrown away: nothing is cut short there."""
        if self._session is None or self._state.phase not in SOUNDING:
            return 0.0
        return self._passages.left_s(self._session.heard())

    # --- the end ---

    def _stop_timers(self) -> None:
        self._timers.stop()
        self._keys.stop()

    async def _go_onward(self) -> None:
        transfer = self._profile.tools.transfer
        if self._onward is not None and transfer is not None:
            target = transfer.targets[self._onward]
            self._cause = await put_through(self._board, self._start.channel, self._onward, target)

    def _will_go_onward(self, target: str) -> None:
        self._onward = target

    async def _hang_up(self, cause: str) -> None:
        self._cause = cause
        if cause == talk.MODEL_HUNG_UP:
            self._board.metrics.tools.labels(HANG_UP, "ok").inc()
        try:
            await self._board.link.ari.hangup(self._start.channel.id)
            self._board.link.hub.left(self._start.channel)
        except AriError as error:
            log.warning("call %s: could not hang up, trying again: %s", self.call_id, error)
            self._board.link.hub.abandon(self._start.channel)

    def _count(self, session: MediaSession) -> None:
        self.sound = Sound(session.offer.medium.transport, session.stats(), session.quality())
        self._board.metrics.observe_sound(self.sound)


def _verdict(commands: tuple[talk.Command, ...]) -> str:
    return "meant" if any(isinstance(command, talk.Cancel) for command in commands) else "ignored"
