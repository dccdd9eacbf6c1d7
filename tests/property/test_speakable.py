"""Any text: never an exception, never a character that no voice can say."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from stasis_app.speakable import Speakable, speakable

_pieces = st.sampled_from(
    (
        "$1|$29.95/|€|-|–| |9|9:00|am|p.m.|Mon|Sat-|555-0142|(212)|#|*|**|`|```|~~~|<think>|</think>|<b>|[a](|)"
        "|]|(|http://|www.|a@b.co|.|,|\n|1. |- |Dr.|St.|½|1/2|°C|km|/|e.g.|😀|\u200d|\ufe0f|\ud83d|\x00|\u202e"
        "|你|19,99 €|3.12.|€ 1.250|14h30|0551 12|।|word|é|e\u0301|1990s"
        "|−|‑|- |=|3:1|12/25/2026|1/2|º|AB-12345|4-8-1| 000|Nr.|3. |Mai|und"
    ).split("|")
)
_texts = st.one_of(st.text(max_size=200), st.lists(_pieces, max_size=60).map("".join))


@given(_texts, st.sampled_from(["en", "de", "fr", "hi", "zh", "pt-BR", "xx", None]))
def test_only_what_can_be_spoken(text: str, language: str | None) -> None:
    said = speakable(text, language)
    assert not set(map(unicodedata.category, said.replace("°", ""))) & {
        "Cc",
        "Cf",
        "Cs",
        "Co",
        "Cn",
        "So",
        "Sk",
        "Zl",
    }
    assert not set("*`_~^|<>[]{}\\\n\t") & set(said)
    assert said == said.strip()
    assert not said or any(char.isalnum() for char in said)


@given(st.lists(_texts, max_size=6))
def test_code_is_never_spoken(chunks: list[str]) -> None:
    voice = Speakable()
    for chunk in chunks:
        voice.feed(chunk.replace("```", "").replace("~~~", "").replace("think", ""))
    assert voice.feed("```secret") == ""
    assert voice.feed("secret") == ""
    assert voice.feed("``` out") == "out"
