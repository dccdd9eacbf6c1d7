"""Flights that something has happened to: they are replayed, or it is said what is wrong with them."""

import tempfile
from functools import cache
from pathlib import Path

from hypothesis import given
from hypothesis import settings as budget
from hypothesis import strategies as st

from tests.support.flights import flown
from tests.support.media_call import silence, speech
from voicebot.errors import UsageError
from voicebot.replay import replay_file

# (where, how many bytes go, what comes instead), places in parts of the whole
Harm = tuple[float, int, bytes]


@cache
def _whole() -> tuple[bytes, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        file = flown(Path(folder), silence(0.5) + speech("short01.wav") + silence(0.8))
        return file.read_bytes(), file.with_suffix(".wav").read_bytes()


def _harmed(data: bytes, harms: list[Harm]) -> bytes:
    for where, gone, instead in harms:
        at = int(where * len(data))
        data = data[:at] + instead + data[at + gone :]
    return data


def _digits(count: int) -> st.SearchStrategy[bytes]:
    return st.text("0123456789-.e", max_size=count).map(str.encode)


anything = (
    st.binary(max_size=8) | _digits(12) | st.sampled_from([b"{", b"}", b"null", b'"', b"\n", b",", b"NaN"])
)
harms = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 40), anything), max_size=4)
in_the_head = st.lists(st.tuples(st.floats(0, 0.003), st.integers(0, 8), st.binary(max_size=8)), max_size=3)


@budget(max_examples=150)
@given(lines=st.just([]) | harms, sound=in_the_head | harms)
def test_it_is_replayed_or_told_what_is_wrong(lines: list[Harm], sound: list[Harm]) -> None:
    flight, wav = _whole()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "x.flight"
        file.write_bytes(_harmed(flight, lines))
        file.with_suffix(".wav").write_bytes(_harmed(wav, sound))
        said: list[str] = []
        try:
            status = replay_file(file, said.append)
        except UsageError as error:
            assert folder in str(error)
        else:
            assert status in (0, 1)
            assert said
