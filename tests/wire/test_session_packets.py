"""Packets of other shapes and numbers through a call's media, to the frame (docs/media-faults.md, M7, M10, M12)."""

from collections.abc import Callable, Coroutine
from typing import Any

import numpy as np
import pytest

from media_bridge.stats import MediaStats
from tests.support.media_call import ULAW, one_call, silence, tone
from tests.support.relay import Impairment, Network, Rewrite
from tests.support.rtp_rewrite import (
    AmongGarbage,
    AmongOthers,
    ComfortNoise,
    Dressed,
    KeysInSilence,
    NumberedFrom,
    Repacketised,
    SilenceSuppressed,
)
from tests.support.tones import tone_levels

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]

SOUND = tone(2.0, 700) + silence(0.3) + tone(1.0, 700) + silence(1.5) + tone(1.0, 700)


def heard(run: RunVirtual, impairment: Impairment, seed: int = 1) -> tuple[bytes, MediaStats]:
    async def main() -> tuple[bytes, MediaStats]:
        async with one_call() as call:
            await call.say(silence(0.5) + SOUND + silence(0.5), Network(impairment, seed))
            return call.caller_pcm, call.session.stats()

    result: tuple[bytes, MediaStats] = run(main())
    return result


@pytest.mark.parametrize(
    "rewrite",
    [
        Dressed(),
        AmongOthers(),
        Repacketised(80),
        Repacketised(240),
        Repacketised(320),
        NumberedFrom(0xFFF0, 2**32 - 160 * 100),
        AmongGarbage(5),
    ],
    ids=lambda rewrite: type(rewrite).__name__,
)
def test_every_sample_is_heard_in_its_place(virtual_time: RunVirtual, rewrite: Rewrite) -> None:
    pcm, stats = heard(virtual_time, Impairment(rewrite=rewrite))
    # longer packets may leave a frame to be waited for at the start
    assert (stats.late, stats.lost) == (0, 0)
    assert stats.concealed <= 2
    assert pcm.count(ULAW.decode(ULAW.encode(SOUND))) == 1


def test_each_other_kind_is_counted_by_its_rule(virtual_time: RunVirtual) -> None:
    _, stats = heard(virtual_time, Impairment(rewrite=AmongOthers()))
    # 340 packets, another kind after each fifth, six kinds in turn: two of comfort noise and events, two of RTCP
    assert stats.dropped == {"not_voice": 23, "empty": 12, "rtcp": 22, "unknown_type": 11}


def test_suppressed_silence_is_put_back_in_its_length(virtual_time: RunVirtual) -> None:
    pcm, stats = heard(virtual_time, Impairment(rewrite=SilenceSuppressed()))
    loud = tone_levels(pcm, 700) > 2000
    edges = np.flatnonzero(np.diff(np.concatenate([[0], loud.astype(int), [0]])))
    # a frame or two after each tone it fades before it is known that nothing was lost
    assert list(np.diff(edges)) == pytest.approx([100, 15, 50, 75, 50], abs=2)
    assert list(np.diff(edges[::2])) == [115, 125]
    assert stats.lost == 0


@pytest.mark.parametrize(
    "rewrite", [ComfortNoise(5), ComfortNoise(1000), KeysInSilence()], ids=["5", "once", "keys"]
)
def test_a_pause_with_something_else_than_sound_costs_none_of_it(
    virtual_time: RunVirtual, rewrite: Rewrite
) -> None:
    pcm, stats = heard(virtual_time, Impairment(rewrite=rewrite))
    assert (stats.late, stats.lost, stats.concealed) == (0, 0, 0)
    # the tones are there to the sample, and silence between them
    played = ULAW.decode(ULAW.encode(SOUND))
    assert pcm.count(played) == 1


# a packet every 20 ms, or to wait for the next one would be to wait for long
@pytest.mark.parametrize("rewrite", [lambda: ComfortNoise(1), KeysInSilence], ids=["comfort noise", "keys"])
@pytest.mark.parametrize("every", [3, 5, 7])
def test_nor_does_it_when_packets_are_out_of_order(
    virtual_time: RunVirtual, rewrite: Callable[[], Rewrite], every: int
) -> None:
    pcm, stats = heard(virtual_time, Impairment(reorder_every=every, reorder_by=1, rewrite=rewrite()))
    assert (stats.late, stats.lost) == (0, 0)
    assert stats.concealed <= 1
    assert pcm.count(ULAW.decode(ULAW.encode(SOUND))) == 1


@pytest.mark.parametrize("rewrite", [lambda: ComfortNoise(5), KeysInSilence], ids=["comfort noise", "keys"])
def test_loss_beside_such_pauses_costs_what_was_lost(
    virtual_time: RunVirtual, rewrite: Callable[[], Rewrite]
) -> None:
    pcm, stats = heard(virtual_time, Impairment(loss=0.05, rewrite=rewrite()), seed=3)
    assert 5 <= stats.concealed <= stats.lost
    loud = tone_levels(pcm, 700) > 2000
    edges = np.flatnonzero(np.diff(np.concatenate([[0], loud.astype(int), [0]])))
    assert [edges[0], edges[-1]] == pytest.approx([edges[-1] - 290, edges[-1]], abs=1)
