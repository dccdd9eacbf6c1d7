"""The media of a whole process: one pacer, the transports in use, one voice detector."""

import asyncio
import gc
import ipaddress
import logging
import socket
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from media_bridge.errors import MediaError
from media_bridge.events import MediaEvent
from media_bridge.log_gate import LogGate
from media_bridge.overload import Load, Overload
from media_bridge.pacer import PTIME_S, Pacer
from media_bridge.session import MediaSession
from media_bridge.settings import MediaOverride, MediaSettings, TransportName, medium_of
from media_bridge.stats import PacerStats, PortStats
from media_bridge.tap import Tap
from media_bridge.transport import TransportFactory
from media_bridge.transport_audiosocket import AudioSockets
from media_bridge.transport_rtp import RtpTransports
from media_bridge.transport_websocket import Websockets
from media_bridge.vad import Silero, SileroGate

_SWEEP_EVERY_S = 1.0

_log = logging.getLogger(__name__)


class MediaPlane:
    """`async with MediaPlane(settings) as plane`; one for each process, on its event loop.

    `overrides`: those that calls will be opened with. Entering raises MediaError if bind_host is no address
    of this machine, if the port that calls of a transport share is taken, or if the voice detector's model
    is not installed.
    """

    def __init__(
        self,
        settings: MediaSettings,
        overrides: Collection[MediaOverride | None] = (None,),
    ) -> None:
        self._settings = settings
        self._in_use = {medium_of(settings, override).transport for override in overrides}
        self._log_gate = LogGate()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        address = await _resolve(self._settings.bind_host)
        async with AsyncExitStack() as stack:
            clock = self._loop.time
            self._silero = Silero()
            # what is there by now stays: looking through it for garbage takes 25 ms, and a call would hear that
            gc.freeze()
            stack.callback(gc.unfreeze)
            # the products here are too small for a second thread, and one that spins would delay the pacer
            stack.enter_context(threadpool_limits(1, "blas"))
            self._rtp = RtpTransports(self._settings, address, self._log_gate, clock)
            await stack.enter_async_context(self._rtp)
            self._factories: dict[TransportName, TransportFactory] = {"rtp": self._rtp}
            if "websocket" in self._in_use:
                websockets = Websockets(self._settings, self._log_gate, clock)
                self._factories["websocket"] = await stack.enter_async_context(websockets)
            if "audiosocket" in self._in_use:
                sockets = AudioSockets(self._settings, address, self._log_gate, clock)
                self._factories["audiosocket"] = await stack.enter_async_context(sockets)
            self._pacer = await stack.enter_async_context(Pacer())
            self._overload = Overload()
            self._load = Load(0.0, 0.0)
            self._looked = (self._loop.time(), self._pacer.stats())
            self._sweep()
            stack.callback(self._stop_sweeping)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    @asynccontextmanager
    async def open(
        self,
        call_id: str,
        on_event: Callable[[MediaEvent], None],
        tap: Tap | None = None,
        override: MediaOverride | None = None,
    ) -> AsyncIterator[MediaSession]:
        """One call's media. Raises NoPortError. On leaving everything is free again, a port after its
        rest.
        """
        medium = medium_of(self._settings, override)
        factory = self._factories[medium.transport]
        async with factory.open(call_id, medium) as transport:
            vad = SileroGate(self._settings.voice, self._silero)
            session = MediaSession(self._settings, transport, vad, on_event, self._loop.time, tap)
            steps = (session.speak, session.hear, session.decide)
            member = self._pacer.register(call_id, steps, session.failed)
            try:
                yield session
            finally:
                self._pacer.unregister(member)
                session.close()

    def has_room(self, calls: int) -> bool:
        """Whether the process can serve one more beside `calls`: those that run, and those that are being connected;
        see Overload.
        """
        return self._overload.has_room(calls)

    @property
    def load(self) -> Load:
        """Of the media clock in the last second."""
        return self._load

    def pacer_stats(self) -> PacerStats:
        return self._pacer.stats()

    def port_stats(self) -> PortStats:
        return self._rtp.port_stats()

    def usable_ports(self, override: MediaOverride | None = None) -> int | None:
        """How many calls can have a UDP port now, those that have one included; None if such calls need none."""
        if medium_of(self._settings, override).transport != "rtp":
            return None
        self._rtp.sweep(self._loop.time())
        ports = self._rtp.port_stats()
        return ports.free + ports.leased

    def _sweep(self) -> None:
        self._sweeper = self._loop.call_later(_SWEEP_EVERY_S, self._sweep)
        self._rtp.sweep(self._loop.time())
        self._look_at_load()

    def _look_at_load(self) -> None:
        now, stats = self._loop.time(), self._pacer.stats()
        since, before = self._looked
        if now - since < _SWEEP_EVERY_S / 2:
            return
        self._looked = now, stats
        skipped = stats.skipped - before.skipped
        due = stats.ticks - before.ticks + skipped
        busy = (stats.busy_s - before.busy_s) / (now - since)
        self._load = Load(busy, skipped / max(1, due), due * PTIME_S / (now - since))
        if not self._overload.observe(self._load):
            return
        if self._overload.on:
            _log.warning(
                "media is overloaded (calls: %d): their sound takes %.0f %% of the time and %.0f %% of it was left "
                "out; no new call is taken until it is less. Lower calls.max_calls, or set calls.processes",
                stats.calls,
                100 * self._load.busy,
                100 * self._load.skipped,
            )
        else:
            _log.info("media has room again (calls: %d)", stats.calls)

    def _stop_sweeping(self) -> None:
        self._sweeper.cancel()


async def _resolve(host: str) -> str:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_DGRAM)
    except OSError as error:
        raise MediaError(
            f"media.bind_host {host} is not known as a name or an address: {error.strerror}"
        ) from error
    address = found[0][4][0]
    with socket.socket(found[0][0], socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError as error:
            raise MediaError(
                f"media.bind_host {host} is no address of this machine: {error.strerror}"
            ) from error
    return str(address)


def check_addresses(
    settings: MediaSettings, ari_url: str, overrides: Collection[MediaOverride | None] = (None,)
) -> None:
    """Raise MediaError if Asterisk would be told to send the calls' sound to an address it cannot reach.

    That is an unspecified address anywhere, and a loopback one when ARI says that Asterisk is on another
    machine. Where all calls go over websockets, which are opened from here, any will do.
    """
    if all(medium_of(settings, override).transport == "websocket" for override in overrides):
        return
    host = settings.advertise_host or settings.bind_host
    name = "media.advertise_host" if settings.advertise_host else "media.bind_host"
    # the host alone: the URL may hold a password
    ari_host = urlsplit(ari_url).hostname or ""
    if _is_unspecified(host):
        raise MediaError(
            f"{name} is {host}, which Asterisk (ari.url says it is {ari_host}) cannot send to: "
            "set media.advertise_host to the address of this machine that Asterisk reaches"
        )
    if _is_loopback(host) and not _is_loopback(ari_host):
        raise MediaError(
            f"{name} is {host}, an address only this machine reaches, but Asterisk is elsewhere (ari.url says "
            f"{ari_host}): set media.bind_host or media.advertise_host to an address that Asterisk reaches"
        )


def _is_unspecified(host: str) -> bool:
    address = _address(host)
    return address is not None and address.is_unspecified


def _is_loopback(host: str) -> bool:
    address = _address(host)
    return host.rstrip(".").lower() == "localhost" if address is None else address.is_loopback


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None
