"""Ctrl-C and SIGTERM: the first asks for a clean end, the second for a quick one."""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager

INTERRUPTED = 130  # 128 + SIGINT, as shells have it


def run_until_interrupted(
    main: Callable[[asyncio.Event], Coroutine[object, object, int]], on_first: Callable[[], None]
) -> int:
    """Run `main(hurry)` to its exit status, or until a signal: then it is cancelled, and `on_first` is called, which
    may fail.

    A second signal sets `hurry`, which `main` has for the waits of its clean-up. The status after Ctrl-C is 130, after
    SIGTERM (a service being stopped) and SIGHUP 0. A SIGHUP that is ignored, as below nohup(1), stays ignored.
    """

    async def interruptible() -> int:
        hurry = asyncio.Event()
        work = asyncio.ensure_future(main(hurry))

        def first() -> None:
            work.cancel()
            on_first()

        with _signals(first, hurry.set) as received:
            try:
                return await work
            except asyncio.CancelledError:
                if not received:
                    raise
                return _status(received)

    return asyncio.run(interruptible())


def run_until_told(main: Callable[[asyncio.Event], Coroutine[object, object, None]]) -> int:
    """Run `main(stop)`: the first signal sets `stop` and main ends by itself, a second one cancels it.

    The status is 0, after Ctrl-C 130.
    """

    async def told() -> int:
        stop = asyncio.Event()
        work = asyncio.ensure_future(main(stop))
        with _signals(stop.set, work.cancel) as received:
            try:
                await work
            except asyncio.CancelledError:
                if not received:
                    raise
            return _status(received)

    return asyncio.run(told())


@contextmanager
def _signals(first: Callable[[], object], second: Callable[[], object]) -> Iterator[list[signal.Signals]]:
    """Call `first` at the first signal and `second` at each later one; the list fills with what came."""
    loop = asyncio.get_running_loop()
    received: list[signal.Signals] = []

    def on_signal(number: signal.Signals) -> None:
        received.append(number)
        (first if len(received) == 1 else second)()

    numbers = _heeded()
    for number in numbers:
        loop.add_signal_handler(number, on_signal, number)
    try:
        yield received
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


def _heeded() -> tuple[signal.Signals, ...]:
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        return signal.SIGINT, signal.SIGTERM
    return signal.SIGINT, signal.SIGTERM, signal.SIGHUP


def _status(received: list[signal.Signals]) -> int:
    return INTERRUPTED if received and received[0] is signal.SIGINT else 0
