"""Whether the ports we are about to use are free, told all at once and before anything is started."""

import errno
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from voicebot.config import Config, transports_in_use, worker_parts
from voicebot.config.processes import own_ports
from voicebot.errors import PortTakenError


@dataclass(frozen=True)
class Listener:
    """A port that a part will open; `setting` is the key that moves it."""

    setting: str
    host: str
    port: int
    udp: bool = False


def listeners(config: Config) -> list[Listener]:
    """Every fixed port `voicebot up` opens on this machine."""
    asterisk, media, web = config.asterisk, config.media, config.web
    found = [Listener("web.port", web.host, port) for port in own_ports(config, web.port)]
    if asterisk.start:
        found.append(Listener("asterisk.sip_port", asterisk.sip_host, asterisk.sip_port, udp=True))
        found.append(Listener("asterisk.http_port", "127.0.0.1", asterisk.http_port))
    if "audiosocket" in transports_in_use(config):
        found += [
            Listener("media.audiosocket_port", media.bind_host, port)
            for port in own_ports(config, media.audiosocket_port)
        ]
    found += [
        Listener(f"workers.{name}.port", worker.host, worker.port)
        for name, worker in worker_parts(config).items()
        if worker.start
    ]
    return found


def refuse_taken(wanted: Sequence[Listener]) -> None:
    """Raises PortTakenError with one line for each of `wanted` that cannot be opened."""
    problems = [problem for listener in wanted if (problem := _problem(listener))]
    if problems:
        raise PortTakenError("\n".join(problems))


def _problem(listener: Listener) -> str | None:
    host, port, setting = listener.host, listener.port, listener.setting
    kind = socket.SOCK_DGRAM if listener.udp else socket.SOCK_STREAM
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, kind) as probe:
        if not listener.udp:  # a port that only waits after an earlier close is free
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            protocol = "UDP" if listener.udp else "TCP"
            where = f"{protocol} port {port} on {host} ({setting})"
            if error.errno == errno.EADDRINUSE:
                return f"{where} is in use, maybe by another voicebot: stop that, or set {setting} to a free port."
            return f"{where} cannot be opened: {error.strerror or error}. Change {setting} or the host beside it."
    return None
