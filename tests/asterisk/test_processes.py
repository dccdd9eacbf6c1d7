"""Several call processes on one Asterisk: `voicebot run --processes 2` and the dialplan that spreads the calls."""

import asyncio
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest_asyncio
import yaml

from caller_phone.phone import Call, Phone
from tests.support.bot import Bot, nothing_left
from tests.support.callers import PATIENCE_S, dial, until
from tests.support.fake_workers import FakeWorkers, fake_workers
from tests.support.rig import HOST, AriProbe, private_asterisk, run_sipp, two_ports
from voicebot.asterisk import AsteriskProcess

ROOT = Path(__file__).parents[2]


@dataclass
class Processes:
    """A running `voicebot run --processes 2`; `bots` are the two by their web ports."""

    supervisor: asyncio.subprocess.Process
    bots: tuple[Bot, Bot]
    mark: str
    log: Path

    def pid(self, number: int) -> int | None:
        """The process id of one of the two, as it runs now."""
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                environ, command = (entry / "environ").read_bytes(), (entry / "cmdline").read_bytes()
            except OSError:  # gone, or another user's
                continue
            words = command.decode(errors="replace").split("\0")
            ours = self.mark.encode() in environ and words[1:4] == ["-P", "-m", "voicebot"]
            if ours and words[-3:-1] == ["--number", str(number)]:
                return int(entry.name)
        return None

    def end(self, number: int, how: signal.Signals) -> int:
        pid = self.pid(number)
        assert pid is not None
        os.kill(pid, how)
        return pid

    async def ready(self, number: int) -> bool:
        try:
            return bool((await self.bots[number - 1].ready())["ready"])
        except aiohttp.ClientError:
            return False

    async def calls(self, number: int) -> int:
        return int((await self.bots[number - 1].ready())["calls"])


@asynccontextmanager
async def processes(
    asterisk: AsteriskProcess, workers: FakeWorkers, folder: Path, *, max_calls: int = 10, drain_s: float = 1
) -> AsyncIterator[Processes]:
    """Both ready for calls."""
    web = two_ports()
    config = {
        "asterisk": {"start": False},
        "ari": {"url": asterisk.ari_url, "password": asterisk.ari_password.get_secret_value()},
        "media": {"port_start": 31_600, "port_end": 31_999, "port_quarantine_s": 0.2},
        "web": {"port": web},
        "workers": {
            "cache_dir": str(folder / "cache"),
            **{
                name: {"start": False, "url": url}
                for name, url in (
                    ("stt", workers.stt_url),
                    ("llm", workers.llm_url),
                    ("tts", workers.tts_url),
                )
            },
        },
        "calls": {"max_calls": max_calls, "drain_s": drain_s},
        "profiles": {"default": {"prompt": "You are a test.", "greeting": "Hello."}},
    }
    (folder / "voicebot.yaml").write_text(yaml.safe_dump(config))
    log = folder / "log"
    with log.open("wb") as output:
        supervisor = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "voicebot", "run", "-c", "voicebot.yaml", "--processes", "2"),
            cwd=folder,
            stdout=output,
            stderr=output,
            env={**os.environ, "PYTHONPATH": str(ROOT), "TEST_OF_PROCESSES": folder.name},
        )
    async with aiohttp.ClientSession() as http:
        first, second = (
            Bot(f"http://{HOST}:{port}", http, asyncio.Event(), asyncio.Event(), lambda: None)
            for port in (web, web + 1)
        )
        running = Processes(supervisor, (first, second), f"TEST_OF_PROCESSES={folder.name}", log)
        try:
            for number in (1, 2):
                await until(lambda number=number: running.ready(number))  # type: ignore[misc]
            yield running
        finally:
            for number in (1, 2):
                if (pid := running.pid(number)) is not None:
                    os.kill(pid, signal.SIGKILL)
            if supervisor.returncode is None:
                supervisor.kill()
            await supervisor.wait()


@pytest_asyncio.fixture
async def asterisk() -> AsyncIterator[AsteriskProcess]:
    async with private_asterisk(bot_processes=2) as process:
        yield process


@pytest_asyncio.fixture
async def workers() -> AsyncIterator[FakeWorkers]:
    async with fake_workers() as fakes:
        yield fakes


