"""SIPp as the callers of one step, and the captures of their calls judged as they end."""

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.load_kit.configuration import HOST
from benchmarks.load_kit.plan import Talk, sound
from benchmarks.load_kit.ruler import CallFigures, judge
from benchmarks.load_kit.scenario import injection, scenario, sound_name
from benchmarks.load_kit.system import SIPP, Bench
from caller_phone.g711 import Samples
from gpu_workers.leash import leashed
from tests.support.rig import free_ports
from voicebot.cache import default_cache_dir
from voicebot.programs import fetch_sipp

EXTENSION = "1000"


@dataclass
class Sipp:
    """A running SIPp. It ends by itself after its last call."""

    process: asyncio.subprocess.Process
    folder: Path

    async def ended(self, within_s: float) -> bool:
        """Whether it has ended in this time."""
        try:
            async with asyncio.timeout(within_s):
                await self.process.wait()
        except TimeoutError:
            return False
        return True

    def errors(self) -> str:
        """What SIPp found unexpected, "" when nothing."""
        found = [self.folder / name for name in ("errors", "stderr")]
        return "".join(path.read_text(errors="replace") for path in found if path.exists())


@asynccontextmanager
async def sipp_calls(
    bench: Bench,
    tap_port: int,
    talks: Sequence[Talk],
    clips: Sequence[Samples],
    *,
    calls: int,
    at_once: int,
    rate: float,
) -> AsyncIterator[Sipp]:
    """`calls` calls that take the talks in turn, so many a second and never more than `at_once` together."""
    with tempfile.TemporaryDirectory(prefix="voicebot-load-") as name:
        folder = Path(name)
        for number, talk in enumerate(talks):
            (folder / sound_name(number)).write_bytes(sound(talk, clips, number))
        (folder / "scenario.xml").write_text(scenario([round(1000 * talk.hang_up_s) for talk in talks]))
        (folder / "callers.csv").write_text(injection(range(len(talks))))
        ports = bench.ports.sipp
        command = [
            *fetch_sipp(default_cache_dir(), _say).command,
            f"{HOST}:{tap_port}",
            *(
                "-sf",
                "scenario.xml",
                "-inf",
                "callers.csv",
                "-s",
                EXTENSION,
                "-key",
                "tap_port",
                str(tap_port),
            ),
            *("-i", HOST, "-mi", HOST, "-p", str(free_ports(1)[0])),
            *("-mp", str(ports[0])),
            *("-m", str(calls), "-l", str(at_once), "-r", f"{rate:.3f}"),
            *("-nostdin", "-trace_err", "-error_file", "errors"),
        ]
        devnull = asyncio.subprocess.DEVNULL
        with (folder / "stderr").open("wb") as stderr:
            process = await asyncio.create_subprocess_exec(
                *leashed(command),
                cwd=folder,
                stdin=devnull,
                stdout=devnull,
                stderr=stderr,
                env={**os.environ, "TERM": "dumb", "LC_ALL": "C"},
                start_new_session=True,
            )
        bench.pids[SIPP] = [process.pid]
        try:
            yield Sipp(process, folder)
        finally:
            del bench.pids[SIPP]
            if process.returncode is None:
                process.kill()
            await process.wait()


async def judged(folder: Path, keep: Path | None, nice: int = 0) -> list[CallFigures]:
    """Every capture that has been finished in the folder since the last time, taken out of it.

    With `keep` the captures are moved there. `nice`: while calls still run, the work shall take nothing from them.
    """
    return await asyncio.to_thread(_judged, folder, keep, nice)


def _judged(folder: Path, keep: Path | None, nice: int) -> list[CallFigures]:
    if nice and sys.platform == "linux":
        # of this thread only
        os.setpriority(os.PRIO_PROCESS, 0, nice)
    found = []
    for path in sorted(folder.glob("*.pcap"), key=lambda one: int(one.stem)):
        found.append(judge(path.read_bytes()))
        if keep is None:
            path.unlink()
        else:
            keep.mkdir(parents=True, exist_ok=True)
            shutil.move(path, keep / path.name)
    return found


def _say(line: str) -> None:
    print(line, flush=True)
