"""The system under load: everything `voicebot up` starts, with fake workers or real ones, on ports of its own."""

import asyncio
import json
import os
import random
import secrets
import signal
import socket
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from benchmarks.load_kit.parts import Moment, Open, held_open, moment, named
from gpu_workers.leash import leashed
from tests.support.rig import free_ports
from voicebot.config import Config, parse
from voicebot.config.lakeside import LAKESIDE_BIKES
from voicebot.up import running

HOST = "127.0.0.1"
ROOT = Path(__file__).parents[2]
ASTERISK, CALL_PROCESS, SIPP, WIRE = "Asterisk", "call process", "SIPp", "wire"
_PORTS_A_KIND = 2000
_KINDS = 4
_START_S = 30.0
_END_S = 10.0
_GREETING = "Load test, good day."


@dataclass(frozen=True, slots=True)
class Ports:
    """UDP ports below those the kernel gives away; each range is for one kind of socket."""

    asterisk: range
    bot: range
    tap: range
    sipp: range

    @classmethod
    def drawn(cls) -> "Ports":
        first = random.randrange(10_000, 32_000 - _KINDS * _PORTS_A_KIND, 2)
        starts = range(first, first + _KINDS * _PORTS_A_KIND, _PORTS_A_KIND)
        return cls(*(range(start, start + _PORTS_A_KIND) for start in starts))


@dataclass
class Bench:
    """What runs. `others` are processes of the measurement itself, by name."""

    config: Config
    ports: Ports
    http: aiohttp.ClientSession
    pids: dict[str, list[int]] = field(default_factory=dict)

    @property
    def asterisk_sip(self) -> tuple[str, int]:
        return HOST, self.config.asterisk.sip_port

    def now(self) -> Moment:
        return moment(self.pids, asyncio.get_running_loop().time())

    async def channels_and_bridges(self) -> tuple[int, int]:
        """How many Asterisk has, anybody's."""
        return len(await self._ari("channels")), len(await self._ari("bridges"))

    async def calls(self) -> int:
        async with self.http.get(f"{self._web}/ready") as answer:
            return int((await answer.json())["calls"])

    async def metrics(self) -> dict[str, float]:
        """Every sample of /metrics by its name and labels, as they are written."""
        async with self.http.get(f"{self._web}/metrics") as answer:
            rows = [row.rpartition(" ") for row in (await answer.text()).splitlines() if row[:1] != "#"]
        return {name: float(value) for name, _, value in rows}

    def held_open(self) -> dict[str, Open]:
        """By the parts of the product that must be as they were once the calls are over."""
        return {name: held_open(self.pids[name][0]) for name in (ASTERISK, CALL_PROCESS)}

    @property
    def _web(self) -> str:
        return f"http://{self.config.web.host}:{self.config.web.port}"

    async def _ari(self, what: str) -> list[Any]:
        password = self.config.ari.password
        assert password is not None
        login = aiohttp.encode_basic_auth(self.config.ari.username, password.get_secret_value())
        url = f"{self.config.ari.url}/ari/{what}"
        async with self.http.get(url, headers={"Authorization": login}) as answer:
            found: list[Any] = await answer.json()
            return found


