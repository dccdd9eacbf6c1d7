"""Packets out of order, doubled, renumbered and of other kinds (docs/media-faults.md, M3, M4, M7, M10, M12).

All calls of the page are made at once, each over a network of its own. The caller sends a long tone, a short silence,
a short tone, a long silence and a tone again. What the bot heard must have the same times.
"""

from collections.abc import AsyncIterator
from itertools import pairwise

import numpy as np
import pytest
import pytest_asyncio

from tests.support.media_call import silence, tone
from tests.support.media_scene import CLEAN, Line, stage
from tests.support.relay import Impairment
from tests.support.rtp_rewrite import (
    AmongOthers,
    ComfortNoise,
    Dressed,
    KeysInSilence,
    NumberedFrom,
    Repacketised,
    SilenceSuppressed,
)
from tests.support.tones import tone_energy, tone_levels
from voicebot.asterisk import AsteriskProcess

pytestmark = pytest.mark.asyncio(loop_scope="session")

HZ, FULL = 700, 8191
TIMES_S = [3.0, 0.3, 1.0, 1.5, 1.0]
"""Tone, silence, tone, silence, tone."""
# about a second into the first tone, and the number of packets until then
JUMP_AT = 130
MAY_CONCEAL = 3
TRIES = 3


def networks() -> dict[str, Impairment]:
    """Made anew for each use: some remember what they saw."""
    return {
        "clean": Impairment(),
        "neighbours swapped": Impairment(reorder_every=10, reorder_by=1),
        "3 places late": Impairment(reorder_every=25, reorder_by=3),
        "10 places late": Impairment(reorder_every=25, reorder_by=10),
        "some doubled": Impairment(duplicate=0.05),
        "all doubled": Impairment(duplicate=1.0),
        "another source": Impairment(
            jump_at=JUMP_AT, new_ssrc=99, sequence_jump=20_000, timestamp_jump=123_456_789
        ),
        "sequence jump": Impairment(jump_at=JUMP_AT, sequence_jump=20_000),
        "timestamp jump": Impairment(jump_at=JUMP_AT, timestamp_jump=800_000),
        "numbers wrap": Impairment(rewrite=NumberedFrom(0x10000 - JUMP_AT, 2**32 - 160 * JUMP_AT)),
        "padding, extension, CSRC": Impairment(rewrite=Dressed()),
        "among other types": Impairment(rewrite=AmongOthers()),
        "10 ms packets": Impairment(rewrite=Repacketised(80)),
        "30 ms packets": Impairment(rewrite=Repacketised(240)),
        "40 ms packets": Impairment(rewrite=Repacketised(320)),
        "silence suppressed": Impairment(rewrite=SilenceSuppressed()),
        "comfort noise": Impairment(rewrite=ComfortNoise(5)),
        "keys in silence": Impairment(rewrite=KeysInSilence()),
    }


