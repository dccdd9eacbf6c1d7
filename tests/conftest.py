"""What holds for every test: it may leave no task, no socket and no file open behind it.

`@pytest.mark.may_leave(reason)` exempts a test, for what its module loads once and keeps. A session's fixture that it
asks for needs no such mark: it is there before the test is watched.

What fails in `make test` gets a second go, for it may have met a machine that others use: `SECOND_GO` is set in it.
Whatever passes only then is named at the end. A test of exact counts or of leaks is marked `counts` and gets none: what
is lost once in a while is a fault.
"""

import asyncio
import gc
import inspect
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import settings

from tests.support.virtual_time import run_virtual

# the same examples on every machine, however slow; `pytest tests/property --hypothesis-profile search` looks for others
settings.register_profile("suite", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None, max_examples=2000)
settings.load_profile("suite")

GRACE_S = 1.0
SECOND_GO = "VOICEBOT_SECOND_GO" in os.environ
_OWN_FDS = Path("/proc/self/fd")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "may_leave(reason): the test may leave files, sockets or tasks open")
    config.addinivalue_line(
        "markers", "counts: what fails it once is a fault, also if it passes the next time"
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    if SECOND_GO and item.get_closest_marker("counts"):
        pytest.fail("it failed the first time, and counts: no second go", pytrace=False)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    passed = terminalreporter.getreports("passed")
    if SECOND_GO and passed:
        terminalreporter.section("passed only the second time", yellow=True)
        for report in passed:
            terminalreporter.line(report.nodeid)


@pytest.fixture
def virtual_time() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """`virtual_time(main())` runs a coroutine in virtual time and gives its result."""
    return run_virtual


@pytest.fixture(autouse=True)
def nothing_left_open(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test that ends with more file descriptors open than it began with."""
    if _is_exempt(request):
        yield
        return
    before = _open_fds()
    yield
    left = _new_fds(before)
    give_up_at = time.monotonic() + GRACE_S
    while left and time.monotonic() < give_up_at:
        gc.collect()
        time.sleep(0.02)
        left = _new_fds(before)
    assert not left, f"left open: {', '.join(f'{fd} -> {target}' for fd, target in sorted(left.items()))}"


@pytest.fixture(autouse=True)
def no_task_left_running(request: pytest.FixtureRequest, nothing_left_open: None) -> None:
    """Fails a coroutine test that ends with tasks still running."""
    if not inspect.iscoroutinefunction(getattr(request, "function", None)) or _is_exempt(request):
        return
    marker = request.node.get_closest_marker("asyncio")
    on_session_loop = marker is not None and marker.kwargs.get("loop_scope") == "session"
    request.getfixturevalue("watched_session_loop" if on_session_loop else "watched_loop")


@pytest.fixture
async def watched_loop() -> AsyncIterator[None]:
    async with _watched():
        yield


@pytest_asyncio.fixture(loop_scope="session")
async def watched_session_loop() -> AsyncIterator[None]:
    async with _watched():
        yield


@asynccontextmanager
async def _watched() -> AsyncIterator[None]:
    before = asyncio.all_tasks()
    yield
    give_up_at = time.monotonic() + GRACE_S
    left = _new_tasks(before)
    while left and time.monotonic() < give_up_at:
        await asyncio.sleep(0.01)
        left = _new_tasks(before)
    assert not left, f"left running: {left}"


def _is_exempt(request: pytest.FixtureRequest) -> bool:
    return request.node.get_closest_marker("may_leave") is not None


def _new_tasks(before: set[asyncio.Task[Any]]) -> set[asyncio.Task[Any]]:
    return asyncio.all_tasks() - before - {asyncio.current_task()}


def _open_fds() -> dict[int, str]:
    targets: dict[int, str] = {}
    for entry in _OWN_FDS.iterdir():
        try:
            targets[int(entry.name)] = str(entry.readlink())
        except FileNotFoundError:
            # the descriptor of this very listing
            continue
    return targets


def _new_fds(before: dict[int, str]) -> dict[int, str]:
    return {fd: target for fd, target in _open_fds().items() if before.get(fd) != target}