def configuration(
    ports: Ports, max_calls: int, own: Mapping[str, Any], fakes: Mapping[str, str] | None
) -> str:
    """voicebot.yaml: `own` as somebody wrote it, and over it what a load test needs. `fakes`: their addresses.

    No filler and no question to a silent caller: each sound after a question shall be its answer.
    """
    http_port, web_port = free_ports(2, socket.SOCK_STREAM)
    profile = {"no_input_s": 120.0, "phrases": {"filler": ""}}
    if fakes is None:
        default = own.get("profiles", {}).get("default") or LAKESIDE_BIKES.model_dump(mode="json")
    else:
        default = {"prompt": "You are a load test.", "greeting": _GREETING}
    needed: dict[str, Any] = {
        "asterisk": {
            "start": True,
            "sip_host": HOST,
            "sip_port": free_ports(1)[0],
            "http_port": http_port,
            "rtp_start": ports.asterisk[0],
            "rtp_end": ports.asterisk[-1],
        },
        "ari": {"password": secrets.token_urlsafe(24), "app": "voicebot"},
        "media": {"port_start": ports.bot[0], "port_end": ports.bot[-2], "port_quarantine_s": 1.0},
        "web": {"host": HOST, "port": web_port, "token": None},
        "calls": {"max_calls": max_calls, "processes": 1, "drain_s": 1.0},
        "log": {"directory": "var/log/load"},
        "profiles": {"default": _merged(default, profile)},
    }
    if fakes is not None:
        needed["workers"] = {name: {"start": False, "url": url} for name, url in fakes.items()}
    return yaml.safe_dump(_merged(own, needed))


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(under)
    for key, value in over.items():
        below = result.get(key)
        result[key] = _merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result


@asynccontextmanager
async def fake_workers_process(latencies: Sequence[str]) -> AsyncIterator[tuple[int, dict[str, str]]]:
    """Its process id and the addresses of the three."""
    async with child([sys.executable, "-m", "benchmarks.load_kit.workers", *latencies]) as (process, first):
        yield process.pid, json.loads(first)


@asynccontextmanager
async def tapped(bench: Bench, folder: Path) -> AsyncIterator[int]:
    """The tap on the callers' wire; the SIP port where callers find Asterisk."""
    host, port = bench.asterisk_sip
    (sip_port,) = free_ports(1)
    first, last = bench.ports.tap[0], bench.ports.tap[-1]
    command = [sys.executable, "-m", "benchmarks.load_kit.tap", f"{host}:{port}", str(sip_port)]
    async with child([*command, str(first), str(last), str(folder)]) as (process, _):
        bench.pids[WIRE] = [process.pid]
        try:
            yield sip_port
        finally:
            del bench.pids[WIRE]


@asynccontextmanager
async def child(command: Sequence[str]) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """A process of ours in the root of the repository, with its first line; it gets SIGTERM at the end."""
    process = await asyncio.create_subprocess_exec(
        *leashed(command),
        cwd=ROOT,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(_START_S):
            first = (await process.stdout.readline()).decode()
        if not first:
            raise SystemExit(f"{command[2]} did not start")
        yield process, first
    finally:
        await _ended(process)


async def _ended(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    try:
        async with asyncio.timeout(_END_S):
            await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()


@asynccontextmanager
async def fake_system(max_calls: int, latencies: Sequence[str], hurry: asyncio.Event) -> AsyncIterator[Bench]:
    async with fake_workers_process(latencies) as (pid, urls), _started(max_calls, {}, urls, hurry) as bench:
        bench.pids["fake workers"] = [pid]
        yield bench


@asynccontextmanager
async def real_system(max_calls: int, own: Mapping[str, Any], hurry: asyncio.Event) -> AsyncIterator[Bench]:
    async with _started(max_calls, own, None, hurry) as bench:
        yield bench


@asynccontextmanager
async def _started(
    max_calls: int, own: Mapping[str, Any], fakes: Mapping[str, str] | None, hurry: asyncio.Event
) -> AsyncIterator[Bench]:
    ports = Ports.drawn()
    text = configuration(ports, max_calls, own, fakes)
    config = parse(text, "voicebot.yaml", os.environ)
    async with (
        running(config, text, _say, hurry) as up,
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as http,
    ):
        asterisk = named("asterisk", os.getpid())
        assert asterisk is not None
        bench = Bench(config, ports, http)
        bench.pids[ASTERISK] = [asterisk]
        for name, part in up.parts.items():
            assert part.pid is not None
            bench.pids[CALL_PROCESS if name == "calls" else name.upper()] = [part.pid]
        yield bench


def _say(line: str) -> None:
    print(line, flush=True)
