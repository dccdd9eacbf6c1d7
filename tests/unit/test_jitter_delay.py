"""The target is what sorting the whole window says, however packets come and go."""

import random

import pytest

from media_bridge.jitter_delay import DelayTarget
from media_bridge.settings import JitterSettings

SETTINGS = JitterSettings(min_ms=20, max_ms=500)


def target_of(transits: list[float]) -> float:
    ordered = sorted(transits)
    needed = ordered[-1 - len(ordered) // 150] - ordered[0] + 0.010
    return min(max(needed, 0.020), 0.500)


@pytest.mark.parametrize("seed", range(4))
def test_the_target_follows_the_last_five_seconds(seed: int) -> None:
    rng = random.Random(seed)
    delay, now = DelayTarget(SETTINGS), 0.0
    remembered: list[tuple[float, float]] = []
    for step in range(3000):
        now += rng.choice([0.0, 0.001, 0.02, 0.02, 0.2])
        # some are the same to the bit
        transit = rng.choice([0.25, rng.uniform(0, 0.3)])
        delay.remember(transit, now)
        remembered = [*remembered, (now, transit)][-1024:]
        if step % 400 == 399:
            delay.forget_since(now - 0.5)
            remembered = [pair for pair in remembered if pair[0] < now - 0.5]
        if step % 5 == 0:
            # a second of packets stays whatever their age
            old = sum(at < now - 5.0 for at, _ in remembered[:-50])
            remembered = remembered[old:]
            before = delay.target_s
            delay.aim(now)
            assert delay.target_s == (target_of([t for _, t in remembered]) if remembered else before)
