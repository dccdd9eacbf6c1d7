"""REST calls over a real connection: what is sent, what is repeated, and what each answer means (A5)."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from pydantic import SecretStr

from media_bridge.settings import Medium
from media_bridge.transport import ConnectsToUs, MediaUrl, Offer, Peer, RtpAddress
from stasis_app.ari.errors import AriError, AriRefused
from stasis_app.ari.link import AriLink
from stasis_app.ari.rest import LONGEST_QUEUE_S, Ari
from stasis_app.settings import AriSettings
from tests.support.fake_ari import PASSWORD, Act, FakeAri, acts_and_drops, answers, hangs

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]
OFFER = Offer(Medium("rtp", "ulaw"), "127.0.0.1", 4000)


@asynccontextmanager
async def ari(fake: FakeAri, **changes: object) -> AsyncIterator[Ari]:
    async with AriLink(fake.settings(**changes), "bot", lambda _: None, lambda _: None) as link:
        yield link.ari


async def test_a_call_is_driven_end_to_end() -> None:
    async with FakeAri() as fake, ari(fake) as rest:
        caller = fake.caller("node-1700000000.1", "1234")
        assert await rest.version() == "22.10.1"
        await rest.answer(caller)
        await rest.create_bridge("vb-bot-c1")
        assert await rest.external_media("vb-bot-c1-media", OFFER) == RtpAddress("127.0.0.1", 18578)
        await rest.add_channel("vb-bot-c1", caller)
        assert [channel.id for channel in await rest.list_channels()] == [caller, "vb-bot-c1-media"]
        assert [bridge.channel_ids for bridge in await rest.list_bridges()] == [(caller,)]
        await rest.hangup("vb-bot-c1-media")
        await rest.delete_bridge("vb-bot-c1")
        await rest.hangup(caller, cause=34)
        assert fake.causes == {"vb-bot-c1-media": "16", caller: "34"}
        assert (fake.channels, fake.bridges) == ({}, {})


@pytest.mark.parametrize(
    ("offer", "asked", "peer"),
    [
        (
            Offer(Medium("rtp", "g722"), "::1", 4000),
            {"external_host": "[::1]:4000", "format": "g722", "encapsulation": "rtp"},
            RtpAddress("127.0.0.1", 18578),
        ),
        (
            Offer(Medium("websocket", "slin16")),
            {"external_host": "INCOMING", "format": "slin16", "connection_type": "server"},
            MediaUrl("ws://127.0.0.1:PORT/media/c0ffee"),
        ),
        (
            Offer(Medium("audiosocket", "slin"), "192.0.2.7", 9092, "a-uuid"),
            {"external_host": "192.0.2.7:9092", "format": "slin", "data": "a-uuid"},
            ConnectsToUs(),
        ),
    ],
)
async def test_each_transport_is_asked_for_in_its_own_words(
    offer: Offer, asked: dict[str, str], peer: Peer
) -> None:
    seen: dict[str, str] = {}

    async def look(request: web.Request, act: Act) -> web.StreamResponse:
        seen.update(request.query)
        return await act()

    async with FakeAri() as fake, ari(fake) as rest:
        fake.faults["external_media"].append(look)
        got = await rest.external_media("m", offer)
        if isinstance(got, MediaUrl):
            got = MediaUrl(got.url.replace(str(fake.port), "PORT"))
    assert got == peer
    assert seen.items() >= asked.items()


async def test_deleting_what_is_gone_is_done() -> None:
    async with FakeAri() as fake, ari(fake) as rest:
        await rest.hangup("1.1")
        await rest.delete_bridge("b")
        with pytest.raises(
            AriError, match=r"POST /channels/1.1/answer: HTTP 404: Channel not found"
        ) as failed:
            await rest.answer("1.1")
        assert failed.value.gone


@pytest.mark.parametrize(
    ("status", "message", "gone"),
    [
        (404, "Channel not found", True),
        (409, "Channel not in Stasis", True),
        (422, "Channel not in Stasis application", True),
        (400, "Channel not found", True),
        (400, "Invalid parameter", False),
        (500, "An internal error prevented this request from being handled", False),
    ],
)
async def test_which_answers_mean_the_channel_is_gone(status: int, message: str, gone: bool) -> None:
    async with FakeAri() as fake, ari(fake) as rest:
        fake.faults["add_channel"].append(answers(status, message))
        with pytest.raises(AriError) as failed:
            await rest.add_channel("b", "1.1")
        assert (failed.value.status, failed.value.gone, failed.value.message) == (status, gone, message)


async def test_no_answer_ends_within_the_limit_and_is_not_asked_again() -> None:
    async with FakeAri() as fake, ari(fake, request_timeout_s=0.1) as rest:
        fake.faults["create_bridge"] += [hangs]
        with pytest.raises(AriError, match=r"POST /bridges/b: no answer: nothing within 0\.1 s") as failed:
            await rest.create_bridge("b")
        assert failed.value.status is None
        assert not failed.value.gone
        assert fake.steps == ["create_bridge"]


async def test_a_lost_answer_is_asked_for_once_more_where_that_is_harmless() -> None:
    async with FakeAri() as fake, ari(fake) as rest:
        fake.faults["create_bridge"] += [acts_and_drops]
        await rest.create_bridge("b")
        assert fake.steps == ["create_bridge", "create_bridge"]
        assert fake.bridges == {"b": set()}
        fake.faults["create_bridge"] += [acts_and_drops, acts_and_drops]
        with pytest.raises(AriError, match="connection lost"):
            await rest.create_bridge("b2")


@pytest.mark.parametrize("step", ["continue", "external_media"])
async def test_what_may_not_happen_twice_is_asked_once(step: str) -> None:
    async with FakeAri() as fake, ari(fake) as rest:
        fake.caller("1.1")
        fake.faults[step] += [acts_and_drops]
        ask = rest.continue_in_dialplan("1.1") if step == "continue" else rest.external_media("m", OFFER)
        with pytest.raises(AriError, match="connection lost"):
            await ask
        assert fake.steps == [step]


async def test_nothing_listening() -> None:
    async with FakeAri() as fake, ari(fake) as rest:
        await fake.stop()
        with pytest.raises(AriError, match="cannot connect: Connect"):
            await rest.answer("1.1")
        await fake.start()


async def test_a_wrong_password_names_the_settings_and_never_itself() -> None:
    async with FakeAri() as fake, ari(fake, password=SecretStr("not-the-password")) as rest:
        with pytest.raises(AriRefused) as refused:
            await rest.answer("1.1")
    said = str(refused.value)
    for name in ("ari.username", "ari.password", "voicebot.yaml", "ari.conf", "'voicebot'"):
        assert name in said
    assert "not-the-password" not in said + repr(refused.value) + repr(refused.value.__dict__)


@pytest.mark.parametrize(
    "text", ["", "null", "{}", "[1]", '[{"name":"no id"}]', '{"channelvars":{}}', "<html>", "7"]
)
async def test_answers_that_make_no_sense(text: str) -> None:
    async def fault(_: web.Request, __: Act) -> web.StreamResponse:
        return web.Response(text=text)

    async with FakeAri() as fake, ari(fake) as rest:
        for step in ("list_channels", "list_bridges", "external_media"):
            fake.faults[step].append(fault)
        for ask in (
            rest.list_channels(),
            rest.list_bridges(),
            rest.external_media("m", OFFER),
        ):
            with pytest.raises(AriError):
                await ask


async def test_a_media_websocket_without_its_id() -> None:
    async def fault(_: web.Request, __: Act) -> web.StreamResponse:
        return web.json_response({"id": "m", "channelvars": {"MEDIA_WEBSOCKET_CONNECTION_ID": ""}})

    async with FakeAri() as fake, ari(fake) as rest:
        fake.faults["external_media"].append(fault)
        with pytest.raises(AriError, match="no MEDIA_WEBSOCKET_CONNECTION_ID in the answer"):
            await rest.external_media("m", Offer(Medium("websocket", "ulaw")))


@pytest.mark.parametrize("port", ["", "x", "123456", 18578, None])
async def test_a_media_port_that_is_none(port: object) -> None:
    async def fault(_: web.Request, __: Act) -> web.StreamResponse:
        found = {"UNICASTRTP_LOCAL_ADDRESS": "127.0.0.1", "UNICASTRTP_LOCAL_PORT": port}
        return web.json_response({"id": "m", "channelvars": found})

    async with FakeAri() as fake, ari(fake) as rest:
        fake.faults["external_media"].append(fault)
        with pytest.raises(AriError, match="no UNICASTRTP_LOCAL_ADDRESS and _PORT"):
            await rest.external_media("m", OFFER)


async def test_ids_are_quoted() -> None:
    async with FakeAri() as fake, ari(fake) as rest:
        fake.caller("Local/1@ctx;2 ü")
        await rest.answer("Local/1@ctx;2 ü")
        assert fake.channels["Local/1@ctx;2 ü"].state == "Up"


async def test_fifty_requests_at_once_share_the_pool_beside_the_event_socket() -> None:
    async with FakeAri() as fake:
        async with AriLink(fake.settings(), "bot", lambda _: None, lambda _: None) as link:
            running = asyncio.create_task(link.run())
            await fake.connected()
            await asyncio.gather(*(link.ari.create_bridge(f"b{i}") for i in range(50)))
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        assert len(fake.bridges) == 50


async def in_half_a_second(_: web.Request, act: Act) -> web.StreamResponse:
    await asyncio.sleep(0.5)
    return await act()


def test_waiting_for_a_connection_is_not_waiting_for_asterisk(virtual_time: RunVirtual) -> None:
    """A burst of callers is handed back by a slow Asterisk, over three connections with a limit of 1 s each time."""

    async def main() -> None:
        async with (
            FakeAri() as fake,
            AriLink(fake.settings(), "bot", lambda _: None, lambda _: None) as link,
        ):
            callers = [fake.caller(f"1.{number}") for number in range(30)]
            fake.faults["continue"] = [in_half_a_second] * len(callers)
            await asyncio.gather(*map(link.exits.continue_in_dialplan, callers))
            assert fake.steps.count("continue") == 30
            assert not fake.channels

    virtual_time(main())


def test_one_waits_for_a_connection_for_so_long(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        async with (
            FakeAri() as fake,
            AriLink(fake.settings(), "bot", lambda _: None, lambda _: None) as link,
        ):
            fake.faults["set_global_variable"] = [hangs] * 100
            many = (link.exits.set_global_variable("a", "1") for _ in range(100))
            failed = await asyncio.gather(*many, return_exceptions=True)
            said = {str(error).rpartition(": ")[2] for error in failed}
            assert said == {"nothing within 1 s", "no connection was free within 10 s"}
            assert asyncio.get_running_loop().time() == pytest.approx(LONGEST_QUEUE_S + 1, abs=1.1)
            # whom nothing was free for took nothing from those who come later
            fake.faults.clear()
            await link.exits.set_global_variable("a", "2")

    virtual_time(main())


def test_the_password_is_not_in_the_settings_repr() -> None:
    assert PASSWORD not in repr(AriSettings(password=SecretStr(PASSWORD)))
