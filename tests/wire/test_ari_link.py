"""The whole link against a small ARI server: loss, return, refusal, take-over, the look afterwards (D5, D6, A10)."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
from aiohttp import web
from pydantic import SecretStr

from stasis_app.ari.backoff import Waits
from stasis_app.ari.errors import AppReplaced, AriRefused, AsteriskTooOld
from stasis_app.ari.events import ChannelEvent, ChannelGone, ChannelHold, ChannelUnhold, StasisStart
from stasis_app.ari.link import AriLink
from stasis_app.ari.stream import Connected, Down, LinkState, Lost, Replaced
from tests.support.fake_ari import Act, FakeAri, FakeChannel, answers, hangs, until

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]
FAST = Waits(first_s=0.01, starting_s=0.02, most_s=0.05)


@dataclass
class Rig:
    fake: FakeAri
    link: AriLink
    running: asyncio.Task[None]
    calls: list[StasisStart]
    states: list[LinkState]
    handed_back: list[str]


@asynccontextmanager
async def rig(fake: FakeAri, waits: Waits = FAST, run: str = "", **changes: object) -> AsyncIterator[Rig]:
    calls: list[StasisStart] = []
    states: list[LinkState] = []
    handed_back: list[str] = []
    async with AriLink(
        *(fake.settings(**changes), "bot", calls.append, states.append, waits),
        run=run,
        on_handed_back=handed_back.append,
    ) as link:
        running = asyncio.create_task(link.run())
        try:
            yield Rig(fake, link, running, calls, states, handed_back)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        assert not link.connected


async def test_calls_arrive_once_and_garbage_does_no_harm() -> None:
    async with FakeAri() as fake, rig(fake) as world:
        await fake.connected()
        for text in (
            "",
            "nonsense",
            "[]",
            '{"type":"StasisStart"}',
            json.dumps({"type": "X", "blob": "x" * 1_000_000}),
        ):
            fake.send_text(text)
        await fake.sockets[0].send_bytes(b"\x00\xff")
        fake.caller("1.1", "1234")
        fake.caller("1.1", "1234")
        fake.send("StasisEnd", channel={"id": "7.7"})
        fake.caller("1.2")
        await until(lambda: len(world.calls) == 2)
        assert [(call.channel_id, call.args) for call in world.calls] == [("1.1", ("1234",)), ("1.2", ())]
        counts = world.link.counts
        assert (counts.malformed_events, counts.foreign_events, counts.duplicate_starts) == (6, 1, 1)
        assert world.states == [Connected()]
        assert world.link.connected


async def test_a_handler_that_fails_ends_no_other_call(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[str] = []

    def on_call(start: StasisStart) -> None:
        seen.append(start.channel_id)
        if start.channel_id == "1.1":
            raise KeyError("a defect")

    async with FakeAri() as fake, AriLink(fake.settings(), "bot", on_call, lambda _: None) as link:
        running = asyncio.create_task(link.run())
        await fake.connected()
        fake.caller("1.1")
        fake.caller("1.2")
        await until(lambda: seen == ["1.1", "1.2"])
        assert link.counts.failed_handlers == 1
        assert "a defect" in caplog.text
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@pytest.mark.parametrize("how", ["clean", "reset", "restart"])
async def test_a_lost_link_comes_back_and_ended_calls_are_told(how: str) -> None:
    async with FakeAri() as fake, rig(fake) as world:
        await fake.connected()
        fake.caller("1.1")
        fake.caller("1.2")
        await until(lambda: len(world.calls) == 2)
        with world.link.hub.subscribe("1.1") as ended, world.link.hub.subscribe("1.2") as going_on:
            # hung up in the gap: nobody is told
            channel = fake.channels.pop("1.1")
            if how == "clean":
                await fake.close_sockets()
            elif how == "reset":
                fake.abort_sockets()
            else:
                await fake.stop()
                fake.handshakes = [404, 503, 503]
                await until(lambda: Lost in map(type, world.states))
                assert not world.link.connected
                await fake.start()
            await fake.connected(2)
            async with asyncio.timeout(10):
                event = await anext(ended)
            assert isinstance(event, ChannelGone)
            assert event.channel_id == channel.id
            async with asyncio.timeout(10):
                assert isinstance(
                    await anext(going_on), ChannelUnhold
                )  # it was asked: events may have been lost
                fake.send("ChannelHold", channel={"id": "1.2"})
                assert isinstance(await anext(going_on), ChannelHold)
        kinds = [type(state) for state in world.states]
        # a port that is closed, or a 404 while ARI is not loaded yet, tells that it was a restart
        assert kinds == [Connected, Lost, *([Down] if how == "restart" else []), Connected]
        assert set(world.link.hub.callers) == {"1.2"}


async def test_a_socket_that_closes_cleanly_again_and_again_is_no_hot_loop(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with FakeAri() as fake:
        fake.drops = 1000
        with caplog.at_level(logging.INFO):
            async with rig(fake, Waits()):
                await asyncio.sleep(1.2)
        # waits of at least 0.125, 0.25, 0.5 and 1 s fit four connects into 1.2 s
        assert 1 <= fake.connects <= 4
        assert len(caplog.messages) <= 6
        assert sum("trying again" in message for message in caplog.messages) == 1


async def test_an_outage_is_one_line_whatever_the_tries(caplog: pytest.LogCaptureFixture) -> None:
    async with FakeAri() as fake:
        fake.handshakes = [404, 503, 500, 503] * 3
        with caplog.at_level(logging.INFO):
            async with rig(fake) as world:
                await until(lambda: world.link.connected)
        assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
        assert "HTTP 404; trying again" in caplog.messages[0]


async def test_an_address_without_ari_is_told_in_words_once(caplog: pytest.LogCaptureFixture) -> None:
    async with FakeAri() as fake:
        fake.handshakes = [404] * 100
        with caplog.at_level(logging.ERROR):
            async with rig(fake, replace(FAST, no_page_s=0.1)) as world:
                await until(lambda: not fake.handshakes)
                await until(lambda: world.link.connected)
        assert len(caplog.messages) == 1
        assert all(
            word in caplog.messages[0] for word in (f":{fake.port}", "prefix", "module show like res_ari")
        )


async def test_a_silent_partition_is_noticed_by_the_heartbeat() -> None:
    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream_reader, upstream = await asyncio.open_connection("127.0.0.1", fake.port)
        pumps = [
            asyncio.create_task(pump(reader, upstream)),
            asyncio.create_task(pump(upstream_reader, writer)),
        ]
        try:
            await asyncio.wait(pumps)
        finally:
            for task in pumps:
                task.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            upstream.close()
            writer.close()

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            await passing.wait()
            sink.write(data)
        sink.close()

    passing = asyncio.Event()
    passing.set()
    async with FakeAri() as fake:
        relay = await asyncio.start_server(deaf, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{relay.sockets[0].getsockname()[1]}"
        async with rig(fake, url=url, heartbeat_s=0.2, request_timeout_s=0.2) as world:
            await until(lambda: world.link.connected)
            passing.clear()
            await until(lambda: not world.link.connected)
            state = world.states[1]
            assert isinstance(state, Lost)
            assert "pong" in state.reason.lower()
            passing.set()
            await until(lambda: world.link.connected)
        relay.close()
        await relay.wait_closed()


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_login_is_fatal(status: int) -> None:
    async with FakeAri() as fake:
        fake.handshakes = [status]
        async with rig(fake) as world:
            with pytest.raises(AriRefused, match=r"ari\.username and ari\.password in voicebot\.yaml"):
                await world.running
            assert fake.connects == 0


async def test_a_wrong_password_is_fatal() -> None:
    async with FakeAri() as fake, rig(fake, password=SecretStr("wrong")) as world:
        with pytest.raises(AriRefused):
            await world.running


async def test_a_user_that_may_only_read_is_fatal_before_the_first_caller() -> None:
    async with FakeAri(read_only=True) as fake, rig(fake) as world:
        with pytest.raises(AriRefused, match=r"DELETE .*HTTP 403.*read_only=no"):
            await world.running


async def test_a_right_that_is_taken_away_is_fatal_whoever_finds_out() -> None:
    async with FakeAri() as fake, rig(fake) as world:
        await until(lambda: "list_bridges" in fake.steps)
        fake.read_only = True
        with pytest.raises(AriRefused):
            await world.link.exits.continue_in_dialplan("1.1")
        with pytest.raises(AriRefused, match=r"POST /channels/1\.1/continue"):
            await world.running


@pytest.mark.parametrize(
    ("now", "told"), [(True, ChannelHold), (False, ChannelUnhold), (None, ChannelUnhold)], ids=str
)
async def test_after_a_gap_each_caller_is_known_to_be_on_hold_or_not(
    now: bool | None, told: type[ChannelEvent]
) -> None:
    async with FakeAri() as fake, rig(fake) as world:
        await fake.connected()
        fake.caller("1.1")
        await until(lambda: len(world.calls) == 1)
        with world.link.hub.subscribe("1.1") as news:
            fake.channels["1.1"].held = now
            fake.abort_sockets()
            await fake.connected(2)
            async with asyncio.timeout(10):
                assert isinstance(await anext(news), told)


async def test_a_hold_that_is_told_counts_more_than_an_older_answer() -> None:
    async with FakeAri() as fake, rig(fake) as world:
        await fake.connected()
        fake.caller("1.1")
        await until(lambda: len(world.calls) == 1)
        with world.link.hub.subscribe("1.1") as news:

            async def late(_: web.Request, act: Act) -> web.StreamResponse:
                answer = await act()
                fake.send("ChannelHold", channel={"id": "1.1"})
                await asyncio.sleep(0.2)  # the event is read before this answer
                return answer

            fake.faults["get_variable"] = [late]
            fake.abort_sockets()
            await fake.connected(2)
            await until(lambda: not fake.faults["get_variable"])
            await asyncio.sleep(0.4)
            assert [type(event) for event in news.unread()] == [ChannelHold]


async def test_holds_are_asked_for_again_when_asterisk_did_not_answer() -> None:
    async with FakeAri() as fake, rig(fake) as world:
        await fake.connected()
        fake.caller("1.1")
        await until(lambda: len(world.calls) == 1)
        with world.link.hub.subscribe("1.1") as news:
            fake.channels["1.1"].held = True
            fake.faults["get_variable"] = [hangs]
            fake.abort_sockets()
            async with asyncio.timeout(10):
                assert isinstance(await anext(news), ChannelHold)


async def test_being_replaced_is_fatal_and_calls_can_still_be_ended() -> None:
    async with FakeAri() as fake, rig(fake) as first:
        await fake.connected()
        fake.caller("1.1")
        fake.caller("1.2")
        await until(lambda: len(first.calls) == 2)
        fake.send("ApplicationReplaced")
        with pytest.raises(AppReplaced, match="another client took over the ARI app 'voicebot'"):
            await first.running
        assert first.states == [Connected(), Replaced()]
        fake.channels.pop("1.1")
        with first.link.hub.subscribe("1.1") as events:
            await first.link.ask_after_calls()
            assert isinstance(await anext(events), ChannelGone)
        await first.link.ari.hangup("1.2")
        assert fake.channels == {}


async def test_a_second_link_on_the_app_replaces_the_first() -> None:
    async with FakeAri() as fake, rig(fake) as first:
        await fake.connected()
        async with rig(fake) as second:
            with pytest.raises(AppReplaced):
                await first.running
            fake.caller("1.1")
            await until(lambda: len(second.calls) == 1)
        assert first.calls == []


@pytest.mark.parametrize("run", ["", "now"])
async def test_leftovers_of_a_killed_bot_are_cleared_and_its_callers_handed_back(run: str) -> None:
    async with FakeAri() as fake:
        fake.channels = {
            "1.1": FakeChannel("1.1", "PJSIP/a", app_data="voicebot,1234", state="Up"),
            "vb-bot-old-media": FakeChannel("vb-bot-old-media", "UnicastRTP/x"),
            "vb-bot2-c-media": FakeChannel("vb-bot2-c-media", "UnicastRTP/y"),
        }
        fake.bridges = {"vb-bot-old": {"1.1", "vb-bot-old-media"}, "vb-bot2-c": {"vb-bot2-c-media"}}
        async with rig(fake, run=run) as world:
            await until(lambda: set(fake.channels) == {"vb-bot2-c-media"})
            await until(lambda: set(fake.bridges) == {"vb-bot2-c"})
            assert world.calls == []
            await until(lambda: world.handed_back == ["stopped"])
        assert fake.steps.count("continue") == 1
        assert fake.steps.index("variable") < fake.steps.index("continue")
        assert fake.variables == {"1.1": {"VOICEBOT_REASON": "stopped"}}
        assert "1.1" not in fake.causes, "handed back, not hung up"


def test_the_calls_of_a_replaced_run_are_its_own_until_it_dies(virtual_time: RunVirtual) -> None:
    """A7: the newcomer touches nothing while the first counts up its variable, and all once that stands still."""

    async def main() -> None:
        async with FakeAri() as fake, rig(fake, run="first") as first:
            await fake.connected()
            fake.channels = {
                "1.1": FakeChannel("1.1", "PJSIP/a", state="Up"),
                "vb-bot-first.c-media": FakeChannel("vb-bot-first.c-media", "UnicastRTP/x"),
            }
            fake.bridges = {"vb-bot-first.c": {"1.1", "vb-bot-first.c-media"}}
            with first.link.hub.leg("c"):
                async with rig(fake, run="newcomer") as newcomer:
                    with pytest.raises(AppReplaced):
                        await first.running
                    living = asyncio.create_task(first.link.show_life())
                    await asyncio.sleep(60)
                    assert set(fake.channels) == {"1.1", "vb-bot-first.c-media"}
                    # a call that nobody serves is no matter of the first's
                    fake.channels["1.2"] = FakeChannel("1.2", "PJSIP/b", state="Up")
                    newcomer.link.hub.doubt()
                    await asyncio.sleep(8)
                    assert newcomer.handed_back == ["stopped"]
                    assert set(fake.bridges) == {"vb-bot-first.c"}
                    # killed: its last word stays
                    beat = fake.globals["VOICEBOT_RUN_first"]
                    living.cancel()
                    await asyncio.wait({living})
                    assert fake.globals["VOICEBOT_RUN_first"] == ""
                    fake.globals["VOICEBOT_RUN_first"] = beat
                    await asyncio.sleep(15)
                    assert fake.channels == {}
                    assert fake.bridges == {}
                    assert newcomer.handed_back == ["stopped", "stopped"]

    virtual_time(main())


async def test_a_caller_whose_start_was_lost_in_a_gap_is_taken() -> None:
    async with FakeAri() as fake, rig(fake) as world:
        await fake.connected()
        fake.channels["1.1"] = FakeChannel("1.1", "PJSIP/a", app_data="voicebot,profile=workshop")
        fake.abort_sockets()
        await until(lambda: len(world.calls) == 1)
        fake.caller("1.1", "profile=workshop")
        fake.caller("1.2")
        await until(lambda: len(world.calls) == 2)
        assert [(call.channel_id, call.args) for call in world.calls] == [
            ("1.1", ("profile=workshop",)),
            ("1.2", ()),
        ]
        assert "continue" not in fake.steps


async def test_a_caller_in_the_list_before_its_start_was_read_is_not_handed_back() -> None:
    async with FakeAri() as fake:
        fake.channels["1.1"] = FakeChannel("1.1", "PJSIP/a", state="Up")
        async with rig(fake) as world:
            await until(lambda: "list_bridges" in fake.steps)
            fake.caller("1.1")
            await until(lambda: fake.steps.count("list_bridges") == 2)
            world.link.hub.doubt()
            await until(lambda: fake.steps.count("list_bridges") == 3)
            assert len(world.calls) == 1
        assert "continue" not in fake.steps


async def test_a_caller_who_comes_while_the_lists_are_made_is_not_gone() -> None:
    async with FakeAri() as fake, rig(fake) as world:

        async def late(_: web.Request, act: Act) -> web.StreamResponse:
            answer = await act()
            fake.caller("1.1")
            await until(lambda: len(world.calls) == 1)
            return answer

        fake.faults["list_channels"].append(late)
        await until(lambda: fake.steps.count("list_bridges") == 1)
        world.link.hub.doubt()
        await until(lambda: fake.steps.count("list_bridges") == 2)
        assert set(world.link.hub.callers) == {"1.1"}


async def done(_: web.Request, act: Act) -> web.StreamResponse:
    return await act()


async def test_a_look_that_fails_is_tried_again() -> None:
    async with FakeAri() as fake:
        fake.bridges = {"vb-bot-old": set()}
        fake.faults["list_bridges"].append(answers(500))
        fake.faults["delete_bridge"] += [answers(500), done, answers(500)]
        async with rig(fake):
            await until(lambda: not fake.bridges)
        # twice the question whether the bot may delete anything
        assert fake.steps.count("delete_bridge") == 4


async def test_an_asterisk_that_tells_events_and_answers_nothing_is_known_as_such(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As without res_ari_channels: callers had better go elsewhere. One bridge that stays is no reason for that."""
    monkeypatch.setattr("stasis_app.ari.link.LOOK_PAUSE_S", 0.1)
    async with FakeAri() as fake, rig(fake) as world:
        await fake.connected()
        assert world.link.answers
        fake.faults["list_channels"] += [answers(404)] * 4
        world.link.hub.doubt()
        await until(lambda: not world.link.answers)
        assert world.link.connected
        await until(lambda: world.link.answers)
        fake.bridges = {"vb-bot-old": set()}
        fake.faults["delete_bridge"] += [answers(500)] * 6
        world.link.hub.doubt()
        await until(lambda: not fake.faults["delete_bridge"])
        assert world.link.answers


