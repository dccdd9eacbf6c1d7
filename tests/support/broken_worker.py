"""A worker that is none, as a process: `python broken_worker.py PORT`.

/health is good; each other connection gets the next of what a broken server or a stranger on the port might send.
"""

import asyncio
import itertools
import sys

HEALTH = b'{"ready": true, "model": "broken"}'


async def truncated(writer: asyncio.StreamWriter) -> None:
    writer.write(
        b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"text": "Half'
    )


async def two_gigabytes(writer: asyncio.StreamWriter) -> None:
    """As many as the client takes."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2147483648\r\n\r\n")
    while True:
        writer.write(b"x" * 65536)
        await writer.drain()


async def garbage(writer: asyncio.StreamWriter) -> None:
    writer.write(bytes(range(256)) * 40)


async def endless_head(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-More: more\r\n" * 100)
        await writer.drain()


async def no_json(writer: asyncio.StreamWriter) -> None:
    body = b"<html>502 Bad Gateway</html>"
    writer.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    )


async def wrong_version(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/9.9 200 Fine\r\nContent-Length: 2\r\n\r\n{}")


BREAKS = itertools.cycle((truncated, two_gigabytes, garbage, endless_head, no_json, wrong_version))


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        if b"/health" in head.partition(b"\r\n")[0]:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(HEALTH) + HEALTH)
        else:
            await next(BREAKS)(writer)
        await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def main(port: int) -> None:
    async with await asyncio.start_server(serve, "127.0.0.1", port) as server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
