"""What a service manager is told that keeps this process: systemd, by sd_notify(3). Nothing where there is none."""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

log = logging.getLogger(__name__)


def will_stop_within(seconds: float) -> None:
    """This process is stopping and may take so long: it is not to be killed before, whatever its unit says."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    message = f"STOPPING=1\nEXTEND_TIMEOUT_USEC={round(seconds * 1e6)}"
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
            to.setblocking(False)
            # a leading @ stands for the 0 of the abstract namespace
            to.sendto(message.encode(), "\0" + address[1:] if address.startswith("@") else address)
    except OSError as error:
        log.warning("the service manager could not be told that calls are finishing: %s", error.strerror)


@asynccontextmanager
async def told_of_stopping(stop: asyncio.Event, within_s: float) -> AsyncIterator[None]:
    """While the block runs, the moment `stop` is set is told, with `within_s`."""

    async def tell() -> None:
        await stop.wait()
        will_stop_within(within_s)

    telling = asyncio.create_task(tell())
    try:
        yield
    finally:
        telling.cancel()
        await asyncio.wait((telling,))
