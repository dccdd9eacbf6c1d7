"""A telephone line made of RTP alone: the real call of the product on it, and workers that answer at once.

What a call asks of Asterisk is granted here without one, so that nothing but the bot stands between the caller's
packets and the bot's: media path, voice detector, conversation, turns and recogniser are those of a call.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.turns_stand_ins import BOT_RATE, Ari, InstantLlm, InstantTts, Link, Listener, TappedPlane
from caller_phone.g711 import Samples
from caller_phone.media import MediaEngine, MediaLeg
from caller_phone.outgoing import Said
from caller_phone.recording import Recording
from caller_phone.talkspurt import voiced_bounds
from gpu_workers.client import SttClient
from media_bridge.plane import MediaPlane
from media_bridge.turn_end_waits import EndWaits
from stasis_app.ari.events import Channel, StasisEnd, StasisStart
from stasis_app.ari.hub import AriCounts, EventHub
from stasis_app.ari.names import LegNames
from stasis_app.call import Call
from stasis_app.flight.recorder import FlightRecorder
from stasis_app.metrics import Metrics
from stasis_app.phrases import PhraseBook
from stasis_app.settings import Phrases, Profile
from stasis_app.switchboard import Switchboard
from stasis_app.tools.hourly import Hourly
from stasis_app.tools.http import HttpRequests
from stasis_app.transcript import Transcript
from stasis_app.turn import Turn

HOST: Final = "127.0.0.1"
_LOOK_S: Final = 0.02
_LEAST_S: Final = 0.5  # the other rules decide too
_TAIL_S: Final = 0.45  # a recording goes on for about half a second after its speech
_NOWHERE: Final = Path("/nonexistent")  # no phrase is ever kept: each is "spoken" when it is wanted


@dataclass(frozen=True, slots=True)
class Answered:
    """A turn of the bot that was let out: when, for which words, and when its first packet left; monotonic seconds."""

    at_s: float
    words: str
    first_packet_s: float | None


@dataclass(slots=True)
class Played:
    """What happened in one call. Instants are monotonic seconds."""

    clip_at_s: float
    answers: list[Answered]
    greeting_cut: bool
    recording: Recording = field(repr=False)

    def ms(self, at_s: float) -> float:
        """An instant counted from the clip's first sample."""
        return (at_s - self.clip_at_s) * 1000


class _Notes(Transcript):
    """Keeps the turns of one call instead of writing them."""

    def __init__(self) -> None:
        super().__init__(None)
        self.answers: list[Answered] = []
        self.greeting_cut = False
        self.greeting_over = False

    def write(self, call_id: str, turn: Turn, heard: str, *, cut: bool, unspoken: Sequence[str] = ()) -> None:
        if turn.saying.name == "GREETING":
            self.greeting_cut, self.greeting_over = cut, True
        elif turn.times.decision is not None and turn.caller_text:
            self.answers.append(Answered(turn.times.decision, turn.caller_text, turn.times.first_packet))


@dataclass(frozen=True, slots=True)
class Line:
    """What the calls share. `end_waits` and the plane's settings are the shipped defaults."""

    engine: MediaEngine
    plane: MediaPlane
    stt: SttClient
    end_waits: EndWaits

    async def play(
        self,
        call_id: str,
        samples: Samples,
        *,
        greeting: str,
        greeting_ms: int,
        wait_ms: int,
        stay_ms: int,
        until_answered: bool,
        listener: Listener,
    ) -> Played:
        """One call: the bot says `greeting` for `greeting_ms`, the caller begins `wait_ms` after the call did.

        It ends at most `stay_ms` after the last sample, as soon as the caller was answered (`until_answered`) or the
        greeting is over.
        """
        notes = _Notes()
        with self.engine.leg(HOST, None) as phone:
            caller = Channel(f"caller-{call_id}")
            hub = EventHub(LegNames("bench"), lambda _: None, lambda: None, AriCounts())
            start = StasisStart(caller)
            hub.dispatch(start)
            ari = Ari(hub, phone, self.engine)
            tts = InstantTts(greeting, greeting_ms)
            profile = Profile(prompt="-", greeting=greeting, language="en", phrases=Phrases(filler=""))
            board = Switchboard(
                Link(ari, ari, hub),
                TappedPlane(self.plane, listener),
                self.stt,
                InstantLlm(),
                tts,
                PhraseBook(tts, _NOWHERE, "bench", lambda _: BOT_RATE),
                Metrics(),
                notes,
                self.end_waits,
                FlightRecorder(None),
                HttpRequests(),
                Hourly(),
            )
            async with asyncio.TaskGroup() as group:
                group.create_task(Call(start, call_id, profile, board).run())
                clip_at_s = await _say(phone, samples, wait_ms)
                spoken_s = clip_at_s + len(samples) / BOT_RATE
                await _stay(notes, spoken_s, stay_ms, until_answered=until_answered)
                hub.dispatch(StasisEnd(caller))
            return Played(clip_at_s, notes.answers, notes.greeting_cut, phone.recording())


async def _say(phone: MediaLeg, samples: Samples, wait_ms: int) -> float:
    """Speak when the time has come; returns the instant at which the first sample left."""
    await asyncio.sleep(wait_ms / 1000)
    if phone.stream is None:
        raise RuntimeError("the call never asked for its media")
    loop = asyncio.get_running_loop()
    said: asyncio.Future[Said] = loop.create_future()

    def note(what: Said) -> None:
        loop.call_soon_threadsafe(said.set_result, what)

    phone.stream.say(samples, note)
    first_voiced_s = (await said).first_voiced_s
    bounds = voiced_bounds(samples)
    return first_voiced_s - (bounds[0] if bounds else 0) / BOT_RATE


async def _stay(notes: _Notes, spoken_s: float, stay_ms: int, *, until_answered: bool) -> None:
    """For at most `stay_ms`: until there is an answer to the last words, or until the greeting is over."""
    loop = asyncio.get_running_loop()
    until_s = spoken_s + stay_ms / 1000
    while loop.time() < until_s:
        answered = bool(notes.answers) and notes.answers[-1].at_s > spoken_s - _TAIL_S
        if loop.time() > spoken_s + _LEAST_S and (answered if until_answered else notes.greeting_over):
            return
        await asyncio.sleep(_LOOK_S)
