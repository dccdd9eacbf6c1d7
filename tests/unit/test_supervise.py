"""Child processes: started again when they die, all gone at the end. Real, small processes."""

import asyncio
import errno
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpu_workers.ended import how_it_ended
from voicebot import supervise
from voicebot.errors import PartError
from voicebot.supervise import Backoff, Child, Part, supervised
from voicebot.terminal import say

QUICK = Backoff(first_s=0.01, longest_s=0.02, start_attempts=3)
PATIENCE_S = 20.0


def python(name: str, code: str, folder: Path, **more: object) -> Child:
    return Child(name, (sys.executable, "-c", code), folder / f"{name}.log", **more)  # type: ignore[arg-type]


def log_of(child: Child) -> str:
    assert child.log_path is not None
    return child.log_path.read_text() if child.log_path.exists() else ""


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - what is waited for is outside this process
            await asyncio.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


async def pid_of(part: Part) -> int:
    await until(lambda: part.pid is not None)
    assert part.pid is not None
    return part.pid


async def failure_of(child: Child, backoff: Backoff = QUICK) -> PartError:
    with pytest.raises(ExceptionGroup) as caught:
        async with asyncio.timeout(PATIENCE_S), supervised([child], print, asyncio.Event(), backoff):
            await asyncio.Event().wait()
    (error,) = caught.value.exceptions
    assert isinstance(error, PartError)
    return error


SLEEP = "import time; print('up', flush=True); time.sleep(600)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEP}"


TWICE = f"""
import signal, sys
told = []
def end(*_):
    told.append(1)
    if len(told) == 2:
        print('handed back', flush=True)
        sys.exit(0)
signal.signal(signal.SIGTERM, end)
{SLEEP.replace("time.sleep(600)", "[time.sleep(0.05) for _ in range(12000)]")}
"""


class TestRestart:
    async def test_a_child_that_is_killed_is_started_again(self, tmp_path: Path) -> None:
        said: list[str] = []
        async with supervised([python("stt", SLEEP, tmp_path)], said.append, asyncio.Event(), QUICK) as (
            part,
        ):
            part.was_ready = True
            first = await pid_of(part)
            os.kill(first, signal.SIGKILL)
            await until(lambda: part.pid not in (None, first))
        assert "stt was killed by SIGKILL, starts again in 0.01 s." in said[0]
        assert not is_alive(first)

    async def test_one_that_was_ready_is_started_again_for_ever(self, tmp_path: Path) -> None:
        counter = f"open({str(tmp_path / 'starts')!r}, 'a').write('x')"
        said: list[str] = []
        async with supervised([python("llm", counter, tmp_path)], said.append, asyncio.Event(), QUICK) as (
            part,
        ):
            part.was_ready = True
            await until(
                lambda: (tmp_path / "starts").exists() and len((tmp_path / "starts").read_text()) >= 6
            )
        assert "(death 3 in a row)" in said[2]

    async def test_one_that_never_came_up_ends_it_with_its_last_lines(self, tmp_path: Path) -> None:
        error = await failure_of(
            python("tts", "print('loading'); raise SystemExit('no such voice')", tmp_path)
        )
        assert str(error).startswith(f"tts ended with exit code 1. The end of {tmp_path / 'tts.log'}:")
        assert str(error).endswith("\n    loading\n    no such voice")
        assert error.exit_code == 1
        assert (tmp_path / "tts.log").read_text().count("loading") == QUICK.start_attempts

    @pytest.mark.parametrize("code", [2, 75, 78])
    async def test_what_a_new_start_cannot_mend_ends_it_at_once(self, tmp_path: Path, code: int) -> None:
        error = await failure_of(python("call", f"print('refused'); raise SystemExit({code})", tmp_path))
        assert error.exit_code == code
        assert (tmp_path / "call.log").read_text() == "refused\n"

    async def test_a_child_that_printed_nothing(self, tmp_path: Path) -> None:
        error = await failure_of(python("llm", "raise SystemExit(2)", tmp_path))
        assert "printed nothing" in str(error)

    def test_waits_grow_up_to_a_limit(self) -> None:
        backoff = Backoff(first_s=0.5, longest_s=30.0)
        waits = [backoff.wait_s(deaths) for deaths in (1, 2, 3, 6, 7, 100, 1025, 10**6)]
        assert waits == [0.5, 1.0, 2.0, 16.0, 30.0, 30.0, 30.0, 30.0]


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (0, "ended with exit code 0"),
        (3, "ended with exit code 3"),
        (-9, "was killed by SIGKILL"),
        (-35, "was killed by signal 35"),
    ],
)
def test_how_it_ended(status: int, told: str) -> None:
    assert how_it_ended(status) == told


