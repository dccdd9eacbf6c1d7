"""One call: what must be undone in order (port, external leg, bridge) around one TaskGroup of what runs."""

import asyncio
import logging
import time
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass

from gpu_workers.client import LlmClient, SttClient, TtsClient
from gpu_workers.errors import WorkerError
from media_bridge import events as media
from media_bridge.heard import Heard, heard_text
from media_bridge.plane import MediaPlane
from media_bridge.session import MediaSession
from media_bridge.transport import Offer
from media_bridge.turn_end import EndWaits
from stasis_app import conversation as talk
from stasis_app.ari.errors import AriError, LegFailed
from stasis_app.ari.events import ENDINGS, ChannelHold, ChannelUnhold, StasisStart
from stasis_app.ari.hub import Subscription
from stasis_app.ari.link import AriLink
from stasis_app.conversation import Phase, Saying, State, step
from stasis_app.hearing import Hearing
from stasis_app.history import History
from stasis_app.intents import is_meant
from stasis_app.legs import external_leg
from stasis_app.metrics import Metrics
from stasis_app.phrases import PhraseBook
from stasis_app.read_ahead import ReadAhead, Reading
from stasis_app.settings import Profile
from stasis_app.transcript import Transcript
from stasis_app.turn import Parts, Turn, answer, say_phrase

log = logging.getLogger(__name__)

INTERRUPTION_LASTS_S = 0.6
"""Speech over the bot that goes on for this long after it was noticed is no cough and no "mm-hm"."""

INTERRUPTED = {Phase.CHECKING, Phase.JUDGING, Phase.JUDGING_LATE}

WANT_MODEL = (talk.Prepare, talk.Release, talk.Judge)
"""Commands that need the recogniser or the language model now."""

GREET_ANYWAY_S = 0.25
"""The greeting begins with the caller's first packet, when the phone's audio is open, or this long after the leg."""

CLOSING_LIMIT_S = 12.0
_JUDGE_DEADLINE_MS = 1500


@dataclass(frozen=True, slots=True)
class Switchboard:
    """What all calls of the process share."""

    link: AriLink
    plane: MediaPlane
    stt: SttClient
    llm: LlmClient
    tts: TtsClient
    phrases: PhraseBook
    metrics: Metrics
    transcript: Transcript
    end_waits: EndWaits


