"""A language model's answer on its way to the voice: tokens to sentences to what can be spoken.

And a recogniser's words on their way to a decision, which are text of any kind too.
"""

import unicodedata

from media_bridge.turn_end import end_wait_ms
from media_bridge.turn_end_waits import EndWaits
from stasis_app.intents import is_farewell
from stasis_app.interruption import Reading, is_meant
from stasis_app.sentences import SentenceChunker
from stasis_app.speakable import Speakable, spoken_characters
from tests.fuzz.choices import Choices

TOKENS = tuple(
    text.encode("utf-8", "surrogatepass")
    for text in (
        "Dr. ", "St. ", "9 p.m. ", "e.g. ", "U.S. ", "No. 5", "$29.95", "$1.2 million", "€5-10/month",
        "1/2", "3 ½ cups", "5 km/h",
        "20 °C", "Mon-Fri", "9:00 am - 5 pm", "2026-01-31", "+1 (555) 010-0199", "1990s", "1. ", "2) ",
        "- [ ] ", "# ", "> ",
        "**", "```", "~~~", "<think>", "</think>", "<b>", "[a](", "](", "https://a.example/b?c=d",
        "a.b@c.org", "| a | b |", "|---|",
        "\n\n", "\u200d", "\ufe0f", "\U0001f600", "\u202e", "\u2028", "\x00", "\ud83d", "。", "你好，", "।",
        "؟", "—", " - ", "...", "?!",
        " and ", ", but ", "\u0301", "word ",
    )
)  # fmt: skip
MAX_LEN = 400

_NOT_SPOKEN = {"Cc", "Cf", "Cs", "Co", "Cn", "So", "Sk", "Zl"}
_MARKUP = set("*`_~^|<>[]{}\\\n\t")
_LANGUAGES = ("en", "de", None)


def one_input(data: bytes) -> None:
    choices = Choices(data)
    first = choices.byte()
    choices, text = Choices(choices.take(16)), choices.rest().decode("utf-8", "replace")
    if first & 0x80:
        # what `"\\ud800"` in a model's JSON becomes
        text = text.replace("\ufffd", "\ud800")
    chunks = _chunks([text])
    deltas = list(text) if first & 0x40 else _cut(text, choices)
    assert _chunks(deltas) == chunks
    expected = "".join(spoken_characters(text).split())
    assert "".join("".join(chunks).split()) == expected
    assert all(0 < len(chunk) <= 200 and chunk == chunk.strip() for chunk in chunks)
    assert not chunks or len(chunks[0]) <= 80
    if first & 0x20:
        impatient = _chunks(deltas, choices.byte() % 8)
        assert "".join("".join(impatient).split()) == expected
    _spoken([text] if first & 0x10 else chunks, _LANGUAGES[first % len(_LANGUAGES)])
    _understood(text)


def _chunks(deltas: list[str], impatient_at: int = -1) -> list[str]:
    chunker = SentenceChunker()
    chunks: list[str] = []
    for number, delta in enumerate(deltas):
        chunks += chunker.feed(delta)
        if number == impatient_at:
            chunks += chunker.close_opener() + chunker.close_first()
    return chunks + chunker.finish()


def _cut(text: str, choices: Choices) -> list[str]:
    deltas = []
    for _ in range(8):
        length = choices.byte()
        deltas.append(text[:length])
        text = text[length:]
    return [*deltas, text]


def _spoken(chunks: list[str], language: str | None) -> None:
    voice = Speakable(language)
    for chunk in chunks:
        said = voice.feed(chunk)
        assert not {unicodedata.category(char) for char in said if char != "°"} & _NOT_SPOKEN
        assert not _MARKUP & set(said)
        assert said == said.strip()
        assert not said or any(char.isalnum() for char in said)


def _understood(text: str) -> None:
    assert end_wait_ms(text, None, EndWaits()) > 0
    assert is_farewell(text) in {True, False}
    is_meant(Reading(text), None)
