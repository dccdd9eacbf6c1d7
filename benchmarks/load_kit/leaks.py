"""What the system holds with nobody on the line, before the calls and after them."""

import asyncio
from dataclasses import dataclass
from typing import Self

from benchmarks.load_kit.parts import Held
from benchmarks.load_kit.system import Bench

# connections that are kept alive for the next request are closed after a while
PATIENCE_S = 40.0
SETTLE_S = 4.0
_POLL_S = 0.5


@dataclass(frozen=True, slots=True)
class Baseline:
    """Of Asterisk and the call process after a first call: their files, and their UDP sockets together."""

    files: dict[str, int]
    udp: int

    @classmethod
    async def of(cls, bench: Bench) -> Self:
        await asyncio.sleep(SETTLE_S)  # used ports have rested
        held = _held(bench)
        return cls({name: one.files for name, one in held.items()}, bench.udp_sockets())


async def left_behind(bench: Bench, baseline: Baseline) -> dict[str, int]:
    """Channels, bridges, calls, ports and files more than at first, once they have had the time to go."""
    loop = asyncio.get_running_loop()
    give_up_s = loop.time() + PATIENCE_S
    while True:
        left = await _left(bench, baseline)
        if not any(left.values()) or loop.time() >= give_up_s:
            return left
        await asyncio.sleep(_POLL_S)


async def _left(bench: Bench, baseline: Baseline) -> dict[str, int]:
    channels, bridges = await bench.channels_and_bridges()
    files = sum(max(0, one.files - baseline.files[name]) for name, one in _held(bench).items())
    return {
        "channels": channels,
        "bridges": bridges,
        "calls": await bench.calls(),
        "ports": max(0, bench.udp_sockets() - baseline.udp),
        "files": files,
    }


def _held(bench: Bench) -> dict[str, Held]:
    parts = bench.now().parts
    return {name: parts[name] for name in bench.system()}