async def test_a_too_old_asterisk_is_fatal() -> None:
    async with FakeAri(version="16.28.0") as fake, rig(fake) as world:
        with pytest.raises(AsteriskTooOld, match=r"16\.28\.0"):
            await world.running


async def test_an_old_asterisk_is_warned_of_once_a_connection(caplog: pytest.LogCaptureFixture) -> None:
    async with FakeAri(version="20.6.0") as fake, rig(fake) as world:
        await until(lambda: "older than 22.10.1" in caplog.text)
        world.link.hub.doubt()
        await until(lambda: fake.steps.count("list_bridges") == 2)
        assert fake.steps.count("info") == 1


def test_a_process_without_events_says_that_it_lives_while_it_has_calls(virtual_time: RunVirtual) -> None:
    """A7: another one may take the app meanwhile, and nobody tells."""

    async def main() -> None:
        async with FakeAri() as fake, rig(fake, run="a") as world:
            await fake.connected()
            caller = fake.caller("1.1")
            await until(lambda: bool(world.calls))
            fake.handshakes = [503] * 10_000
            await fake.close_sockets()
            await asyncio.sleep(5)
            assert int(fake.globals["VOICEBOT_RUN_a"]) >= 9
            fake.handshakes.clear()
            await fake.connected(2)
            await asyncio.sleep(1)
            assert fake.globals == {"VOICEBOT_RUN_a": ""}
            # one without calls has nothing to say
            fake.end(caller)
            await until(lambda: not world.link.hub.callers)
            fake.globals.clear()
            fake.handshakes = [503] * 20
            await fake.close_sockets()
            await fake.connected(3)
            await asyncio.sleep(1)
            assert fake.globals == {}

    virtual_time(main())


def test_a_process_says_that_it_lives_while_hand_backs_hang(virtual_time: RunVirtual) -> None:
    """A7: for the newcomer would take its calls as left behind otherwise."""

    async def main() -> None:
        async with FakeAri() as fake, rig(fake, run="a") as world:
            await fake.connected()
            fake.faults["continue"] = [hangs] * 3
            stuck = [
                asyncio.create_task(world.link.exits.continue_in_dialplan(fake.caller(f"1.{n}")))
                for n in range(3)
            ]
            await until(lambda: fake.steps.count("continue") == 3)
            life = asyncio.create_task(world.link.show_life())
            await asyncio.sleep(0.9)
            assert fake.globals == {"VOICEBOT_RUN_a": "2"}
            assert not any(one.done() for one in stuck)
            life.cancel()
            await asyncio.gather(life, *stuck, return_exceptions=True)
            assert fake.globals == {"VOICEBOT_RUN_a": ""}

    virtual_time(main())