class Call:
    """`run` takes the call from its StasisStart to its end and leaves nothing behind."""

    def __init__(self, start: StasisStart, call_id: str, profile: Profile, board: Switchboard) -> None:
        self.call_id = call_id
        self._start = start
        self._profile = profile
        self._board = board
        self._state = State(max_prompts=profile.no_input_prompts)
        self._mailbox: asyncio.Queue[talk.Event] = asyncio.Queue()
        self._timers: dict[type[talk.Event], asyncio.TimerHandle] = {}
        self._turns: dict[int, tuple[Turn, asyncio.Task[None]]] = {}
        self._unanswered: dict[int, media.Utterance] = {}
        self._history = History(profile.prompt, profile.examples)
        self._judges: list[asyncio.Task[None]] = []
        self._offer: Offer | None = None
        self._cause = "normal"

    def post(self, event: talk.Event) -> None:
        """Hand the conversation an event, from anywhere on the loop."""
        self._mailbox.put_nowait(event)

    def end_politely(self) -> None:
        """Say goodbye and hang up, whatever is going on."""
        self.post(talk.CallLimit())

    async def run(self) -> str:
        """The call, to its end; returns why it ended."""
        link = self._board.link
        try:
            async with AsyncExitStack() as stack:
                session = await stack.enter_async_context(
                    self._board.plane.open(self.call_id, self._on_media, override=self._profile.media)
                )
                stack.callback(self._stop_timers)
                inbox = stack.enter_context(link.hub.subscribe(self._start.channel.id))
                await stack.enter_async_context(
                    external_leg(
                        link.ari,
                        link.hub,
                        self._start.channel.id,
                        self.call_id,
                        session.offer,
                        session.connect,
                    )
                )
                self._offer = session.offer
                async with asyncio.TaskGroup() as group:
                    caller = group.create_task(self._watch_caller(inbox, session))
                    await self._converse(session, group)
                    caller.cancel()
                self._count(session)
        except LegFailed as error:
            if error.caller_gone:
                return "caller_hung_up"
            log.warning("%s", error)
            self._cause = "media_failed"
            await self._hand_back("media_failed")
        return self._cause

    async def _watch_caller(self, inbox: Subscription, session: MediaSession) -> None:
        async for event in inbox:
            match event:
                case _ if isinstance(event, ENDINGS):
                    self.post(talk.CallerGone("caller_hung_up"))
                case ChannelHold():
                    session.hold(True)
                case ChannelUnhold():
                    session.hold(False)

    def _on_media(self, event: media.MediaEvent) -> None:
        match event:
            case media.SpeechStarted():
                self.post(talk.SpeechStarted())
            case media.SpeechPaused(utterance=utterance):
                self.post(talk.SpeechPaused(utterance))
            case media.SpeechResumed():
                self.post(talk.SpeechResumed())
            case media.SpeechEnded(utterance=utterance):
                self.post(talk.SpeechEnded(utterance))
            case media.PlayoutStarted(turn=turn):
                self.post(talk.PlayoutStarted(turn))
            case media.PlayoutFinished(turn=turn):
                self.post(talk.PlayoutFinished(turn))
            case media.CallerHeard():
                self.post(talk.MediaReady())
            case _:
                self._on_media_trouble(event)

    def _on_media_trouble(self, event: media.MediaEvent) -> None:
        match event:
            case media.MediaTimeout(kind="first_packet"):
                log.warning(
                    "call %s: no sound from the caller: is the phone's microphone muted, or is UDP closed between it "
                    "and Asterisk%s?",
                    self.call_id,
                    _or_between_asterisk_and_us(self._offer),
                )
                self.post(talk.CallerNotHeard())
            case media.MediaTimeout():
                log.warning("call %s: the caller's sound stopped", self.call_id)
                self.post(talk.MediaLost("media_timeout"))
            case media.MediaClosed(reason=reason):
                # every call's connection closes when its leg is taken down
                if self._state.phase is not Phase.ENDED:
                    log.warning("call %s: %s", self.call_id, reason)
                self.post(talk.MediaLost("media_closed"))
            case media.MediaFailed():
                self._board.metrics.defects.labels("media").inc()
                self.post(talk.MediaLost("defect"))

    # --- the conversation ---

    async def _converse(self, session: MediaSession, group: asyncio.TaskGroup) -> None:
        parts = self._parts(session)
        ahead = ReadAhead(
            Reading(self.call_id, parts.llm, parts.hearing, self._history, session.so_far), group
        )
        # a phone that sends nothing while it listens is greeted all the same
        self._remind(talk.MediaReady(), GREET_ANYWAY_S)
        while self._state.phase is not Phase.ENDED:
            event = await self._mailbox.get()
            if isinstance(event, talk.CallerGone):
                self._cause = event.cause
            before = self._state.phase
            self._state, commands = step(self._state, event)
            if before in INTERRUPTED and self._state.phase not in INTERRUPTED:
                self._board.metrics.interruptions.labels(_verdict(commands)).inc()
            log.debug(
                "call %s: %s + %s -> %s",
                self.call_id,
                before.name,
                type(event).__name__,
                self._state.phase.name,
            )
            if any(isinstance(command, WANT_MODEL) for command in commands):
                ahead.stop()
            for command in commands:
                await self._obey(command, parts, group)
            if self._state.phase is Phase.LISTENING and before is not Phase.LISTENING:
                ahead.read_talk()
            elif (
                isinstance(event, talk.SpeechStarted | talk.SpeechResumed)
                and self._state.phase is Phase.HEARING
            ):
                ahead.follow_caller()
        ahead.stop()
        for judge in self._judges:
            judge.cancel()
        for number in list(self._turns):
            await self._stop(number)

    def _parts(self, session: MediaSession) -> Parts:
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
            post=self.post,
        )

    async def _obey(self, command: talk.Command, parts: Parts, group: asyncio.TaskGroup) -> None:
        session = parts.media
        match command:
            case talk.Say(turn=number, saying=saying):
                session.start_turn(number)
                turn = Turn(number, saying)
                self._start_turn(turn, say_phrase(turn, self._phrase(saying), parts), group)
            case talk.Prepare(turn=number, utterance=utterance):
                turn = Turn(number, Saying.ANSWER, self._to_answer(utterance))
                self._start_turn(turn, answer(turn, parts, time.monotonic), group)
            case talk.Release(turn=number, utterance=utterance):
                session.start_turn(number)
                self._turns[number][0].release(utterance, time.monotonic(), self._history)
            case talk.Discard(turn=number):
                await self._stop(number)
            case talk.Cancel(turn=number):
                await self._cancel(number, session)
            case talk.Remember(turn=number):
                self._remember(number, session)
            case talk.PausePlayout():
                session.pause()
            case talk.ResumePlayout():
                session.resume()
            case _:
                await self._obey_aside(command, parts, group)

    async def _obey_aside(self, command: talk.Command, parts: Parts, group: asyncio.TaskGroup) -> None:
        """The commands that touch no turn: judging, timers, the end."""
        match command:
            case talk.Judge(turn=number, utterance=utterance, over=over):
                self._judges.append(group.create_task(self._judge(number, utterance, over, parts)))
            case talk.Keep(utterance=utterance):
                self._unanswered[utterance.number] = utterance
            case talk.WatchInterruption(turn=number):
                self._remind(talk.InterruptionLasts(number), INTERRUPTION_LASTS_S)
            case talk.AwaitInput(turn=number):
                self._remind(talk.NoInput(number), self._profile.no_input_s)
            case talk.LimitClosing():
                self._remind(talk.ClosingLimit(), CLOSING_LIMIT_S)
            case talk.HangUp(cause=cause):
                self._cause = cause
                await self._hang_up()

    def _phrase(self, saying: Saying) -> str:
        said = self._profile.phrases
        return {
            Saying.GREETING: self._profile.greeting,
            Saying.STILL_THERE: said.still_there,
            Saying.APOLOGY: said.apology,
            Saying.GOODBYE: said.goodbye,
            Saying.TROUBLE: said.trouble,
            Saying.NOT_HEARD: said.not_heard,
        }[saying]

    async def _judge(self, number: int, utterance: media.Utterance, over: Phase, parts: Parts) -> None:
        try:
            text = await parts.hearing.has_words(utterance, _JUDGE_DEADLINE_MS)
        except (WorkerError, TimeoutError) as error:
            log.warning("call %s: an interruption was not understood and is ignored: %s", self.call_id, error)
            text = ""
        asked = over is Phase.SPEAKING and _asks(parts.media.heard())
        self.post(talk.InterruptionJudged(number, utterance, is_meant(text, asked=asked)))

    # --- turns ---

    def _start_turn(self, turn: Turn, work: Coroutine[None, None, None], group: asyncio.TaskGroup) -> None:
        self._turns[turn.number] = (turn, group.create_task(self._fence(turn, work)))

    async def _fence(self, turn: Turn, work: Coroutine[None, None, None]) -> None:
        """A defect in a turn costs that turn, not the call."""
        try:
            await work
        except Exception:
            log.exception("call %s: turn %d ended by a defect", self.call_id, turn.number)
            self._board.metrics.defects.labels("turn").inc()
            self.post(talk.TurnFailed(turn.number))

    def _to_answer(self, utterance: media.Utterance) -> tuple[media.Utterance, ...]:
        """The utterance with those before it that were released but never understood."""
        return tuple({**self._unanswered, utterance.number: utterance}.values())

    async def _stop(self, number: int) -> Turn | None:
        turn, task = self._turns.pop(number, (None, None))
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))
        return turn

    async def _cancel(self, number: int, session: MediaSession) -> None:
        heard = session.flush()
        session.resume()
        turn = await self._stop(number)
        if turn is None:
            return
        if turn.released and turn.caller_text is None:
            self._unanswered.update({u.number: u for u in turn.utterances})
        else:
            self._unanswered.clear()
        if turn.times.first_packet is None:
            turn.times.first_packet = session.first_packet_at(number)
        self._write_down(turn, heard, "cut")

    def _remember(self, number: int, session: MediaSession) -> None:
        turn, _ = self._turns.pop(number, (None, None))
        if turn is None:
            return
        self._unanswered.clear()
        turn.times.first_packet = session.first_packet_at(number)
        self._write_down(turn, session.heard(), "played")

    def _write_down(self, turn: Turn, heard: Heard, end: str) -> None:
        text, cut = heard_text(heard) if heard.turn == turn.number else ("", True)
        if not text and not turn.caller_text:
            return  # noise, or a phrase nobody heard: nothing was said
        self._history.bot_said(text, cut=cut)
        board = self._board
        board.metrics.turns.labels(turn.saying.name.lower(), end).inc()
        if turn.saying is Saying.ANSWER:
            board.metrics.observe(turn.times)
            stages = " ".join(f"{name}={ms}" for name, ms in turn.times.since_speech_end_ms().items())
            log.info(
                "call %s turn %d %s, ms after the caller's last sound: %s",
                self.call_id,
                turn.number,
                end,
                stages,
            )
        board.transcript.write(self.call_id, turn, text, cut=cut)

    # --- timers and the end ---

    def _remind(self, event: talk.Event, delay_s: float) -> None:
        kind = type(event)
        if kind in self._timers:
            self._timers[kind].cancel()
        self._timers[kind] = asyncio.get_running_loop().call_later(delay_s, self.post, event)

    def _stop_timers(self) -> None:
        for timer in self._timers.values():
            timer.cancel()

    async def _hang_up(self) -> None:
        try:
            await self._board.link.ari.hangup(self._start.channel.id)
        except AriError as error:
            log.warning("call %s: could not hang up: %s", self.call_id, error)

    async def _hand_back(self, reason: str) -> None:
        await hand_back(self._board, self._start.channel.id, reason)

    def _count(self, session: MediaSession) -> None:
        stats = session.stats()
        for kind in ("packets_in", "packets_out", "lost", "late", "concealed", "underruns"):
            self._board.metrics.rtp.labels(kind).inc(getattr(stats, kind))


async def hand_back(board: Switchboard, channel_id: str, reason: str) -> None:
    """Give a call back to the dialplan, with VOICEBOT_REASON for the admin to route on."""
    board.metrics.calls_refused.labels(reason).inc()
    try:
        await board.link.ari.set_variable(channel_id, "VOICEBOT_REASON", reason)
        await board.link.ari.continue_in_dialplan(channel_id)
    except AriError as error:
        if not error.gone:
            log.warning("a call could not be handed back to the dialplan: %s", error)


def _or_between_asterisk_and_us(offer: Offer | None) -> str:
    if offer is None or offer.medium.transport != "rtp":
        return ""
    return f", or between Asterisk and {offer.host}:{offer.port} (media.advertise_host)"


def _verdict(commands: tuple[talk.Command, ...]) -> str:
    return "meant" if any(isinstance(command, talk.Cancel) for command in commands) else "ignored"


def _asks(heard: Heard) -> bool:
    """True when the sentence that is being heard is a question."""
    begun = [sentence.text for sentence in heard.sentences if sentence.text and sentence.played_samples]
    return bool(begun) and begun[-1].rstrip().endswith("?")
