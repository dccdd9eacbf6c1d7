"""How loud sound is, and the memory it is looked up in."""

import numpy as np
import pytest

from media_bridge.level import SILENCE_DBFS, block_levels_dbfs, level_dbfs
from media_bridge.sound import SoundMemory
from tests.support.speech import pcm_of, tone


def test_a_full_tone_is_3_db_below_a_full_square() -> None:
    assert level_dbfs(pcm_of(np.full(160, 32767.0))) == pytest.approx(0.0, abs=0.01)
    assert level_dbfs(pcm_of(tone(400, 0.02, 32767))) == pytest.approx(-3.01, abs=0.01)


@pytest.mark.parametrize("pcm", [b"", bytes(2), bytes(320)])
def test_silence_has_a_finite_level(pcm: bytes) -> None:
    assert level_dbfs(pcm) == pytest.approx(SILENCE_DBFS)


def test_blocks_are_measured_apart_and_a_part_of_one_is_left_out() -> None:
    levels = block_levels_dbfs(pcm_of(np.repeat([3276.7, 327.67, 1.0], [80, 80, 79])), 80)
    assert levels == pytest.approx([-20, -40], abs=0.05)
    assert len(block_levels_dbfs(b"", 80)) == 0


def test_sound_is_found_by_its_number_after_the_oldest_is_forgotten() -> None:
    memory = SoundMemory()
    memory.append(pcm_of(np.arange(1000.0)))
    memory.forget(300)
    assert memory.position == 1000
    assert memory.cut(400, 402) == pcm_of(np.array([400.0, 401.0]))
    assert memory.cut(0, 301) == pcm_of(np.array([300.0]))
    assert memory.cut(0, 300) == memory.cut(2000, 3000) == b""
    assert memory.levels(0, 500, 80)[0] == 300
    memory.forget(-5)
    memory.forget(5000)
    assert memory.position == 1000
    assert memory.cut(0, 5000) == b""
