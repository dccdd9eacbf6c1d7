"""An event loop whose clock jumps to the next timer when nothing else is left to do.

A conversation of thirty seconds runs in milliseconds, and every run of it is the same. Real sockets work as
long as nobody waits for another process or thread: what is in the kernel's buffer is read at the (virtual)
moment the loop looks.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Executor
from typing import Any, TypeVar, TypeVarTuple, Unpack

import pytest

T = TypeVar("T")
Args = TypeVarTuple("Args")

# of a socket: with it a packet has arrived when it is read
_NO_OPTION = -1

DEADLOCK_S = 2.0
"""Real seconds without a timer and without anything to read, after which a test is stuck and fails."""


class DeadlockError(RuntimeError):
    """Nothing can happen any more: no timer runs and nothing arrives."""


class _JumpingSelector(selectors.BaseSelector):
    """Asks the real selector what is ready; would it have to wait, the clock jumps instead."""

    def __init__(self) -> None:
        self._real = selectors.DefaultSelector()
        self.now = 0.0
        self.threads_at_work = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._real.select(0)
        if ready or timeout == 0:
            return ready
        if timeout is not None and not self.threads_at_work:
            self.now += max(timeout, 0.0)
            return ready
        ready = self._real.select(None if self.threads_at_work else DEADLOCK_S)
        if not ready:
            raise DeadlockError("Every task waits for something that no timer and no socket will bring")
        return ready

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """`loop.time()` begins at 0.0 and moves only by jumps."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 - asyncio's own
        """Without the time limit of Python 3.12 and newer, which virtual time would be over at once."""
        await super().shutdown_default_executor()

    def freeze(self, seconds: float) -> None:
        """Let time pass in which nothing of this process ran, as if it had been stopped and continued."""
        self._jumping.now += seconds

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Args]], T], *args: *Args
    ) -> asyncio.Future[T]:
        """The clock stands while a thread works."""
        self._jumping.threads_at_work += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._thread_done)
        return future

    def _thread_done(self, _future: asyncio.Future[Any]) -> None:
        self._jumping.threads_at_work -= 1


def run_virtual(
    main: Coroutine[Any, Any, T], loop_factory: Callable[[], VirtualTimeLoop] = VirtualTimeLoop
) -> T:
    """Run `main` to its end in virtual time and give its result.

    Fails if it leaves a task behind: nobody else would notice in virtual time.
    """
    with pytest.MonkeyPatch.context() as patch, asyncio.Runner(loop_factory=loop_factory) as runner:
        # the kernel's stamps are of real time: a machine that stands still for a moment would be jitter here
        patch.setattr("media_bridge.udp._SO_TIMESTAMPNS", _NO_OPTION)
        return runner.run(_and_leave_nothing(main))


async def _and_leave_nothing(main: Coroutine[Any, Any, T]) -> T:
    result = await main
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left, f"tasks left running: {left}"
    return result
