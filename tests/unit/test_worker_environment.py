"""What a worker is started with: its card, its cores, the prompts to read ahead."""

import pytest

from gpu_workers.settings import SttSettings
from voicebot.config import Config, parse
from voicebot.worker import environment, warmed


@pytest.mark.parametrize(("device", "cards"), [("cpu", ""), ("cuda", "0"), ("cuda:0", "0"), ("cuda:3", "3")])
def test_it_sees_its_own_card_only(device: str, cards: str) -> None:
    assert environment(SttSettings(device=device))["CUDA_VISIBLE_DEVICES"] == cards


def test_its_libraries_use_its_share_of_the_cores() -> None:
    found = environment(SttSettings(threads=3))
    assert {found[name] for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")} == {"3"}


def test_the_prompts_of_all_profiles_are_read_ahead() -> None:
    assert warmed(Config()).warm_prompts == (Config().profiles["default"].prompt,)
    own = parse("workers: {llm: {warm_prompts: [a]}}", "x", {})
    assert warmed(own).warm_prompts == ("a",)
