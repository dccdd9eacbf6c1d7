"""What of a decoding may become text. Whisper writes something for every sound; silence and noise must stay silent.

The limits stand between two clouds measured with base and tiny.en: telephone speech down to 0 dB over pink noise has a
no-speech probability of at most 0.25 and a mean log-probability of at least -0.95; silence, hum, tones, clicks and
noise have over 0.45 or under -1.1 (digital silence: 0.9 and -0.6). A dictated number with long pauses has
0.6 too, but -0.2 to -0.3. Told to write German, French, Spanish, Italian, Japanese, Chinese, Korean or Russian, or
to find the language itself, base is over 0.6 on all such lines of 1 to 8 s, and now and then sure of what it invents:
-0.33 at 0.78 for pink noise in Japanese, -0.23 at 0.92 for a hum. So nothing counts as sure over 0.7, in whatever
language, and no list of each language's inventions is needed.
"""

import re
from dataclasses import dataclass
from typing import Final

SILENT_DBFS: Final = -58.0
_FAINT_DBFS: Final = -45.0
_NEVER_SPEECH: Final = 0.7
_SURELY_NO_SPEECH: Final = 0.6
_PERHAPS_NO_SPEECH: Final = 0.3
_SURE_LOGPROB: Final = -0.36
_UNSURE_LOGPROB: Final = -0.8
_GUESSED_LOGPROB: Final = -1.1
_WORDS_PER_S: Final = 4.5
_SPARE_WORDS: Final = 4
_TOKENS_PER_S: Final = 7
_SPARE_TOKENS: Final = 12
_LONGEST_BLOCK: Final = 8
_RESTART: Final = 3
# "Ooooooh": a tone, a clearing of the throat
_ONE_LETTER: Final = re.compile(r"([^\W\d_])\1{4}", re.IGNORECASE)
# scripts without spaces count by the character: kana, Han, Thai
_UNIT: Final = re.compile(
    r"[\u0e01-\u0e5b\u3040-\u30ff\u3400-\u9fff]|[^\W_\u0e01-\u0e5b\u3040-\u30ff\u3400-\u9fff]+"
)
# what Whisper learned from subtitles to write where nobody speaks, and for a cough
_SUBTITLES: Final = frozenset(
    {"you", "thank you", "thanks", "thank you very much", "thank you so much", "bye", "bye bye", "oh", "so", "okay",
     "ah", "uh", "uh oh", "ugh", "huh", "hm", "hmm", "mm", "ha", "thanks for watching", "thank you for watching",
     "please subscribe", "subtitles by the amara org community"}
)  # fmt: skip


@dataclass(frozen=True)
class Decoding:
    """What the model wrote for one utterance, unjudged; `first_words_logprob` where it was asked for."""

    text: str
    tokens: int
    no_speech_prob: float
    avg_logprob: float
    language: str
    first_words_logprob: float | None = None


def token_limit(length_s: float) -> int:
    """No speech has more tokens than this; a decoding that reaches it loops."""
    return _SPARE_TOKENS + int(_TOKENS_PER_S * length_s)


def is_runaway(decoding: Decoding, length_s: float) -> bool:
    """Whether the decoder lost the sound: at its limit, repeating itself, or faster than anybody speaks."""
    words = _words(decoding.text)
    return (
        decoding.tokens >= token_limit(length_s)
        or len(words) > _WORDS_PER_S * length_s + _SPARE_WORDS
        or _ends_in_repetition(words)
        or _ONE_LETTER.search(decoding.text) is not None
    )


def is_doubtful(decoding: Decoding, length_s: float) -> bool:
    """Whether a decoding in a short window should be done once more in a longer one: it does not end as it should, or
    it is not clear that somebody spoke, and then the window decides in which the limits below were measured.
    """
    return (
        ends_badly(decoding, length_s)
        or decoding.no_speech_prob >= _PERHAPS_NO_SPEECH
        or decoding.avg_logprob <= _UNSURE_LOGPROB
    )


def ends_badly(decoding: Decoding, length_s: float) -> bool:
    """Whether it runs away, or says its end twice.

    Near the end of its window the decoder begins the sentence again instead of ending it. That a person ends with
    three words said before is rare, and costs only one more decoding.
    """
    return is_runaway(decoding, length_s) or _says_its_end_twice(_UNIT.findall(decoding.text.lower()))


def spoken_text(decoding: Decoding, length_s: float, loudness_dbfs: float) -> str:
    """The text if somebody spoke, else an empty one."""
    text = decoding.text.strip()
    if not any(character.isalnum() for character in text):
        return ""
    if decoding.avg_logprob <= _GUESSED_LOGPROB or decoding.no_speech_prob >= _NEVER_SPEECH:
        return ""
    if decoding.no_speech_prob >= _SURELY_NO_SPEECH and decoding.avg_logprob <= _SURE_LOGPROB:
        return ""
    if decoding.no_speech_prob >= _PERHAPS_NO_SPEECH and decoding.avg_logprob <= _UNSURE_LOGPROB:
        return ""
    doubtful = decoding.no_speech_prob >= _PERHAPS_NO_SPEECH or loudness_dbfs < _FAINT_DBFS
    if doubtful and " ".join(_words(text)) in _SUBTITLES:
        return ""
    return "" if is_runaway(decoding, length_s) else text


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+(?:['’][^\W_]+)*", text.lower())


def _says_its_end_twice(units: list[str]) -> bool:
    """Also where the limit of tokens cut the last one: "Please. Please. Pl"."""
    return any(_was_said_before(units[: len(units) - cut]) for cut in (0, 1))


def _was_said_before(units: list[str]) -> bool:
    for size in (1, 2):
        if len(units) >= 2 * size and units[-size:] == units[-2 * size : -size]:
            return True
    last = units[-_RESTART:]
    return any(units[at : at + _RESTART] == last for at in range(len(units) - _RESTART))


def _ends_in_repetition(words: list[str]) -> bool:
    """The last block of words stands there three times in a row ("no, no, no" may: it is one word)."""
    for size in range(1, _LONGEST_BLOCK + 1):
        times = 3 if size > 1 else 5
        block = words[-size:]
        if len(words) >= size * times and words[-size * times :] == block * times:
            return True
    return False
