"""What each caller says and when: recorded questions with pauses, interruptions, hang-ups in mid-speech. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from random import Random

import numpy as np

from caller_phone.g711 import Samples, encode
from caller_phone.rtp import PACKET_SAMPLES, SAMPLE_RATE
from caller_phone.sdp import Codec
from caller_phone.talkspurt import TalkspurtFinder, audible_dbfs, levels_dbfs

# the floor of a quiet phone line: -66 dBFS
_LINE_NOISE = 16.0
# a pause this long inside a clip may be taken for its end by whoever is told that the words are complete
_BREATH_MS = 220.0
# what is sent beyond the planned hang-up: signalling may be late, and no sound shall be missing before it
_SPARE_S = 2.0


class Ending(Enum):
    """How the caller leaves: after the last answer, in the middle of a question, or in the middle of an answer."""

    PATIENT = "patient"
    IN_OWN_SPEECH = "in own speech"
    IN_ANSWER = "in the answer"


_ENDINGS = (Ending.PATIENT, Ending.IN_OWN_SPEECH, Ending.PATIENT, Ending.IN_ANSWER)


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds. The caller speaks first `greeting_s` after the call is answered, and again `answer_s` (drawn between the
    two) after each question; an interruption begins `interrupt_s` after the question that it cuts the answer to.
    """

    greeting_s: float
    answer_s: tuple[float, float]
    interrupt_s: tuple[float, float]
    interrupted_share: float = 0.3


@dataclass(frozen=True, slots=True)
class Said:
    """Clip number `clip` begins `at_s` after the call was answered."""

    at_s: float
    clip: int


@dataclass(frozen=True, slots=True)
class Talk:
    """One caller's whole call; instants in seconds after it was answered."""

    said: tuple[Said, ...]
    hang_up_s: float
    ending: Ending


def talk(number: int, clips: Sequence[Samples], seconds: float, pace: Pace) -> Talk:
    """The talk of caller `number`, always the same one: about `seconds` long, a question at least.

    The last of `clips` is the one that interrupts; the others are questions.
    """
    chance = Random(number)
    questions = len(clips) - 1
    lengths = [len(clip) / SAMPLE_RATE for clip in clips]
    # callers do not breathe in step
    at_s = pace.greeting_s + chance.uniform(0, 1)
    said: list[Said] = []
    while True:
        clip = chance.randrange(questions)
        said.append(Said(at_s, clip))
        at_s += lengths[clip]
        if chance.random() < pace.interrupted_share:
            at_s += chance.uniform(*pace.interrupt_s)
            said.append(Said(at_s, questions))
            at_s += lengths[questions]
        asked_s, at_s = at_s, at_s + chance.uniform(*pace.answer_s)
        if at_s + lengths[clip] > seconds:
            break
    ending = _ENDINGS[number % len(_ENDINGS)]
    match ending:
        case Ending.PATIENT:
            hang_up_s = at_s
        case Ending.IN_OWN_SPEECH:
            clip = chance.randrange(questions)
            said.append(Said(at_s, clip))
            hang_up_s = at_s + lengths[clip] * chance.uniform(0.4, 0.7)
        case Ending.IN_ANSWER:
            hang_up_s = asked_s + chance.uniform(*pace.interrupt_s)
    return Talk(tuple(said), hang_up_s, ending)


def sound(talk: Talk, clips: Sequence[Samples], seed: int) -> bytes:
    """What is sent from the answer of the call on: mu-law, whole packets, on a line with its noise."""
    length = round((talk.hang_up_s + _SPARE_S) * SAMPLE_RATE / PACKET_SAMPLES) * PACKET_SAMPLES
    line = np.random.default_rng(seed).normal(0, _LINE_NOISE, length)
    for one in talk.said:
        start = round(one.at_s * SAMPLE_RATE)
        clip = clips[one.clip][: max(length - start, 0)]
        line[start : start + len(clip)] += clip
    return encode(np.clip(np.rint(line), -32768, 32767).astype(np.int16), Codec.PCMU)


def in_one_breath(clip: Samples) -> bool:
    """Whether nothing inside it can be taken for its end."""
    finder = TalkspurtFinder(_BREATH_MS)
    levels = levels_dbfs(clip)
    finder.hear(0.0, clip, levels, audible_dbfs(levels))
    return len(finder.spurts) == 1


def starts_a_second(calls: int, ramp_s: float) -> float:
    """The rate at which `calls` callers begin: all within `ramp_s`, and never slower than one a second."""
    return max(1.0, calls / ramp_s)
