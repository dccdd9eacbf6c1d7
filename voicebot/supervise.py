"""Child processes that are started again when they die, and that are gone when the block ends.

Each child runs in a session of its own, so Ctrl-C in the terminal reaches only us and we can stop the children in
order. Whatever a child leaves running in its session is ended with it. When we are killed the children get SIGTERM.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpu_workers.ended import how_it_ended
from gpu_workers.leash import leashed
from voicebot.child_log import ChildLog
from voicebot.errors import PartError

Say = Callable[[str], None]

HOPELESS = frozenset(
    {2, 75, 78}
)  # bad configuration, app name taken, ARI refused: a new start changes nothing
_TAIL_LINES = 12
_DOUBLINGS = 32  # of a wait: enough for any limit, and a float holds it whatever the number of deaths
_LOOK_S = 0.02
_KILLED_S = 5.0  # what is killed may still be inside the kernel, giving back a card's memory


@dataclass(frozen=True)
class Backoff:
    """How long to wait before a child is started again."""

    first_s: float = 0.5
    longest_s: float = 30.0
    calm_s: float = 30.0  # a child that ran this long has recovered: the next wait is the first again
    start_attempts: int = 3  # a child that never became ready is given up after this many deaths

    def wait_s(self, deaths: int) -> float:
        """Before the next start, after `deaths` (1, 2, ...) in a row."""
        return min(self.longest_s, self.first_s * 2.0 ** min(deaths - 1, _DOUBLINGS))


@dataclass(frozen=True)
class Child:
    """A command to keep running. `env` comes on top of our own.

    All it prints goes to `log_path` (see ChildLog), or where ours goes if there is none. After SIGTERM it has `grace_s`
    for a clean end; in a hurry it gets a second one and has `quick_end_s` left.
    """

    name: str
    command: Sequence[str]
    log_path: Path | None
    env: Mapping[str, str] = field(default_factory=dict)
    nice: int = 0
    grace_s: float = 10.0
    quick_end_s: float = 0.0


class Part:
    """One child as it runs: what it is doing now, for whoever shows it."""

    def __init__(self, child: Child, say: Say, hurry: asyncio.Event, backoff: Backoff) -> None:
        self.child = child
        self.was_ready = False
        self.down = ""
        self.restarts = 0
        self._say = say
        self._hurry = hurry
        self._backoff = backoff
        self._process: asyncio.subprocess.Process | None = None
        self._log = ChildLog(child.log_path, self._log_is_lost) if child.log_path else None

    @property
    def pid(self) -> int | None:
        """Of the process that runs now; None between two."""
        return self._process.pid if self._process else None

    async def keep_running(self) -> None:
        """Start it, and start it again whenever it dies. Raises PartError when that is hopeless.

        Cancelling ends the child: SIGTERM, `grace_s` for a clean end, then SIGKILL.
        """
        loop = asyncio.get_running_loop()
        deaths = 0
        while True:
            began = loop.time()
            code, how = await self._run_once()
            deaths = 1 if loop.time() - began >= self._backoff.calm_s else deaths + 1
            if code in HOPELESS or (not self.was_ready and deaths >= self._backoff.start_attempts):
                exit_code = code if code in HOPELESS else 1
                raise PartError(f"{self.child.name} {how}.{self._last_lines()}", exit_code)
            wait_s = self._backoff.wait_s(deaths)
            self.down = f"{how}, starts again in {wait_s:g} s"
            lines = self._last_lines() if deaths in (1, 3) else ""  # each time would flood the terminal
            self._say(
                f"{self.child.name} {self.down}{f' (death {deaths} in a row)' if deaths > 1 else ''}.{lines}"
            )
            await asyncio.sleep(wait_s)
            self.down = ""
            self.restarts += 1

    async def _run_once(self) -> tuple[int, str]:
        """Its exit code and how it ended. What the system has no room to start counts as ended."""
        async with AsyncExitStack() as stack:
            try:
                output = await stack.enter_async_context(self._log.pipe()) if self._log else None
                process = await self._started(output)
            except (OSError, RuntimeError) as error:  # RuntimeError: no thread is to be had
                return 1, f"cannot be started ({error})"
            self._process = process
            try:
                if self.child.nice:
                    with contextlib.suppress(ProcessLookupError):  # it has ended already
                        # its threads are yet to come
                        os.setpriority(os.PRIO_PROCESS, process.pid, self.child.nice)
                code = await process.wait()
            finally:
                await self._end(process)
                self._process = None
        return code, how_it_ended(code)

    async def _started(self, output: int | None) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *leashed(self.child.command),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, **self.child.env},
            start_new_session=True,
        )

    def _log_is_lost(self, error: OSError) -> None:
        self._say(f"{self.child.name}: its log {self.child.log_path} has holes: {error.strerror}")

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        if process.returncode is None:
            ended, hurry = (
                asyncio.ensure_future(process.wait()),
                asyncio.ensure_future(self._hurry.wait()),
            )
            _signal(process)
            await asyncio.wait(
                {ended, hurry}, timeout=self.child.grace_s, return_when=asyncio.FIRST_COMPLETED
            )
            if self._hurry.is_set() and not ended.done() and self.child.quick_end_s:
                _signal(process)
                await asyncio.wait({ended}, timeout=self.child.quick_end_s)
            _cancel((ended, hurry))
        await _kill_session(process.pid)
        await process.wait()

    def _last_lines(self) -> str:
        """The end of what it printed since its last start, indented, with the name of the file."""
        if self._log is None:  # whoever reads this has seen it
            return ""
        lines = [line for line in self._log.tail().splitlines() if line.strip()][-_TAIL_LINES:]
        if not lines:
            return f" It printed nothing to {self._log.path}."
        where = "what it printed" if self._log.lost else self._log.path
        return "".join([f" The end of {where}:", *(f"\n    {line}" for line in lines)])


@asynccontextmanager
async def supervised(
    children: Sequence[Child], say: Say, hurry: asyncio.Event, backoff: Backoff | None = None
) -> AsyncIterator[tuple[Part, ...]]:
    """Keep `children` running for as long as the block runs; at its end all of them are stopped side by side.

    `hurry`, once set, cuts the wait for a clean end short. A child that is hopeless cancels the block and comes out
    as PartError inside an exception group.
    """
    parts = tuple(Part(child, say, hurry, backoff or Backoff()) for child in children)
    async with AsyncExitStack() as stack:
        group = await stack.enter_async_context(asyncio.TaskGroup())
        tasks = [group.create_task(part.keep_running(), name=part.child.name) for part in parts]
        stack.callback(_cancel, tasks)
        yield parts


def _signal(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()


async def _kill_session(leader: int) -> None:
    """Whatever runs in it, in process groups of their own too, as a model worker's engine: it holds card and port."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_KILLED_S):
            while True:
                with contextlib.suppress(OSError):  # without a file descriptor nobody is seen: once more
                    if not (left := _members(leader)):
                        return
                    for pid in left:
                        with contextlib.suppress(ProcessLookupError, PermissionError):
                            os.kill(pid, signal.SIGKILL)
                await asyncio.sleep(_LOOK_S)


def _members(session: int) -> list[int]:
    """The processes of a session but its leader, proc(5); those that only wait to be collected have ended. Raises
    OSError.
    """
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        # it has ended meanwhile, or is nothing of ours
        with contextlib.suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            state, _, _, its_session = stat.read_text("utf-8", "replace").rpartition(")")[2].split()[:4]
            pid = int(stat.parent.name)
            if int(its_session) == session and pid != session and state != "Z":
                found.append(pid)
    return found


def _cancel(tasks: Iterable[asyncio.Future[Any]]) -> None:
    for task in tasks:
        task.cancel()
