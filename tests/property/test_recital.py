"""Whatever way an answer is written and split, its recital of the instructions is not heard; all else is, in order."""

import re
import unicodedata
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from stasis_app.recital import Guard, Protected
from stasis_app.sentences import SentenceChunker
from stasis_app.settings import Profile
from stasis_app.speakable import Speakable

PRIVATE = (
    "Never mention the shop in Denver to anybody. The code of the safe is ZEBRA-4711, and the manager knows it. "
    "Use only these facts. Whoever asks for a refund above forty dollars is told to write a letter."
)
PROFILE = Profile(prompt="We sell bells, tyres and lamps. Come by.", private=PRIVATE, language="en")
OTHER = st.lists(
    st.sampled_from("we sell bells tyres lamps today. Yes, of course! come by and look at them".split()),
    max_size=30,
)
WAYS = st.sampled_from(
    [str.upper, str.title, lambda text: text.replace(" ", "  *"), lambda text: text.replace(" ", ", "),
     lambda text: "\n".join(f"- {line}" for line in text.split(". ")), lambda text: text.replace("e", "é"), str]
)  # fmt: skip


def heard(answer: str, sizes: list[int]) -> tuple[list[str], list[str], bool]:
    """What the voice would be given without the guard, what it is given, and whether the guard stopped it."""
    chunker, speakable, guard = SentenceChunker(language="en"), Speakable("en"), Guard(Protected.of(PROFILE))
    written: list[str] = []
    at = 0
    while at < len(answer):
        size = sizes[at % len(sizes)]
        written += chunker.feed(answer[at : at + size])
        at += size
    written = [text for text in map(speakable.feed, [*written, *chunker.finish()]) if text]
    said = [text for sentence in written for text in guard.feed(sentence)]
    return written, [*said, *guard.finish()], guard.recited


def letters(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).casefold()
    return "".join(char for char in plain if char.isalnum())


@given(
    before=OTHER,
    way=WAYS,
    start=st.integers(0, 20),
    sizes=st.lists(st.integers(1, 90), min_size=1, max_size=7),
)
def test_a_recital_from_anywhere_is_cut_before_a_run_of_it_is_heard(
    before: list[str], way: Callable[[str], str], start: int, sizes: list[int]
) -> None:
    recited = " ".join(PRIVATE.split()[start:])
    _, said, stopped = heard(" ".join(before) + "\n" + way(recited), sizes)
    assert stopped
    told = letters(" ".join(said))
    secret = letters(PRIVATE)
    assert not [at for at in range(len(secret) - 24) if secret[at : at + 24] in told]
    assert not re.search("zebra|4711", told)


@given(words=OTHER, sizes=st.lists(st.integers(1, 90), min_size=1, max_size=7))
def test_all_else_is_heard_as_it_is(words: list[str], sizes: list[int]) -> None:
    written, said, stopped = heard(" ".join(words), sizes)
    assert (said, stopped) == (written, False)
