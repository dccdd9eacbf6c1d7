"""The media of a whole process: one pacer, one range of ports, one stock of voice detectors."""

import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from media_bridge.errors import MediaError
from media_bridge.events import MediaEvent
from media_bridge.g711 import CODECS
from media_bridge.pacer import Pacer
from media_bridge.ports import PortPool
from media_bridge.session import MediaSession, Tap
from media_bridge.settings import MediaSettings, VoiceSettings
from media_bridge.stats import PacerStats, PortStats
from media_bridge.udp import LogGate, RtpTransport
from media_bridge.vad import SileroGate

_SWEEP_EVERY_S = 1.0


class _VadStock:
    """Voice detectors between two calls: a new one costs 70 to 130 ms of CPU and 9 MB, an old one nothing.

    They are made in a thread (the model's own code holds no Python lock), a few ahead of need.
    """

    def __init__(self, settings: VoiceSettings, spare: int) -> None:
        self._settings = settings
        self._spare = spare
        self._stock: list[SileroGate] = []

    async def fill(self) -> None:
        """Make the spare ones."""
        while len(self._stock) < self._spare:
            self._stock.append(await asyncio.to_thread(SileroGate, self._settings))

    @asynccontextmanager
    async def borrow(self) -> AsyncIterator[SileroGate]:
        vad = self._stock.pop() if self._stock else await asyncio.to_thread(SileroGate, self._settings)
        try:
            yield vad
        finally:
            vad.reset()
            self._stock.append(vad)


class MediaPlane:
    """`async with MediaPlane(settings) as plane`; one for each process, on its event loop.

    `spare_calls`: so many calls can begin at once without one of them waiting 0.1 s for its voice detector.
    Entering raises MediaError if bind_host is no address of this machine.
    """

    def __init__(self, settings: MediaSettings, spare_calls: int = 2) -> None:
        self._settings = settings
        self._vads = _VadStock(settings.voice, spare_calls)
        self._log_gate = LogGate()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        address = await _resolve(self._settings.bind_host)
        async with AsyncExitStack() as stack:
            self._ports = stack.enter_context(PortPool(self._settings, address))
            self._pacer = await stack.enter_async_context(Pacer())
            await self._vads.fill()
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
        self, call_id: str, on_event: Callable[[MediaEvent], None], tap: Tap | None = None
    ) -> AsyncIterator[MediaSession]:
        """One call's media. Raises NoPortError. On leaving everything is free again, the port after its
        rest.
        """
        async with self._vads.borrow() as vad:
            lease = self._ports.lease(self._loop.time())
            try:
                payload_type = CODECS[self._settings.codec].payload_type
                transport = RtpTransport(call_id, lease.sock, payload_type, self._log_gate, self._loop.time)
                session = MediaSession(
                    self._settings, transport, lease.port, vad, on_event, self._loop.time, tap
                )
                member = self._pacer.register(call_id, (session.speak, session.hear), session.failed)
                try:
                    yield session
                finally:
                    self._pacer.unregister(member)
                    session.close()
            finally:
                self._ports.give_back(lease, self._loop.time())

    def pacer_stats(self) -> PacerStats:
        return self._pacer.stats()

    def port_stats(self) -> PortStats:
        return self._ports.stats()

    def _sweep(self) -> None:
        self._sweeper = self._loop.call_later(_SWEEP_EVERY_S, self._sweep)
        self._ports.sweep(self._loop.time())

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


def check_addresses(settings: MediaSettings, ari_url: str) -> None:
    """Raise MediaError if Asterisk would be told to send the calls' sound to an address it cannot reach.

    That is an unspecified address anywhere, and a loopback one when ARI says that Asterisk is on another
    machine.
    """
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
