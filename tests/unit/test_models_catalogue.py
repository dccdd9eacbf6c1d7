"""The catalogue agrees with itself, and progress is told in tenths."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_workers.models import MODELS
from gpu_workers.models.catalogue import HubSource, IndexSource, Model
from gpu_workers.models.progress import Progress


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
def test_every_source_gives_every_file(model: Model) -> None:
    names = {file.name for file in model.files}
    assert model.sources
    assert model.main == "" or model.main in names
    for source in model.sources:
        match source:
            case HubSource():
                assert set(source.paths) == names
                assert re.fullmatch(r"[0-9a-f]{40}", source.revision)
            case IndexSource():
                assert {part.file for part in source.parts} == names
                assert all(re.fullmatch(r"[a-z0-9.-]+==[0-9.]+", part.requirement) for part in source.parts)


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
def test_hashes_are_whole(model: Model) -> None:
    assert all(re.fullmatch(r"[0-9a-f]{64}", file.sha256) and file.size > 0 for file in model.files)


@given(steps=st.lists(st.integers(1, 5000), min_size=1, max_size=200))
def test_progress_is_told_at_least_every_tenth_and_not_more_often(steps: list[int]) -> None:
    total = sum(steps)
    lines: list[str] = []
    progress, done = Progress("x", total, lines.append), 0
    for step in steps:
        done += step
        progress.reached(done)
    told = [int(re.search(r"\((\d+) %\)", line)[1]) for line in lines]  # type: ignore[index]
    assert told[-1] == 100
    assert len(told) <= 10
    assert told == sorted(set(told))
