"""The web port: who may read what."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from socket import SOCK_STREAM

import aiohttp
import pytest
from prometheus_client import CollectorRegistry, Counter
from pydantic import SecretStr

from stasis_app.settings import WebSettings
from stasis_app.web import Readiness, web_server
from tests.support.rig import HOST, free_ports


@asynccontextmanager
async def serving(token: str | None) -> AsyncIterator[tuple[str, aiohttp.ClientSession]]:
    registry, port = CollectorRegistry(), free_ports(1, SOCK_STREAM)[0]
    Counter("something", "Counted.", registry=registry)
    settings = WebSettings(port=port, token=None if token is None else SecretStr(token))
    async with (
        web_server(settings, lambda: Readiness(parts={"asterisk": ""}, calls=1, max_calls=2), registry),
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
