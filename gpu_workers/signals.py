"""The signals that ask a worker to end, and how long it takes at most."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

DRAIN_S: Final = 15  # for the answers that are being written
BEYOND_DRAIN_S: Final = 10  # for the engine's own end; then it is killed


@contextmanager
def on_signal(handle: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Calls `handle` for Ctrl-C, SIGTERM and the terminal's end, unless that is ignored as under nohup."""
    asked = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        asked.append(signal.SIGHUP)
    before = {number: signal.signal(number, handle) for number in asked}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
