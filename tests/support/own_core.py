"""An event loop whose clock is what its thread spent on a core, and jumps when there is nothing to do.

So everything happens when it would on a core of its own, however busy the machine is: what others take from it does
not count. Times measured by this clock may be asserted; a slower core makes them longer, a shared one does not.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.virtual_time import VirtualTimeLoop


class OwnCoreLoop(VirtualTimeLoop):
    """`loop.time()` begins near 0.0."""

    def __init__(self) -> None:
        self._begun_s = time.thread_time()
        super().__init__()

    def time(self) -> float:
        return super().time() + time.thread_time() - self._begun_s

    @contextmanager
    def not_counted(self) -> Iterator[None]:
        """What is done within takes no time: it is another machine's work."""
        before_s = time.thread_time()
        try:
            yield
        finally:
            self._begun_s += time.thread_time() - before_s
