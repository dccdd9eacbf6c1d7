"""The line between the bot and Asterisk's HTTP port, as a TCP relay that can be cut, shut and made silent."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


@dataclass(eq=False)
class _Connection:
    ends: tuple[asyncio.StreamWriter, ...]
    mute: bool = False


@dataclass
class Line:
    """Give the bot `url` for ARI."""

    url: str = ""
    shut: bool = False
    """New connections are reset."""
    _silent: bool = False
    _up: set[_Connection] = field(default_factory=set)

    def cut(self) -> None:
        """Every connection of now is reset, at both ends."""
        for connection in self._up:
            for end in connection.ends:
                _reset(end)

    def fall_silent(self) -> None:
        """Nothing gets through any more, and nobody is told: not even of a close. New connections hang."""
        self._silent = True
        for connection in self._up:
            connection.mute = True

    def heal(self) -> None:
        """New connections work. What was up when the line fell silent stays silent for ever."""
        self._silent = self.shut = False

    async def serve(
        self, host: str, port: int, reader: asyncio.StreamReader, ours: asyncio.StreamWriter
    ) -> None:
        if self.shut:
            _reset(ours)
            return
        there, theirs = await asyncio.open_connection(host, port)
        connection = _Connection((ours, theirs), mute=self._silent)
        self._up.add(connection)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_pump(connection, reader, theirs))
                group.create_task(_pump(connection, there, ours))
        finally:
            self._up.remove(connection)
            for end in connection.ends:
                _reset(end)


async def _pump(connection: _Connection, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(65536):
            if not connection.mute:
                sink.write(data)
    except ConnectionError:
        pass
    if not connection.mute and not sink.is_closing():
        sink.close()


def _reset(end: asyncio.StreamWriter) -> None:
    sock = end.get_extra_info("socket")
    if not end.is_closing():
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        end.transport.abort()


@asynccontextmanager
async def line_to(host: str, port: int) -> AsyncIterator[Line]:
    line, serving = Line(), set[asyncio.Task[None]]()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(line.serve(host, port, reader, writer))
        serving.add(task)
        task.add_done_callback(serving.discard)

    server = await asyncio.start_server(accept, host, 0)
    line.url = "http://{}:{}".format(*server.sockets[0].getsockname())
    try:
        yield line
    finally:
        server.close()
        line.cut()
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
