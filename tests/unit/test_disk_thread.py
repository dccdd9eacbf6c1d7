"""What a disk that hangs keeps waiting (fault A14): nobody for long, least of all the end of the process."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from stasis_app.disk_thread import DiskThread, ended, on_disk

ROOT = Path(__file__).parents[2]
PATIENCE_S = 20.0

A_TRANSCRIPT = """
import asyncio, sys
from pathlib import Path
from stasis_app import disk_thread
from stasis_app.conversation import Saying
from stasis_app.metrics import TurnTimes
from stasis_app.transcript import Transcript
from stasis_app.turn import Turn
from voicebot.interrupts import run_until_told

disk_thread.ended.__defaults__ = (0.2,)

async def main(stop):
    with Transcript(Path(sys.argv[1])) as transcript:
        for number in range(100):
            transcript.write("c1", Turn(number, Saying.GREETING, times=TurnTimes()), "x" * 10_000, cut=False)
        print("up", flush=True)
        await stop.wait()
    print("closed")

sys.exit(run_until_told(main))
"""
BUFFERED_FILES = """
import asyncio, sys
from stasis_app.disk_thread import DiskThread, ended
from voicebot.interrupts import run_until_told

def write():
    file.write("x" * 1_000_000)
    file.flush()

async def main(stop):
    writer = DiskThread("writer")
    asyncio.get_running_loop().run_in_executor(writer, write)
    another = open(sys.argv[1], "w")
    another.write("what is written when it is closed, or forgotten")
    asyncio.get_running_loop().run_in_executor(writer, another.close)
    del another
    print("up", flush=True)
    await stop.wait()
    assert not ended(writer, 0.2)
    print("closed")

file = open(sys.argv[1], "w")
sys.exit(run_until_told(main))
"""
TO_THREAD = """
import asyncio, sys
from pathlib import Path
from stasis_app.disk_thread import on_disk
from voicebot.interrupts import run_until_told

async def main(stop):
    reading = asyncio.ensure_future(on_disk(Path(sys.argv[1] + ".other").read_bytes))
    await asyncio.sleep(0.1)
    print("up", flush=True)
    await stop.wait()
    reading.cancel()
    print("closed")

sys.exit(run_until_told(main))
"""


@pytest.mark.parametrize("code", [A_TRANSCRIPT, BUFFERED_FILES, TO_THREAD])
def test_a_process_ends_though_its_disk_hangs(code: str, tmp_path: Path) -> None:
    """A pipe that nobody empties takes 64 KiB and then nothing, one without a writer gives nothing."""
    fifo = tmp_path / "disk"
    os.mkfifo(fifo)
    os.mkfifo(f"{fifo}.other")
    nobody_reads = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with subprocess.Popen(
            [sys.executable, "-c", code, str(fifo)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
        ) as process:  # fmt: skip
            try:
                assert process.stdout is not None
                assert process.stdout.readline() == "up\n"
                process.send_signal(signal.SIGTERM)
                said, complained = process.communicate(timeout=PATIENCE_S)
            finally:
                process.kill()
    finally:
        os.close(nobody_reads)
    assert (process.returncode, said) == (0, "closed\n"), complained
    assert "Traceback" not in complained


def at_work() -> bool:
    return any(thread.name in ("writer", "disk") for thread in threading.enumerate())


async def until_none_is_left() -> None:
    async with asyncio.timeout(PATIENCE_S):
        while at_work():  # noqa: ASYNC110 - a thread ends a moment after its last work
            await asyncio.sleep(0.01)


async def test_what_it_is_given_is_done_in_that_order() -> None:
    thread, done = DiskThread("writer"), list[int]()
    loop = asyncio.get_running_loop()
    waiting = [loop.run_in_executor(thread, done.append, number) for number in range(100)]
    await asyncio.gather(*waiting)
    assert done == list(range(100))
    assert ended(thread)
    await until_none_is_left()
    with pytest.raises(RuntimeError, match="writer takes no more"):
        thread.submit(print)


async def test_what_fails_is_told_and_the_next_is_done() -> None:
    thread = DiskThread("writer")
    loop = asyncio.get_running_loop()
    with pytest.raises(ZeroDivisionError):
        await loop.run_in_executor(thread, divmod, 1, 0)
    assert await loop.run_in_executor(thread, divmod, 7, 2) == (3, 1)
    thread.shutdown()


async def test_what_waits_behind_a_disk_that_hangs_is_cancelled() -> None:
    works = threading.Event()
    thread = DiskThread("writer")
    loop = asyncio.get_running_loop()
    first = loop.run_in_executor(thread, works.wait)
    second = loop.run_in_executor(thread, print)
    try:
        assert not ended(thread, 0.05)
        assert at_work()
        with pytest.raises(asyncio.CancelledError):
            await second
    finally:
        works.set()
    assert await first
    thread.shutdown()
    await until_none_is_left()


async def test_one_thing_on_a_disk(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"words")
    assert await on_disk((tmp_path / "there").read_bytes) == b"words"
    with pytest.raises(FileNotFoundError):
        await on_disk((tmp_path / "not there").read_bytes)
    await until_none_is_left()