async def test_calls_are_spread_and_go_on_to_who_has_room(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    async with processes(asterisk, workers, tmp_path, max_calls=2) as both, Phone() as phone:
        async with AsyncExitStack() as stack:
            # wherever each was sent first, all four have a place
            await dial(stack, phone, asterisk, 4)
            assert (await both.calls(1), await both.calls(2)) == (2, 2)
            # a fifth finds none: the dialplan says so and hangs up
            (fifth,) = await dial(stack, phone, asterisk, 1)
            await fifth.wait_for_end(30)
            assert fifth.cause == 17
            for bot in both.bots:
                assert await bot.metric("voicebot_calls_refused_total", reason="full") >= 1
        for bot in both.bots:
            await bot.until_idle()
        both.supervisor.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(both.supervisor.wait(), PATIENCE_S) == 0
    await nothing_left(asterisk)
    log = both.log.read_text()
    assert "Traceback" not in log
    assert re.search(r"^\S+ \S+ voicebot-2 INFO +stasis_app", log, re.MULTILINE), log


async def test_a_killed_one_takes_no_call_and_comes_back(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    async with processes(asterisk, workers, tmp_path) as both, Phone() as phone:
        async with AsyncExitStack() as stack:
            killed = both.end(1, signal.SIGKILL)
            await until(lambda: has_no_app(asterisk, "voicebot"))
            # a new process is not there for some seconds
            await dial(stack, phone, asterisk, 6)
            back = await both.calls(1) if await both.ready(1) else 0
            assert await both.calls(2) + back == 6
            assert await both.calls(2), "half of them would have gone to the killed one"
        await until(lambda: both.ready(1))
        assert both.pid(1) != killed
        await both.bots[1].until_idle()
    await nothing_left(asterisk)


async def test_one_that_is_stopped_drains_while_the_other_takes_the_calls(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    async with processes(asterisk, workers, tmp_path, drain_s=60) as both, Phone() as phone:
        async with AsyncExitStack() as stack:
            running: list[Call] = []
            while not await both.calls(1):
                running += await dial(stack, phone, asterisk, 1)
            was_there = await both.calls(1), await both.calls(2)
            stopped = both.end(1, signal.SIGTERM)
            await until(lambda: draining(both))
            await dial(stack, phone, asterisk, 3)
            assert (await both.calls(1), await both.calls(2)) == (was_there[0], was_there[1] + 3)
            assert all(call.is_up for call in running)
        # its last call is over: it ends, and a new one is started
        await until(lambda: both.pid(1) not in (None, stopped))
        await until(lambda: both.ready(1))
        assert "calls ended with exit code 0, starts again" in both.log.read_text()
    await nothing_left(asterisk)


async def draining(both: Processes, number: int = 1) -> bool:
    return bool((await both.bots[number - 1].ready())["parts"]["calls"] == "draining")


async def has_no_app(asterisk: AsteriskProcess, app: str) -> bool:
    """Asterisk has seen the end of its connection."""
    return app not in (await asterisk.cli("ari show apps")).split()


async def test_both_let_their_calls_finish_when_all_are_stopped(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    """P10: nobody new, nobody cut, and an end as soon as the last has gone."""
    async with processes(asterisk, workers, tmp_path, drain_s=600) as both, Phone() as phone:
        async with AsyncExitStack() as stack:
            calls = await dial(stack, phone, asterisk, 1)
            while not await both.calls(1) or not await both.calls(2):
                calls += await dial(stack, phone, asterisk, 1)
            both.supervisor.send_signal(signal.SIGTERM)
            for number in (1, 2):
                await until(lambda number=number: draining(both, number))  # type: ignore[misc]
            (late,) = await dial(stack, phone, asterisk, 1)
            await late.wait_for_end(30)
            assert late.cause == 41, "the dialplan's answer"
            assert await both.calls(1) + await both.calls(2) == len(calls)
            assert all(call.is_up for call in calls)
        assert await asyncio.wait_for(both.supervisor.wait(), PATIENCE_S) == 0
    await nothing_left(asterisk)
    log = both.log.read_text()
    assert log.count(" ended after ") == len(calls)
    assert log.count("caller_hung_up") == len(calls)


async def test_who_loses_its_app_ends_all_with_its_exit_code(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    async with processes(asterisk, workers, tmp_path) as both, AriProbe(asterisk, "voicebot-2"):
        assert await asyncio.wait_for(both.supervisor.wait(), PATIENCE_S) == 75
        assert both.pid(1) is None
    assert "calls-2 ended with exit code 75" in both.log.read_text()


async def test_a_second_signal_hands_the_callers_back(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    async with processes(asterisk, workers, tmp_path, drain_s=600) as both, Phone() as phone:
        async with AsyncExitStack() as stack:
            calls = await dial(stack, phone, asterisk, 3)
            both.supervisor.send_signal(signal.SIGINT)
            await until(lambda: "Stopping." in both.log.read_text())
            both.supervisor.send_signal(signal.SIGINT)
            # the dialplan's fallback speaks, then hangs up
            await asyncio.gather(*(call.wait_for_end(30) for call in calls))
            assert [call.cause for call in calls] == [41, 41, 41]
        assert await asyncio.wait_for(both.supervisor.wait(), PATIENCE_S) == 130
    await nothing_left(asterisk)


async def test_which_is_asked_first_is_drawn_by_lot(asterisk: AsteriskProcess) -> None:
    async with AriProbe(asterisk) as first, AriProbe(asterisk, "voicebot-2") as second:
        taken: Counter[int] = Counter()

        async def take(bot: AriProbe, number: int) -> None:
            while True:
                start = await bot.event("StasisStart", PATIENCE_S)
                assert start["args"] == ["profile=default"]
                taken[number] += 1
                await bot.call("DELETE", f"channels/{start['channel']['id']}")

        taking = [asyncio.create_task(take(first, 1)), asyncio.create_task(take(second, 2))]
        await run_sipp("uac_silent", asterisk, calls=24, rate=40, keys={"rtp_port": "9"})
        for task in taking:
            task.cancel()
        await asyncio.wait(taking)
    # none of 24 goes to one of them once in 8 million runs
    assert taken[1] + taken[2] == 24
    assert min(taken[1], taken[2]) > 0, taken
