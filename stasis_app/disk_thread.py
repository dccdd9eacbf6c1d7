"""A thread that writes to a disk, which may hang: nobody waits for it for ever, the end of the process included.

Those of ThreadPoolExecutor, and with it of `asyncio.to_thread`, are waited for without a limit when Python ends.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, wait
from functools import partial
from queue import Empty, SimpleQueue
from typing import ParamSpec, TypeVar, TypeVarTuple, Unpack

P = ParamSpec("P")
T = TypeVar("T")
Args = TypeVarTuple("Args")

LAST_WRITES_S = 5.0


class DiskThread(Executor):
    """One thread, for `run_in_executor`: what it is given it does in that order."""

    def __init__(self, name: str) -> None:
        self._work: SimpleQueue[tuple[Future[object], Callable[[], object]] | None] = SimpleQueue()
        self._over = False
        self._thread = _Thread(self._work, name)
        self._thread.start()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        if self._over:
            raise RuntimeError(f"{self._thread.name} takes no more")
        future: Future[T] = Future()
        self._work.put((future, partial(fn, *args, **kwargs)))  # type: ignore[arg-type]
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._over = True
        if cancel_futures:
            with contextlib.suppress(Empty):
                while item := self._work.get_nowait():
                    item[0].cancel()
                    self._thread.never_done.append(item)
        self._work.put(None)
        if wait:
            self._thread.join()


class _Thread(threading.Thread):
    def __init__(
        self, work: "SimpleQueue[tuple[Future[object], Callable[[], object]] | None]", name: str
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._work = work
        # a file that is forgotten is written out and closed, by whoever forgets it: not by the event loop
        self.never_done: list[object] = []

    def run(self) -> None:
        while item := self._work.get():
            future, work = item
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except BaseException as error:  # noqa: BLE001 - whoever asked for it gets it
                    future.set_exception(error)


def ended(writer: DiskThread, within_s: float = LAST_WRITES_S) -> bool:
    """Let it write what waits, whether that was done in time; for a disk that hangs nobody waits longer."""
    last = writer.submit(lambda: None)
    wait({last}, within_s)
    whole = last.done()
    writer.shutdown(wait=whole, cancel_futures=True)
    return whole


async def on_disk(work: Callable[[Unpack[Args]], T], *arguments: *Args) -> T:
    """What `work` gives, done in a thread of its own. For what is rare."""
    thread = DiskThread("disk")
    try:
        return await asyncio.get_running_loop().run_in_executor(thread, work, *arguments)
    finally:
        thread.shutdown(wait=False)
