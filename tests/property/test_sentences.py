"""Any text, split anyhow."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from stasis_app.sentences import SentenceChunker
from stasis_app.speakable import spoken_characters

_pieces = st.sampled_from(
    (
        "Dr. |St. |p.m. |12. |1. |2) |$29.95|U.S. |J. |e.g. |Monday|Please|and |but |, |; |— |. |! |? |... |\n|- |**"
        '|[a](|)|https://a.b/c?d=e |。|，|你好|।|😀|\u200d|\ud83d|\x00|(|"|word|Another one|x'
    ).split("|")
)
_texts = st.one_of(st.text(max_size=300), st.lists(_pieces, max_size=120).map("".join))


def _chunks(deltas: list[str]) -> list[str]:
    chunker = SentenceChunker()
    return [chunk for delta in deltas for chunk in chunker.feed(delta)] + chunker.finish()


@given(_texts, st.lists(st.integers(0, 600), max_size=20))
def test_chunks_do_not_depend_on_how_the_text_was_split(text: str, cuts: list[int]) -> None:
    bounds = sorted({0, *(cut for cut in cuts if cut < len(text)), len(text)})
    deltas = [text[start:end] for start, end in pairwise(bounds)]
    assert _chunks(deltas) == _chunks([text]) == _chunks(list(text))


@given(_texts)
def test_nothing_is_lost_or_added(text: str) -> None:
    assert "".join("".join(_chunks([text])).split()) == "".join(spoken_characters(text).split())


@given(_texts)
def test_chunks_are_short_and_never_empty(text: str) -> None:
    chunks = _chunks([text])
    assert all(0 < len(chunk) <= 200 and chunk == chunk.strip() for chunk in chunks)
    assert not chunks or len(chunks[0]) <= 80


@given(_texts, st.integers(0, 300))
def test_close_first_loses_nothing(text: str, at: int) -> None:
    chunker = SentenceChunker()
    chunks = chunker.feed(text[:at]) + chunker.close_first() + chunker.feed(text[at:]) + chunker.finish()
    assert "".join("".join(chunks).split()) == "".join(spoken_characters(text).split())


@given(_texts, st.integers(0, 300))
def test_close_phrase_loses_nothing(text: str, at: int) -> None:
    chunker = SentenceChunker()
    chunks = chunker.feed(text[:at]) + chunker.close_phrase() + chunker.feed(text[at:]) + chunker.finish()
    assert "".join("".join(chunks).split()) == "".join(spoken_characters(text).split())


@given(_texts.map("Yes, ".__add__), st.integers(0, 300))
def test_close_opener_loses_nothing(text: str, at: int) -> None:
    chunker = SentenceChunker()
    chunks = chunker.feed(text[:at]) + chunker.close_opener() + chunker.feed(text[at:]) + chunker.finish()
    assert "".join("".join(chunks).split()) == "".join(spoken_characters(text).split())


@given(_texts, st.integers(0, 300))
def test_close_sentence_loses_nothing(text: str, at: int) -> None:
    chunker = SentenceChunker()
    chunks = chunker.feed(text[:at]) + chunker.close_sentence() + chunker.feed(text[at:]) + chunker.finish()
    assert "".join("".join(chunks).split()) == "".join(spoken_characters(text).split())
