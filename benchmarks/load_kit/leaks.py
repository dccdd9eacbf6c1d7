"""What the system holds with nobody on the line, before the calls and after them."""

import asyncio
from collections.abc import Mapping

from benchmarks.load_kit.parts import Open
from benchmarks.load_kit.system import Bench

# connections that are kept alive for the next request are closed after a while
PATIENCE_S = 30.0
# used ports have rested
SETTLE_S = 3.0
# So many connections more than at first are no leak: to each of three workers a few are kept in use by turns.
_KEPT_ALIVE = 8
_POLL_S = 0.5


async def baseline_of(bench: Bench) -> dict[str, Open]:
    """Of Asterisk and the call process, after a first call."""
    await asyncio.sleep(SETTLE_S)
    return bench.held_open()


async def left_behind(bench: Bench, baseline: Mapping[str, Open]) -> dict[str, int]:
    """Channels, bridges, calls, ports and files more than at first, once they have had the time to go."""
    loop = asyncio.get_running_loop()
    give_up_s = loop.time() + PATIENCE_S
    while True:
        channels, bridges = await bench.channels_and_bridges()
        calls = {"channels": channels, "bridges": bridges, "calls": await bench.calls()}
        left = calls | more_than(baseline, bench.held_open())
        if not any(left.values()) or loop.time() >= give_up_s:
            return left
        await asyncio.sleep(_POLL_S)


def more_than(before: Mapping[str, Open], now: Mapping[str, Open]) -> dict[str, int]:
    """What the parts have open beyond what they had."""
    return {
        "ports": sum(max(0, now[name].udp - was.udp) for name, was in before.items()),
        "connections": sum(max(0, now[name].tcp - was.tcp - _KEPT_ALIVE) for name, was in before.items()),
        "files": sum(max(0, now[name].files - was.files) for name, was in before.items()),
    }