REPAIRED = [name for name in networks() if name not in {"clean", "10 places late"}]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def calls(
    asterisk: AsteriskProcess, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[dict[str, Line]]:
    parts = [tone(s, HZ, 0.25) if n % 2 == 0 else silence(s) for n, s in enumerate(TIMES_S)]

    async def talk(line: Line) -> None:
        await line.phone.sleep(0.5)
        await line.phone.say(b"".join(parts))
        await line.phone.sleep(0.5)

    async with stage(asterisk, tmp_path_factory.mktemp("order"), greeting="Hello.") as scene:
        for _ in range(TRIES):
            lines = await scene.play({name: (it, CLEAN) for name, it in networks().items()}, talk)
            if undisturbed(lines["clean"]):
                break
    yield lines


def undisturbed(clean: Line) -> bool:
    """The machine did not stand still so long that a call without a fault was hurt: such a run tells nothing."""
    return clean.observed.stats().concealed <= 1 and times(clean) == pytest.approx(
        [s * 50 for s in TIMES_S], abs=1
    )


def times(line: Line) -> list[int]:
    """Tone, silence, tone, ... in frames, in what the bot heard."""
    loud = tone_levels(line.observed.pcm, HZ) > FULL / 4
    at = np.flatnonzero(loud)
    # a hole of up to three frames is what a fault may cost, none of the silences
    for before, after in pairwise(at):
        if after - before <= MAY_CONCEAL + 1:
            loud[before:after] = True
    edges = np.flatnonzero(np.diff(np.concatenate([[0], loud.astype(int), [0]])))
    return [int(length) for length in np.diff(edges)]


def concealed(calls: dict[str, Line], name: str) -> int:
    """Frames, less what came too late and what the machine made of a network without any fault at the same time."""
    stats, clean = calls[name].observed.stats(), calls["clean"].observed.stats()
    # a packet may hold two frames; where the machine stood still all the time, calls are hurt very differently
    return stats.concealed - stats.lost - 2 * stats.late - 4 * clean.concealed


@pytest.mark.parametrize("name", ["clean", *REPAIRED])
async def test_what_can_be_repaired_is_and_time_is_neither_stretched_nor_cut(
    calls: dict[str, Line], name: str
) -> None:
    heard = times(calls[name])
    assert len(heard) == len(TIMES_S), heard
    # an edge may lie within a frame and have concealment beside it; a machine that stood still slips one; what may be
    # suppressed silence fades for three frames
    either_way = 6 if name == "silence suppressed" else 3
    assert heard == pytest.approx([s * 50 for s in TIMES_S], abs=either_way)
    clean = tone_energy(calls["clean"].observed.pcm, HZ)
    assert tone_energy(calls[name].observed.pcm, HZ) == pytest.approx(clean, rel=0.04)


@pytest.mark.parametrize("name", [name for name in REPAIRED if name != "silence suppressed"])
async def test_at_most_three_frames_are_concealed(calls: dict[str, Line], name: str) -> None:
    assert concealed(calls, name) <= MAY_CONCEAL
    # a packet that the network still held back when the call ended
    assert calls[name].observed.stats().lost <= 1


async def test_ten_places_late_is_counted_and_never_played_out_of_its_turn(calls: dict[str, Line]) -> None:
    stats = calls["10 places late"].observed.stats()
    assert stats.late >= 10
    assert stats.target_ms <= 120
    # a second hearing, or one late, would make the tones longer
    assert sum(times(calls["10 places late"])[::2]) <= 5 * 50 + 6


async def test_the_second_one_of_two_is_dropped_and_counted(calls: dict[str, Line]) -> None:
    doubled, some = calls["all doubled"].observed.stats(), calls["some doubled"].observed.stats()
    assert doubled.duplicates == pytest.approx(doubled.packets_in / 2, abs=2)
    assert 5 <= some.duplicates <= 0.1 * some.packets_in


@pytest.mark.parametrize("name", ["another source", "sequence jump", "timestamp jump"])
async def test_a_stream_that_starts_anew_is_heard_again_after_two_packets(
    calls: dict[str, Line], name: str
) -> None:
    levels = tone_levels(calls[name].observed.pcm, HZ)
    first = int(np.flatnonzero(levels > FULL / 4)[0])
    tone_frames = levels[first : first + int(TIMES_S[0] * 50) - 2]
    assert np.count_nonzero(tone_frames < 0.5 * FULL) <= MAY_CONCEAL


async def test_each_other_type_is_counted_by_its_rule(calls: dict[str, Line]) -> None:
    stats = calls["among other types"].observed.stats()
    assert set(stats.dropped) == {"rtcp", "not_voice", "unknown_type", "empty"}
    # RTCP and comfort noise come in two kinds each, the others in one
    assert stats.dropped["rtcp"] == pytest.approx(2 * stats.dropped["unknown_type"], abs=3)
    assert stats.dropped["not_voice"] == pytest.approx(2 * stats.dropped["empty"], abs=3)


async def test_suppressed_silence_is_put_back(calls: dict[str, Line]) -> None:
    line = calls["silence suppressed"]
    assert line.observed.stats().packets_in <= calls["clean"].observed.stats().packets_in - 80
    assert line.observed.stats().lost == 0
    # one cannot know at once that it is silence: five frames of each pause fade
    assert concealed(calls, "silence suppressed") <= 5 * 4
