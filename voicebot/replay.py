"""`voicebot replay`: a recorded call once more, offline: its conversation step by step, and what its ear heard."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from media_bridge.vad import SileroGate
from stasis_app.flight.compare import Heard, Pair, hear_again
from stasis_app.flight.ear_lines import (
    DeafFrom,
    EarLine,
    Ended,
    EndWait,
    HearsFrom,
    Lost,
    Paused,
    Resumed,
    Said,
    Started,
    Stopped,
)
from stasis_app.flight.lines import Flight, FlightError, read
from stasis_app.flight.talk import Replayed, replay
from stasis_app.flight.wav import StereoSound, read_wav
from voicebot.errors import UsageError
from voicebot.supervise import Say

_MOST_BYTES = 64 * 1024 * 1024
"""More than a recorder writes; what is behind that is not looked at."""
_NEVER = "-"
_A_WHILE_S = 5.0
"""A call's sound ends before the call does, when its leg is taken down, but not so long before."""


def replay_file(file: Path, say: Say) -> int:
    """0 when this version decides and hears as the call did, else 1. Raises UsageError for a file that is no flight, or
    whose sound is none.
    """
    flight = _flight(file)
    wav = file.with_suffix(".wav")
    sound = _sound(wav) if flight.ear_head is not None else None
    heard = _heard(flight, sound, wav)
    for note in _notes(flight, wav, sound):
        say(note)
    steps = list(replay(flight))
    for step in steps:
        say(_step(step))
    if sound is not None and heard is not None:
        for row in _rows(heard, flight.ear, sound.rate, wav.name):
            say(row)
        for note in _bounds(flight, heard, sound, wav):
            say(note)
    return _verdict(steps, heard, say)


def _verdict(steps: Sequence[Replayed], heard: Heard | None, say: Say) -> int:
    pairs = heard.pairs if heard is not None else ()
    decided, otherwise = sum(not step.same for step in steps), sum(pair.differs for pair in pairs)
    if decided:
        say(f"Decided otherwise now: {decided} of {len(steps)} steps.")
    if otherwise:
        say(f"Heard otherwise now: {otherwise} of {len(pairs)} moments of the caller's speech.")
    if not decided and not otherwise:
        say("All as it was." if heard is not None else "The conversation is as it was.")
    return 1 if decided or otherwise else 0


def _flight(file: Path) -> Flight:
    try:
        with file.open("rb") as opened:
            data = opened.read(_MOST_BYTES)
        return read(data.decode("utf-8", errors="replace"))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    except FlightError as error:
        raise UsageError(f"{file}: {error}") from error


def _sound(wav: Path) -> StereoSound | None:
    """None: there is none."""
    try:
        return read_wav(wav.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{wav} cannot be read: {error.strerror}") from error
    except FlightError as error:
        raise UsageError(f"{wav} {error}") from error


def _notes(flight: Flight, wav: Path, sound: StereoSound | None) -> Iterator[str]:
    """How far the flight can be replayed."""
    if flight.ear_head is None:
        yield (
            f"A flight of version {flight.version}, as older versions wrote them: what the call's ear was told is not "
            "in it, so only the conversation is replayed, not the sound."
        )
    elif sound is None:
        yield f"There is no {wav} beside it: only the conversation is replayed, not the sound."
    if flight.ear_head is not None and flight.ear_head.forgotten:
        yield f"Recorded with settings that are none any more: {', '.join(flight.ear_head.forgotten)}."
    if flight.ear_head is not None and flight.end is None:
        yield "The flight has no end: the process or its disk ended first. What there is is replayed."
    elif flight.end is not None and not flight.end.whole:
        yield "Lines are missing at its end: there were too many, or the disk was too slow. What there is is replayed."


# --- the conversation


def _step(done: Replayed) -> str:
    text = f"{done.t:9.3f}  {done.event} -> {_outcome(done.now)}"
    return text if done.same else f"{text}\n{'then':>9}  {done.event} -> {_outcome(done.recorded)}"


def _outcome(outcome: tuple[str, tuple[str, ...]]) -> str:
    phase, commands = outcome
    return " ".join((phase, *commands))


# --- the ear


def _heard(flight: Flight, sound: StereoSound | None, wav: Path) -> Heard | None:
    """Raises UsageError."""
    head = flight.ear_head
    if head is None or sound is None:
        return None
    try:
        # as in a call: with more threads the same numbers are added in another order
        with threadpool_limits(1, "blas"):
            return hear_again(flight, head, sound, SileroGate(head.voice))
    except FlightError as error:
        raise UsageError(f"{wav} {error}") from error


def _rows(heard: Heard, recorded: Sequence[EarLine], rate: int, wav: str) -> Iterator[str]:
    yield f"{'then':>9} {'now':>9}  what is heard of the caller, in seconds of {wav}"
    rows = [(pair.sample, 0, _pair(pair, rate)) for pair in heard.pairs]
    on_hold = False
    for line in recorded:
        on_hold = isinstance(line, Stopped) or (on_hold and not isinstance(line, HearsFrom))
        if line.sample <= heard.until and (text := _told(line, rate, on_hold)):
            rows.append((line.sample, 1, f"{line.sample / rate:9.3f} {'':9}  ({text})"))
    yield from (text for *_, text in sorted(rows, key=lambda row: row[:2]))


def _pair(pair: Pair, rate: int) -> str:
    then, now = (_NEVER if one is None else f"{one.sample / rate:.3f}" for one in (pair.then, pair.now))
    texts = [_said(one, rate) for one in (pair.then, pair.now) if one is not None]
    text = texts[0] if pair.same or len(texts) == 1 else ", now ".join(dict.fromkeys(texts))
    mark = "   <- differs" if pair.differs else "" if pair.known else "   (not known)"
    return f"{then:>9} {now:>9}  {text}{mark}"


def _said(said: Said, rate: int) -> str:
    match said:
        case Started():
            return "speech started"
        case Resumed():
            return "went on"
        case Paused(first=first, last=last):
            return f"paused: voice from {first / rate:.3f} to {last / rate:.3f}"
        case Ended(first=first, last=last):
            return f"ended: voice from {first / rate:.3f} to {last / rate:.3f}"


def _told(line: EarLine, rate: int, on_hold: bool) -> str | None:
    match line:
        case HearsFrom():
            return "from here on the caller is heard"
        case DeafFrom():
            return "on hold: nothing is heard" if on_hold else "the process was late: nothing is heard"
        case Stopped():
            return "put on hold"
        case EndWait(wait_ms=wait_ms):
            return f"told: silence of {wait_ms} ms ends it"
        case Lost(until=until):
            return f"the recorder lost the sound up to {until / rate:.3f}: not known until the next quiet"
        case _:
            return None


def _bounds(flight: Flight, heard: Heard, sound: StereoSound, wav: Path) -> Iterator[str]:
    ends, rate = flight.end, sound.rate
    if ends is not None and len(sound) < ends.samples:
        yield (
            f"{wav.name} ends at {len(sound) / rate:.3f} s, the sound of its flight at {ends.samples / rate:.3f} s: "
            "what is behind that is not compared."
        )
    elif ends is not None and ends.t - ends.samples / rate > _A_WHILE_S:
        yield f"Sound was kept up to {ends.samples / rate:.3f} s: what is behind that is not compared."
    elif len(sound) > heard.until:
        yield (
            f"{wav.name} goes on to {len(sound) / rate:.3f} s, its flight to {heard.until / rate:.3f} s: "
            "what is behind that is not compared."
        )
