"""Where the worker listens."""

import ipaddress
import socket

from gpu_workers.errors import ModelError
from gpu_workers.settings import LlmSettings


def check_port(settings: LlmSettings) -> None:
    """Raises ModelError when the port is in use, before anything is loaded for it."""
    try:
        family = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0][0]
        socket.create_server((settings.host, settings.port), family=family).close()
    except OSError as error:
        raise ModelError(
            f"the llm worker cannot listen on {settings.host}:{settings.port}: {error.strerror or error}; "
            "is another one running? workers.llm.port sets another port"
        ) from error


def own_address(settings: LlmSettings) -> str:
    """The base URL at which this machine reaches it: 0.0.0.0 and :: are no addresses to connect to."""
    host = settings.host
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return f"http://{host}:{settings.port}"
    if address.is_unspecified:
        host = "127.0.0.1" if address.version == 4 else "::1"
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"
