"""The target is what sorting the whole window says, however packets come and go."""

import random

import pytest

from media_bridge.jitter_delay import DelayTarget
from media_bridge.settings import JitterSettings

SETTINGS = JitterSettings(min_ms=20, max_ms=500)


def target_of(transits: list[float], before: float) -> float:
    """It rises to what all but one in 150 needed, and falls to what all did."""
    ordered = sorted(transits)
    nearly_all, by_all = (
        min(max(needed - ordered[0] + 0.010, 0.020), 0.500)
        for needed in (ordered[-1 - len(ordered) // 150], ordered[-1])
    )
    return min(max(before, nearly_all), by_all)


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
            expected = target_of([t for _, t in remembered], before) if remembered else before
            assert delay.target_s == expected
