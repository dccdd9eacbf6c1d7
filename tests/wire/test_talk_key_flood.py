"""500 keys a second while the bot speaks, by a clock that counts what the process computes (A11, P3)."""

import asyncio
from itertools import pairwise

import numpy as np
import pytest

from media_bridge.rtp import sequence_distance
from tests.support.own_core import OwnCoreLoop
from tests.support.talk import CALLER, PROFILE, talk
from tests.support.talk_lines import RtpLine
from tests.support.virtual_time import run_virtual

SECONDS, A_SECOND = 20, 500
STEP_S = 0.02
PASSAGE = "This call is recorded, and what is said in it is kept for thirty days in this town"
"""No key interrupts it."""


def test_ten_thousand_keys_cost_the_sound_nothing() -> None:
    profile = PROFILE.model_copy(update={"disclosure": f"{PASSAGE}, and it is read by nobody. " * 4})

    async def main() -> None:
        async with talk(profile) as scene:
            assert isinstance(scene.line, RtpLine)
            await scene.until(lambda: scene.spurts())
            first = len(scene.line.heard)
            began = scene.now
            for step in range(int(SECONDS / STEP_S)):
                for _ in range(int(A_SECOND * STEP_S)):
                    scene.ari.send("ChannelDtmfReceived", channel={"id": CALLER}, digit="8", duration_ms=20)
                await asyncio.sleep(began + (step + 1) * STEP_S - scene.now)
            heard = scene.line.heard[first:]
            assert scene.now - scene.spurts()[-1].end < 0.1, "it has been speaking all the time"
            assert len(heard) == pytest.approx(SECONDS / STEP_S, abs=2)
            assert {sequence_distance(b, a) for (_, a), (_, b) in pairwise(heard)} == {1}
            gaps = [b - a for (a, _), (b, _) in pairwise(heard)]
            assert np.percentile(gaps, 99) <= 0.025
            assert max(gaps) <= 0.060
            kinds = [await scene.metric("voicebot_digits_total", kind=kind) for kind in ("taken", "dropped")]
            assert kinds == [32, SECONDS * A_SECOND - 32]

    run_virtual(main(), OwnCoreLoop)
