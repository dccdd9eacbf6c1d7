"""Real programs for tests: one private Asterisk, SIPp as the caller, and a probe of ARI.

Everything runs on free ports of 127.0.0.1, so that several test runs and the user's own Asterisk do not meet.
"""

import asyncio
import random
import re
import socket
import tempfile
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp
from pydantic import SecretStr

from asterisk_conf import CONF_DIR
from voicebot.asterisk import AsteriskInstall, AsteriskProcess, find_or_fetch
from voicebot.cache import default_cache_dir
from voicebot.programs import SippInstall, fetch_sipp

HOST = "127.0.0.1"
SCENARIOS = Path(__file__).parent.parent / "data" / "sipp"
RTP_PORTS = 1000  # for one private Asterisk


def free_ports(count: int, kind: socket.SocketKind = socket.SOCK_DGRAM) -> list[int]:
    """`count` different ports nobody uses now, for UDP or (SOCK_STREAM) TCP."""
    sockets = [socket.socket(socket.AF_INET, kind) for _ in range(count)]
    try:
        for probe in sockets:
            probe.bind((HOST, 0))
        return [probe.getsockname()[1] for probe in sockets]
    finally:
        for probe in sockets:
            probe.close()


def two_ports(lowest: int = 28_000) -> int:
    """The first of two free TCP ports in a row, from `lowest` on: below those the kernel gives away."""
    for port in range(lowest, 31_000, 2):
        with socket.socket() as first, socket.socket() as second:
            try:
                first.bind((HOST, port))
                second.bind((HOST, port + 1))
            except OSError:
                continue
            return port
    raise AssertionError("no free port")


def the_asterisk() -> AsteriskInstall:
    """The Asterisk tests run on; fetched into the cache the first time."""
    return find_or_fetch(default_cache_dir(), print)


def the_sipp() -> SippInstall:
    """The SIPp tests run; fetched into the cache the first time."""
    return fetch_sipp(default_cache_dir(), print)


def private_asterisk(conf_dir: Path = CONF_DIR, bot_processes: int = 1) -> AsteriskProcess:
    """An Asterisk on ports of its own, to be entered: `async with private_asterisk() as asterisk`."""
    # below the ports the kernel gives away by itself; Asterisk passes over those in use
    rtp_start = random.randrange(10_000, 31_000, 2)
    return AsteriskProcess(
        the_asterisk(),
        ari_password=SecretStr("for-tests-only"),
        sip_port=free_ports(1)[0],
        http_port=free_ports(1, socket.SOCK_STREAM)[0],
        rtp_start=rtp_start,
        rtp_end=rtp_start + RTP_PORTS - 1,
        bot_processes=bot_processes,
        conf_dir=conf_dir,
    )


@dataclass(frozen=True)
class SippResult:
    """What a SIPp run did. `messages` are the SIP messages, `errors` what SIPp found unexpected."""

    exit_code: int
    successful: int
    failed: int
    messages: str
    errors: str

    @property
    def causes(self) -> list[int]:
        """The Q.850 causes Asterisk gave, from the Reason headers in what SIPp received."""
        return [
            int(cause) for cause in re.findall(r"^Reason: *Q\.850;cause=(\d+)", self.messages, re.MULTILINE)
        ]


async def run_sipp(
    scenario: str,
    asterisk: AsteriskProcess,
    *,
    service: str = "1000",
    calls: int = 1,
    rate: float = 10,
    at_once: int | None = None,
    pause_ms: int = 0,
    keys: Mapping[str, str] | None = None,
    media: Path | None = None,
    timeout_s: float = 60,
) -> SippResult:
    """Run tests/data/sipp/`scenario`.xml against `asterisk`.

    Up to `calls` calls, `rate` a second, no more than `at_once` up together. `pause_ms` is how long a scenario's
    caller stays, `keys` what the scenario's head names, `media` the raw mu-law it plays. Raises TimeoutError, with
    SIPp ended.
    """
    with tempfile.TemporaryDirectory(prefix="sipp-") as name:
        folder = Path(name)
        if media is not None:  # SIPp fills no key into the name of a file to play
            (folder / "media.ulaw").symlink_to(media)
        command = [
            *the_sipp().command,
            f"{HOST}:{asterisk.sip_port}",
            *("-sf", str(SCENARIOS / f"{scenario}.xml"), "-s", service, "-i", HOST, "-mi", HOST),
            *("-p", str(free_ports(1)[0]), "-mp", str(free_ports(1)[0])),
            *("-m", str(calls), "-r", str(rate), "-l", str(at_once or calls), "-d", str(pause_ms)),
            *("-nostdin", "-trace_msg", "-message_file", "messages", "-trace_err", "-error_file", "errors"),
            *("-trace_stat", "-stf", "statistics", "-fd", "1"),
        ]
        for key, value in {"caller": "5551234", "caller_name": "Caller", **(keys or {})}.items():
            command += ["-key", key, value]
        exit_code = await _finished(command, folder, timeout_s)
        statistics = _last_row(_text(folder / "statistics"))
        return SippResult(
            exit_code,
            int(statistics.get("SuccessfulCall(C)", 0)),
            int(statistics.get("FailedCall(C)", 0)),
            _text(folder / "messages"),
            _text(folder / "errors"),
        )


async def _finished(command: list[str], folder: Path, timeout_s: float) -> int:
    devnull = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        stdin=devnull,
        stdout=devnull,
        stderr=devnull,
        env={"TERM": "dumb", "LC_ALL": "C"},
    )
    try:
        async with asyncio.timeout(timeout_s):
            return await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


def _last_row(statistics: str) -> dict[str, str]:
    lines = statistics.splitlines()
    return dict(zip(lines[0].split(";"), lines[-1].split(";"), strict=False)) if len(lines) > 1 else {}


class AriProbe:
    """A Stasis application reduced to what a test needs, as an async context manager."""

    def __init__(self, asterisk: AsteriskProcess, app: str = "voicebot") -> None:
        self._asterisk = asterisk
        self._app = app
        self._stack = AsyncExitStack()
        self._http: aiohttp.ClientSession
        self._events: aiohttp.ClientWebSocketResponse

    async def __aenter__(self) -> Self:
        login = aiohttp.encode_basic_auth(
            self._asterisk.ari_user, self._asterisk.ari_password.get_secret_value()
        )
        async with AsyncExitStack() as stack:
            session = aiohttp.ClientSession(headers={"Authorization": login})
            self._http = await stack.enter_async_context(session)
            self._events = await stack.enter_async_context(
                self._http.ws_connect(f"{self._asterisk.ari_url}/ari/events?app={self._app}")
            )
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def event(self, kind: str, timeout_s: float = 10) -> dict[str, Any]:
        """The next event of that type; those before it are dropped."""
        async with asyncio.timeout(timeout_s):
            while True:
                event: dict[str, Any] = await self._events.receive_json()
                if event["type"] == kind:
                    return event

    async def call(self, method: str, path: str, **parameters: str) -> tuple[int, Any]:
        """One ARI request, such as ("POST", "channels/1.2/answer"); the status and the JSON, None if empty."""
        url = f"{self._asterisk.ari_url}/ari/{path}"
        async with self._http.request(method, url, params=parameters) as answer:
            return answer.status, await answer.json() if await answer.read() else None