class TestNoRoom:
    """What the system has no room for now is tried again: the other parts, and their calls, go on."""

    async def test_a_child_that_cannot_be_started_counts_as_ended(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        refused = iter([OSError(errno.EAGAIN, "no process"), RuntimeError("can't start new thread")])
        start = asyncio.create_subprocess_exec

        async def sometimes(*command: str, **more: Any) -> asyncio.subprocess.Process:
            if error := next(refused, None):
                raise error
            return await start(*command, **more)

        said: list[str] = []
        monkeypatch.setattr(asyncio, "create_subprocess_exec", sometimes)
        async with supervised([python("stt", SLEEP, tmp_path)], said.append, asyncio.Event(), QUICK) as (
            part,
        ):
            part.was_ready = True
            await pid_of(part)
        assert said[0].startswith("stt cannot be started ([Errno 11] no process), starts again in 0.01 s.")
        assert said[1].startswith("stt cannot be started (can't start new thread), starts again")
        assert len(said) == 2

    async def test_without_file_descriptors_too(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(supervise, "_KILLED_S", 0.1)
        said: list[str] = []
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        async with supervised([python("stt", SLEEP, tmp_path)], said.append, asyncio.Event(), QUICK) as (
            part,
        ):
            part.was_ready = True
            first = await pid_of(part)
            resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
            try:
                os.kill(first, signal.SIGKILL)
                await until(lambda: any("cannot be started" in line for line in said))
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            assert await pid_of(part) != first
        assert "([Errno 24] Too many open files)" in said[1]

    async def test_one_that_never_can_be_is_given_up(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def never(*_: str, **__: Any) -> asyncio.subprocess.Process:
            raise OSError(errno.ENOMEM, "no memory")

        monkeypatch.setattr(asyncio, "create_subprocess_exec", never)
        error = await failure_of(python("stt", SLEEP, tmp_path))
        assert str(error).startswith("stt cannot be started ([Errno 12] no memory).")

    async def test_a_log_that_cannot_be_opened_is_told_once(self, tmp_path: Path) -> None:
        (tmp_path / "log").write_text("a file where the folder is to be")
        starts = tmp_path / "starts"
        code = f"open({str(starts)!r}, 'a').write('x'); print('a word')"
        said: list[str] = []
        child = python("stt", code, tmp_path / "log")
        async with supervised([child], said.append, asyncio.Event(), QUICK) as (part,):
            part.was_ready = True
            await until(lambda: starts.exists() and starts.stat().st_size >= 3)
        lost = [line for line in said if "has holes" in line]
        # a file where a folder is: the first says so of the folder, a retry of the file in it
        assert lost in (
            [f"stt: its log {child.log_path} has holes: {os.strerror(number)}"]
            for number in (errno.EEXIST, errno.ENOTDIR)
        )
        assert any(line.endswith("The end of what it printed:\n    a word") for line in said)


async def test_who_watches_may_leave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its words have nowhere to go; what it keeps running runs on."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    starts = tmp_path / "starts"
    with os.fdopen(write_end, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        child = python("stt", f"open({str(starts)!r}, 'a').write('x')", tmp_path)
        async with supervised([child], say, asyncio.Event(), QUICK) as (part,):
            part.was_ready = True
            await until(lambda: starts.exists() and starts.stat().st_size >= 3)


class TestEnd:
    async def test_nothing_is_left(self, tmp_path: Path) -> None:
        grandchild = (
            "import subprocess, sys, time\n"
            "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
            f"open({str(tmp_path / 'pid')!r}, 'w').write(f'{{child.pid}} ')\n"
            "time.sleep(600)"
        )
        children = [python("a", SLEEP, tmp_path), python("b", grandchild, tmp_path)]
        async with supervised(children, print, asyncio.Event(), QUICK) as parts:
            pids = [await pid_of(part) for part in parts]
            await until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().endswith(" "))
            pids.append(int((tmp_path / "pid").read_text()))
            assert all(map(is_alive, pids))
        await until(lambda: not any(map(is_alive, pids)))

    @pytest.mark.parametrize("killed", [False, True])
    async def test_nothing_of_its_session_is_left_in_other_process_groups(
        self, killed: bool, tmp_path: Path
    ) -> None:
        """As vLLM below its worker, which gives it a group of its own: it would hold the card and the port."""
        code = (
            "import subprocess, sys, time\n"
            f"child = subprocess.Popen([sys.executable, '-c', {STUBBORN!r}], process_group=0)\n"
            f"open({str(tmp_path / 'pid')!r}, 'w').write(f'{{child.pid}} ')\n"
            "time.sleep(600)"
        )
        child = python("llm", code, tmp_path)
        async with supervised([child], print, asyncio.Event(), Backoff(first_s=600.0, longest_s=600.0)) as (
            part,
        ):
            await until(lambda: "up" in log_of(child))
            grandchild = int((tmp_path / "pid").read_text())
            part.was_ready = True
            if killed:
                os.kill(await pid_of(part), signal.SIGKILL)
                await until(lambda: bool(part.down))
                assert not is_alive(grandchild)
        assert not is_alive(grandchild)

    async def test_a_clean_end_is_waited_for(self, tmp_path: Path) -> None:
        polite = (
            "import signal, sys, time\n"
            "signal.signal(signal.SIGTERM, lambda *_: (time.sleep(0.2), print('goodbye', flush=True), sys.exit(0)))\n"
            "print('up', flush=True); time.sleep(600)"
        )
        child = python("call", polite, tmp_path)
        async with supervised([child], print, asyncio.Event(), QUICK):
            await until(lambda: "up" in log_of(child))
        assert log_of(child).endswith("goodbye\n")

    async def test_one_that_ignores_sigterm_is_killed_after_its_grace(self, tmp_path: Path) -> None:
        child = python("llm", STUBBORN, tmp_path, grace_s=0.1)
        async with supervised([child], print, asyncio.Event(), QUICK) as (part,):
            pid = await pid_of(part)
            await until(lambda: "up" in log_of(child))
        assert not is_alive(pid)

    async def test_hurry_does_not_wait_for_it(self, tmp_path: Path) -> None:
        child = python("llm", STUBBORN, tmp_path, grace_s=600.0)
        hurry = asyncio.Event()
        async with asyncio.timeout(PATIENCE_S), supervised([child], print, hurry, QUICK):
            await until(lambda: "up" in log_of(child))
            hurry.set()

    async def test_the_block_that_fails_ends_them_too(self, tmp_path: Path) -> None:
        pids: list[int] = []
        with pytest.raises(ExceptionGroup):
            async with supervised([python("a", SLEEP, tmp_path)], print, asyncio.Event(), QUICK) as (part,):
                pids.append(await pid_of(part))
                raise OSError
        assert not any(map(is_alive, pids))

    async def test_a_supervisor_that_is_killed_takes_them_along(self, tmp_path: Path) -> None:
        code = (
            "import asyncio, pathlib\n"
            "from voicebot.supervise import Child, supervised\n"
            "async def main():\n"
            f"    child = Child('a', {(sys.executable, '-c', SLEEP)!r}, pathlib.Path({str(tmp_path / 'a.log')!r}))\n"
            "    async with supervised([child], print, asyncio.Event()) as (part,):\n"
            "        while not part.pid or 'up' not in child.log_path.read_text():\n"
            "            await asyncio.sleep(0.01)\n"
            "        print(part.pid, flush=True)\n"
            "        await asyncio.Event().wait()\n"
            "asyncio.run(main())\n"
        )
        supervisor = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE
        )
        assert supervisor.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            pid = int(await supervisor.stdout.readline())
        assert is_alive(pid)
        supervisor.kill()
        await supervisor.communicate()
        await until(lambda: not is_alive(pid))


async def test_environment_and_priority_are_its_own(tmp_path: Path) -> None:
    code = "import os, time; time.sleep(0.3); print(os.environ['OMP_NUM_THREADS'], os.nice(0)); raise SystemExit(2)"
    error = await failure_of(python("stt", code, tmp_path, env={"OMP_NUM_THREADS": "3"}, nice=5))
    assert str(error).endswith("\n    3 5")


class TestHurry:
    async def test_a_second_sigterm_leaves_time_for_a_quick_end(self, tmp_path: Path) -> None:
        child = python("calls", TWICE, tmp_path, grace_s=600.0, quick_end_s=PATIENCE_S)
        hurry = asyncio.Event()
        async with asyncio.timeout(PATIENCE_S), supervised([child], print, hurry, QUICK):
            await until(lambda: "up" in log_of(child))
            asyncio.get_running_loop().call_later(0.2, hurry.set)
        assert log_of(child).endswith("handed back\n")

    async def test_one_without_a_log_writes_where_we_do(
        self, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        child = Child("calls", (sys.executable, "-c", "print('ours'); raise SystemExit(75)"), None)
        error = await failure_of(child)
        assert error.exit_code == 75
        assert str(error) == "calls ended with exit code 75."
        assert capfd.readouterr().out == "ours\n"


async def test_a_log_is_its_owners_alone(tmp_path: Path) -> None:
    """At level debug it holds what callers said (S4)."""
    child = python("loud", SLEEP, tmp_path / "log")
    async with supervised([child], print, asyncio.Event(), QUICK):
        await until(lambda: "up" in log_of(child))
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "log" / "loud.log").stat().st_mode & 0o777 == 0o600
