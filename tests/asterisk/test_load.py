"""A short ladder of `make load`: no call is lost, every question is answered, nothing is left behind. No times."""

import asyncio
import contextlib
import re
import sys
from pathlib import Path

import pytest

from benchmarks.load_kit.ruler import Outcome, judge

ROOT = Path(__file__).parents[2]
PATIENCE_S = 110.0
CLEAN_UP_S = 20.0


@pytest.mark.timeout(200)
async def test_a_short_ladder_and_more_callers_than_places(tmp_path: Path) -> None:
    arguments = ("--calls", "3", "--seconds", "6", "--no-keep", "--keep-pcap", str(tmp_path))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.load", *arguments),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.terminate()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CLEAN_UP_S):
                    await process.wait()
        if process.returncode is None:
            process.kill()
            await process.wait()
    said = output.decode()
    assert process.returncode == 0, said
    (result,) = re.findall(r"^RESULT (.*)$", said, re.MULTILINE)
    figures = dict(pair.split("=") for pair in result.split())
    assert (figures["calls"], figures["failed"], figures["leaked"]) == ("7", "0", "0"), said
    # the captures that were kept tell the same
    outcomes = kept(tmp_path)
    assert len(outcomes) == 7
    assert outcomes.count(Outcome.REFUSED) == 1
    assert outcomes.count(Outcome.FINISHED) == 6


def kept(folder: Path) -> list[Outcome]:
    return [judge(path.read_bytes()).outcome for path in folder.glob("*/*.pcap")]
