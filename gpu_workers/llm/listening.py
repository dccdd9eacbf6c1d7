"""Whether the worker can listen where it is to."""

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
