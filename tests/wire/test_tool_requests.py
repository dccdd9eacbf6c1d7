"""Requests of tools on real sockets: servers that are slow, large, away or send elsewhere; and what the log holds."""

import asyncio
import gzip
from socket import SOCK_STREAM
from typing import Any

import pytest

from stasis_app.ari.errors import AppReplaced
from stasis_app.tools.http import HttpRequests, ToolRequestError
from stasis_app.tools.request import Answered
from stasis_app.tools.settings import HttpRequest
from tests.support.rig import free_ports
from tests.support.shop import Shop, shop


def request(url: str, **changes: Any) -> HttpRequest:
    return HttpRequest.model_validate({"description": "x", "url": url} | changes)


async def test_what_is_sent_is_what_was_declared() -> None:
    parameters = {"x": {}, "n": {"type": "integer"}}
    async with shop() as open_shop, HttpRequests() as requests:
        put = request(f"{open_shop.url}/a/{{x}}", method="PUT", parameters=parameters, headers={"X-Key": "k"})
        found = await requests.send(put, {"x": "b..c?d", "n": 3})
        assert found == Answered(200, '{"state": "ready"}')
        assert open_shop.requests == [("PUT", "/a/b..c%3Fd", {"n": 3})]
        assert open_shop.got_headers[0]["X-Key"] == "k"
        assert "Cookie" not in open_shop.got_headers[0]


async def test_a_redirect_is_an_answer_and_not_followed() -> None:
    async with shop() as elsewhere, shop() as open_shop, HttpRequests() as requests:
        open_shop.status, open_shop.headers = 307, {"Location": elsewhere.url, "Set-Cookie": "a=b"}
        found = await requests.send(request(f"{open_shop.url}/", headers={"X-Key": "k"}), {})
        assert (found.status, found.ok) == (307, False)
        assert elsewhere.requests == []
        await requests.send(request(f"{open_shop.url}/"), {})
        assert "Cookie" not in open_shop.got_headers[-1]


@pytest.mark.parametrize("packed", [False, True])
async def test_no_more_is_read_than_allowed(packed: bool) -> None:
    async with shop() as open_shop, HttpRequests() as requests:
        body = b"x" * 5_000_000
        open_shop.answer = gzip.compress(body) if packed else body
        open_shop.headers = {"Content-Encoding": "gzip"} if packed else {}
        found = await requests.send(request(f"{open_shop.url}/", max_answer_bytes=1000), {})
        assert (len(found.text), found.whole) == (1000, False)


async def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    async with shop() as open_shop, HttpRequests() as requests:
        open_shop.answer = b"\xff\xfe\x00abc"
        assert "abc" in (await requests.send(request(f"{open_shop.url}/"), {})).text


async def test_a_server_that_is_late_or_away_is_an_error() -> None:
    async with shop() as open_shop, HttpRequests() as requests:
        open_shop.delay_s = 3600
        with pytest.raises(ToolRequestError, match=r"no whole answer within 0\.2 s") as late:
            await requests.send(request(f"{open_shop.url}/", timeout_s=0.2), {})
        assert late.value.late
        nobody = f"http://127.0.0.1:{free_ports(1, SOCK_STREAM)[0]}/?key=s3cret"
        with pytest.raises(ToolRequestError, match="cannot connect") as away:
            await requests.send(request(nobody), {})
        assert "s3cret" not in str(away.value)


async def begun_in(requests: HttpRequests, open_shop: Shop, timeout_s: float) -> asyncio.Task[str]:
    """A request that the shop is at work on."""

    async def work() -> str:
        await requests.send(request(f"{open_shop.url}/", method="POST", timeout_s=timeout_s), {})
        return "done"

    begun = requests.begin(work())
    while not open_shop.running:  # noqa: ASYNC110 - nothing tells of it
        await asyncio.sleep(0.01)
    return begun


async def test_what_was_begun_is_brought_to_its_end_when_the_process_has_no_call_left() -> None:
    async with shop() as open_shop:
        async with HttpRequests() as requests:
            open_shop.delay_s = 0.3
            begun = await begun_in(requests, open_shop, timeout_s=30)
        assert begun.result() == "done"
        assert open_shop.finished == 1


async def test_a_process_whose_app_was_taken_over_brings_it_to_its_end_too() -> None:
    async with shop() as open_shop:
        begun: list[asyncio.Task[str]] = []

        async def process() -> None:
            async with HttpRequests() as requests:
                open_shop.delay_s = 0.3
                begun.append(await begun_in(requests, open_shop, timeout_s=30))
                raise AppReplaced("voicebot")

        with pytest.raises(AppReplaced):
            await process()
        assert begun[0].result() == "done"


async def test_what_never_answers_keeps_no_process_longer_than_its_own_time() -> None:
    async with shop() as open_shop:
        async with HttpRequests() as requests:
            open_shop.delay_s = 3600
            begun = await begun_in(requests, open_shop, timeout_s=0.3)
        assert isinstance(begun.exception(), ToolRequestError)


async def test_a_process_that_ends_at_once_waits_for_nothing() -> None:
    async with shop() as open_shop:
        open_shop.delay_s = 3600
        begun: list[asyncio.Task[str]] = []

        async def process() -> None:
            async with HttpRequests() as requests:
                begun.append(await begun_in(requests, open_shop, timeout_s=30))
                await asyncio.Event().wait()

        running = asyncio.create_task(process())
        while not begun:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.01)
        running.cancel()
        await asyncio.wait({running})
        assert begun[0].cancelled()


async def test_a_process_told_to_end_at_once_while_it_waits_does_so() -> None:
    async with shop() as open_shop:
        open_shop.delay_s = 3600
        begun: list[asyncio.Task[str]] = []

        async def process() -> None:
            async with HttpRequests() as requests:
                begun.append(await begun_in(requests, open_shop, timeout_s=30))

        running = asyncio.create_task(process())
        while not begun:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        running.cancel()
        await asyncio.wait({running})
        assert running.cancelled()
        assert begun[0].cancelled()
