"""A benchmark as `make bench` runs it, with the smallest arguments: does it still run, and find what it looks for?"""

import asyncio
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE_S = 100.0


@dataclass(frozen=True, slots=True)
class Ran:
    """What it printed, and the figures of its RESULT line."""

    output: str
    result: dict[str, str]

    def row(self, first: str) -> list[str]:
        """The cells of the one table row that begins so, without the first."""
        rows = [line.strip("| ").split(" | ") for line in self.output.splitlines() if line.startswith("| ")]
        (found,) = [cells[1:] for cells in rows if cells[0] == first]
        return [cell.strip() for cell in found]


async def run_module(name: str, *arguments: object) -> str:
    """`python -m benchmarks.NAME ...`; what it printed. Fails unless it ends with status 0."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", f"benchmarks.{name}", *map(str, arguments)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.terminate()  # what it has started ends with it
            await process.wait()
    said = output.decode(errors="replace")
    assert process.returncode == 0, said
    return said


async def run_benchmark(name: str, *arguments: object) -> Ran:
    """The same of one that ends with a RESULT line."""
    said = await run_module(name, *arguments)
    last = said.rstrip().splitlines()[-1]
    assert last.startswith("RESULT "), said
    return Ran(said, dict(re.findall(r"(\S+)=(\S+)", last)))
