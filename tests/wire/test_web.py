"""The web port: who may read what."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from socket import SOCK_STREAM
from types import MappingProxyType
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry, Counter
from pydantic import SecretStr

from gpu_workers.client import health
from stasis_app.settings import WebSettings
from stasis_app.web import LIFE_S, MOST_CONNECTIONS, Readiness, web_server
from tests.support.rig import HOST, free_ports

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]


@asynccontextmanager
async def serving(
    token: str | None, parts: Mapping[str, str] = MappingProxyType({"asterisk": ""})
) -> AsyncIterator[tuple[str, aiohttp.ClientSession]]:
    registry, port = CollectorRegistry(), free_ports(1, SOCK_STREAM)[0]
    Counter("something", "Counted.", registry=registry)
    settings = WebSettings(port=port, token=None if token is None else SecretStr(token))
    async with (
        web_server(settings, lambda: Readiness(parts=parts, calls=1, max_calls=2), registry),
        aiohttp.ClientSession() as http,
    ):
        yield f"http://{HOST}:{port}", http


@pytest.mark.parametrize(
    ("token", "said", "status"),
    [
        (None, None, 200),
        ("s3cret", None, 401),
        ("s3cret", "Bearer wrong", 401),
        ("s3cret", "Bearer s3cret", 200),
        ("s3cret", "bearer s3cret", 200),
        ("s3cret", "Bearer s3cret\u00e9", 401),
    ],
)
async def test_metrics_are_for_who_has_the_token(token: str | None, said: str | None, status: int) -> None:
    headers = {} if said is None else {"Authorization": said}
    async with serving(token) as (url, http):
        async with http.get(f"{url}/metrics", headers=headers) as answer:
            assert answer.status == status
            assert ("something_total" in await answer.text()) == (status == 200)
        # balancers send no token
        for path in ("live", "ready"):
            async with http.get(f"{url}/{path}") as answer:
                assert answer.status == 200
                assert "s3cret" not in await answer.text()


@pytest.mark.parametrize(
    ("token", "said", "shown"),
    [
        (None, "", "status 500, no model at /srv/secret"),
        ("s3cret", "", "not ready"),
        ("s3cret", "Bearer wrong", "not ready"),
        ("s3cret", "Bearer s3cret", "status 500, no model at /srv/secret"),
    ],
)
async def test_why_a_part_is_not_ready_is_for_who_has_the_token(
    token: str | None, said: str, shown: str
) -> None:
    parts = {"asterisk": "", "stt": "status 500, no model at /srv/secret"}
    async with (
        serving(token, parts) as (url, http),
        http.get(f"{url}/ready", headers={"Authorization": said}) as answer,
    ):
        assert answer.status == 503
        assert (await answer.json())["parts"] == {"asterisk": "ready", "stt": shown}


@pytest.mark.parametrize("field", ["status", "detail", "error", "model", "device"])
async def test_what_a_worker_says_holds_no_key_and_no_orders_to_a_terminal(field: str) -> None:
    async def echo(request: web.Request) -> web.Response:
        said = f"\x1b[2J{'x' * 190}{request.headers['Authorization']}\n"
        body = {field: {"message": said} if field == "error" else said}
        return web.json_response(body, status=500)

    app = web.Application()
    app.add_routes([web.get("/health", echo)])
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, HOST, 0)
        await site.start()
        port = runner.addresses[0][1]
        async with aiohttp.ClientSession() as http:
            found = await health(http, f"http://{HOST}:{port}", api_key=SecretStr("s3cret-key"))
    finally:
        await runner.cleanup()
    told = f"{found.detail}{found.model}{found.device}"
    assert "xxx" in told
    assert told.isprintable()
    assert "s3c" not in told


async def test_who_holds_all_connections_open_keeps_nobody_out() -> None:
    """And takes no descriptor from the calls for long."""
    async with serving(None) as (url, http):
        port = int(url.rpartition(":")[2])
        held = [await asyncio.open_connection(HOST, port) for _ in range(MOST_CONNECTIONS + 5)]
        for _, writer in held[::2]:
            writer.write(b"GET /ready HTTP/1.1\r\nX-Slow: ")
        for path in ("live", "ready", "metrics"):
            async with http.get(f"{url}/{path}") as answer:
                assert answer.status == 200
        # the oldest made room for the newest
        for reader, _ in held[:5]:
            with pytest.raises(ConnectionError):
                assert await reader.read() == b""
                raise ConnectionResetError
        for _, writer in held:
            writer.close()


def test_a_connection_has_its_time(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        async with serving(None) as (url, _):
            reader, writer = await asyncio.open_connection(HOST, int(url.rpartition(":")[2]))
            began = asyncio.get_running_loop().time()
            writer.write(b"GET /ready HTTP/1.1\r\nX-Slow: ")
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
            assert asyncio.get_running_loop().time() - began == pytest.approx(LIFE_S, abs=0.5)
            writer.close()

    virtual_time(main())


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer s3cret\0\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer s3cret" + b"a" * 9000 + b"\r\n\r\n",
        b"GET /ready HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\ns3cret",
        b"GET /" + b"s3cret" * 2000 + b" HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01s3cret\r\n\r\n",
    ],
)
async def test_what_is_no_request_costs_one_line_at_most_and_none_of_it_is_logged(
    sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Also at debug: a header that is quoted may hold the token."""
    caplog.set_level("DEBUG")
    async with serving("s3cret") as (url, http):
        for _ in range(20):
            reader, writer = await asyncio.open_connection(HOST, int(url.rpartition(":")[2]))
            writer.write(sent)
            assert (await reader.read()).startswith(b"HTTP/1.0 400")
            writer.close()
        async with http.get(f"{url}/ready") as answer:
            assert answer.status == 200
    said = [record for record in caplog.records if record.name != "asyncio"]
    assert len(said) <= 2 and not any(record.exc_info for record in said)
    assert all(record.levelname == "INFO" for record in said)
    assert "s3cret" not in caplog.text
