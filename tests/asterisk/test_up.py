"""`voicebot up` as a process: a real Asterisk, the real call process, workers that the test plays."""

import asyncio
import os
import re
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import yaml

from caller_phone.phone import Phone
from caller_phone.speech_file import load
from tests.support.fake_workers import FakeWorkers, SttRequest, fake_workers
from tests.support.rig import free_ports, two_ports
from voicebot.speech import speech_file

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60.0


@dataclass
class Up:
    """A running `voicebot up`. Everything it starts carries `mark` in its environment."""

    process: asyncio.subprocess.Process
    mark: str
    folder: Path
    ports: dict[str, int]
    lines: list[str] = field(default_factory=list)

    async def said(self, pattern: str) -> str:
        """The first line that has `pattern`; those before it are kept in `lines`."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            for line in self.lines:
                if re.search(pattern, line):
                    return line
            while raw := await self.process.stdout.readline():
                self.lines.append(raw.decode().rstrip())
                if re.search(pattern, self.lines[-1]):
                    return self.lines[-1]
        raise AssertionError(f"it never said {pattern}:\n" + "\n".join(self.lines))

    async def rest(self) -> tuple[int, str]:
        """Its exit code and all it said."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            self.lines += (await self.process.stdout.read()).decode().splitlines()
            return await self.process.wait(), "\n".join(self.lines)

    def pids(self, part: str = "") -> list[int]:
        """Processes of this run; those whose command line has `part`."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                environ, command = (entry / "environ").read_bytes(), (entry / "cmdline").read_bytes()
            except OSError:  # gone, or another user's
                continue
            if self.mark.encode() in environ and part in command.replace(b"\0", b" ").decode(
                errors="replace"
            ):
                found.append(int(entry.name))
        return found


def settings(fakes: FakeWorkers) -> tuple[dict[str, object], dict[str, int]]:
    web, http = free_ports(2, socket.SOCK_STREAM)
    ports = {"web": web, "http": http, "sip": free_ports(1)[0]}
    workers = {
        name: {"start": False, "url": url}
        for name, url in (("stt", fakes.stt_url), ("llm", fakes.llm_url), ("tts", fakes.tts_url))
    }
    config: dict[str, object] = {
        "asterisk": {"sip_port": ports["sip"], "http_port": http, "rtp_start": 31000, "rtp_end": 31399},
        "media": {"port_start": 31400, "port_end": 31598},
        "web": {"port": web},
        "workers": workers,
        "calls": {"drain_s": 1},
    }
    return config, ports


@asynccontextmanager
async def up(
    folder: Path, config: dict[str, object], ports: dict[str, int], command: str = "up"
) -> AsyncIterator[Up]:
    (folder / "voicebot.yaml").write_text(yaml.safe_dump(config))
    mark = f"TEST_OF_UP={folder.name}"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "voicebot", command, "-c", "voicebot.yaml"),
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TEST_OF_UP": folder.name},
    )
    running = Up(process, mark, folder, ports)
    try:
        yield running
    finally:
        for pid in running.pids():
            os.kill(pid, signal.SIGKILL)
        await process.communicate()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - what is waited for is outside this process
            await asyncio.sleep(0.05)


def run_folders() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob(f"voicebot-{os.getuid()}-*"))


async def test_it_shows_every_part_and_leaves_nothing_after_ctrl_c(tmp_path: Path) -> None:
    before = run_folders()
    async with fake_workers() as fakes:
        config, ports = settings(fakes)
        async with up(tmp_path, config, ports) as running:
            await running.said("^Stop it:")
            rows = {
                line.split()[0]: line
                for line in running.lines
                if re.match(r"(Asterisk|stt|llm|tts|calls)  ", line)
            }
            assert re.search(rf"sip:127\.0\.0\.1:{ports['sip']}, .*ready \(\d+\.", rows["Asterisk"])
            assert re.search(rf"{fakes.stt_url} +ready \(FakeStt\)$", rows["stt"])
            assert re.search(rf"http://127\.0\.0\.1:{ports['web']} +ready$", rows["calls"])
            assert f"sip:1000@127.0.0.1:{ports['sip']}" in await running.said("^Call it:")
            assert len(run_folders() - before) >= 1
            running.process.send_signal(signal.SIGINT)
            code, said = await running.rest()
            assert code == 130, said
            assert "Stopping." in said
            assert "Traceback" not in said
            await until(lambda: not running.pids())
    assert run_folders() <= before
    assert (tmp_path / "var" / "log" / "calls.log").exists()


async def test_parts_that_die_are_started_again(tmp_path: Path) -> None:
    async with fake_workers() as fakes:
        config, ports = settings(fakes)
        async with up(tmp_path, config, ports) as running:
            await running.said("^Stop it:")
            (calls,) = running.pids("voicebot run")
            os.kill(calls, signal.SIGKILL)
            await running.said(r"^calls was killed by SIGKILL, starts again in 0\.5 s\.")
            await running.said("^calls is ready again")
            (asterisk,) = running.pids("asterisk.conf")
            os.kill(asterisk, signal.SIGKILL)
            await running.said("^Asterisk was killed by SIGKILL")
            await running.said("^Asterisk is up again")
            await until(lambda: len(running.pids("asterisk.conf")) == 1)
            running.process.send_signal(signal.SIGTERM)
            code, said = await running.rest()
            assert code == 0, said


async def test_two_call_processes_share_the_calls(tmp_path: Path) -> None:
    async with fake_workers() as fakes:
        config, ports = settings(fakes)
        ports["web"] = two_ports()
        config["web"] = {"port": ports["web"]}
        # Asterisk connects to the one that has the call
        config["media"] = {"transport": "audiosocket", "audiosocket_port": two_ports(ports["web"] + 2)}
        config["calls"] = {"drain_s": 1, "processes": 2, "max_calls": 1}
        async with up(tmp_path, config, ports) as running, Phone() as phone:
            await running.said("^Stop it:")
            for name, port in (("calls", ports["web"]), ("calls-2", ports["web"] + 1)):
                row = rf"^{name} +cpu +http://127\.0\.0\.1:{port} +ready$"
                assert any(re.match(row, line) for line in running.lines), running.lines
            uri = f"sip:1000@127.0.0.1:{ports['sip']}"
            async with phone.call(uri) as first, phone.call(uri) as second:
                for call in (first, second):
                    await call.wait_for_bot_speech(10, since_s=call.answered_s)
                # each has one, and no more than one
                async with phone.call(uri) as third:
                    await third.wait_for_end(30)
                    assert third.cause == 17
                assert first.is_up
                assert second.is_up
            running.process.send_signal(signal.SIGINT)
            code, said = await running.rest()
            assert code == 130, said
            await until(lambda: not running.pids())
    for name in ("calls", "calls-2"):
        assert (tmp_path / "var" / "log" / f"{name}.log").exists()


async def test_killed_it_takes_everything_along(tmp_path: Path) -> None:
    async with fake_workers() as fakes:
        config, ports = settings(fakes)
        async with up(tmp_path, config, ports) as running:
            await running.said("^Stop it:")
            assert len(running.pids()) >= 3
            running.process.kill()
            await until(lambda: not running.pids())


async def test_a_port_in_use_is_told_before_anything_starts(tmp_path: Path) -> None:
    async with fake_workers() as fakes:
        config, ports = settings(fakes)
        with socket.create_server(("127.0.0.1", ports["web"])):
            async with up(tmp_path, config, ports) as running:
                code, said = await running.rest()
    assert code == 2
    assert f"voicebot: TCP port {ports['web']} on 127.0.0.1 (web.port) is in use" in said
    assert not (tmp_path / "var").exists()


async def test_a_worker_elsewhere_that_is_down_is_shown_with_why(tmp_path: Path) -> None:
    async with fake_workers() as fakes:
        config, ports = settings(fakes)
        fakes.llm.ready = False
        async with up(tmp_path, config, ports) as running:
            await running.said("^Stop it:")
            assert any(re.match("llm .*not ready: ", line) for line in running.lines), running.lines
            assert any(re.match("calls .*not ready: waits for llm", line) for line in running.lines), (
                running.lines
            )
            fakes.llm.ready = True
            await running.said("^llm is ready again")
            await running.said("^calls is ready again")


DEMO_WORDS = {
    "price01": ["How much is it?"],
    "hum01": ["Mm-hmm."],
    "pause01": ["Put me down for", "Put me down for Thursday,", "Put me down for Thursday at eleven."],
    "cough01": [""],
    "pay01": ["Can I pay by card?"],
    "repeat01": ["Say that again?"],
}
DEMO_ANSWERS = {
    "How much is it?": "It costs nineteen dollars, and the first month is free.",
    "Put me down for": "What for?",  # begun in its pauses, and not to be heard
    "Put me down for Thursday,": "What time?",
    "Put me down for Thursday at eleven.": "Thursday at eleven is fine, and I have put you down.",
    "Can I pay by card?": "Yes, every card is taken, also over the phone.",
    "Say that again?": "Yes, it is.",
}
PIECE = 400
PARTS_S = (2.0, 3.1)  # of pause01: as much of it ends in its first pause, or in its second


def heard_in_the_demo(request: SttRequest) -> str:
    """The recogniser knows the clips by their sound."""
    pcm = np.frombuffer(request.pcm, "<i2").astype(float)
    loudest = int(np.argmax(np.convolve(np.square(pcm), np.ones(PIECE), "valid")))
    piece = pcm[loudest : loudest + PIECE]

    def likeness(clip: str) -> float:
        samples = load(speech_file(clip)).astype(float)
        levels = np.sqrt(np.convolve(np.square(samples), np.ones(PIECE), "valid"))
        return float(np.max(np.correlate(samples, piece, "valid") / np.maximum(levels, 1.0)))

    words = DEMO_WORDS[max(DEMO_WORDS, key=likeness)]
    return words[sum(request.seconds > end for end in PARTS_S[: len(words) - 1])]


async def test_the_demo_shows_what_was_said_and_how_fast(tmp_path: Path) -> None:
    async with fake_workers() as fakes:
        fakes.stt.choose = heard_in_the_demo
        fakes.llm.choose = lambda messages: DEMO_ANSWERS[messages[-1]["content"]]
        config, ports = settings(fakes)
        async with up(tmp_path, config, ports, "demo") as running:
            code, said = await running.rest()
            assert code == 0, said
            for asked in ("How much is it?", "Put me down for Thursday at eleven."):
                assert f"  caller: {asked}\n  bot:    {DEMO_ANSWERS[asked]}\n" in said
            assert re.search(r"  caller: Can I pay by card\?\n  bot:    Yes.* -- \(interrupted\)\n", said)
            assert "  bot:    Yes, it is.\n" in said
            for question in ("price01.wav", "pause01.wav", "pay01.wav", "repeat01.wav"):
                assert re.search(rf"^{question} +yes +\d+ ms", said, re.MULTILINE), said
            for turn_taken in (
                r"pause01\.wav, with pauses of \d+ ms and \d+ ms inside: waited for, answered \d+ ms after its end",
                r"repeat01\.wav, over the bot: it stopped after \d+ ms",
                r"hum01\.wav, over the answer to price01\.wav: (silent for \d+ ms, then it went on|it talked on)",
                r"cough01\.wav, over the answer to pause01\.wav: (silent for \d+ ms, then it went on|it talked on)",
            ):
                assert re.search(f"^{turn_taken}$", said, re.MULTILINE), said
            assert re.search(r"^How much is it\?( +\d+){6}$", said, re.MULTILINE), said
            assert said.endswith("Every question was answered.")
            await until(lambda: not running.pids())
    assert (tmp_path / "var" / "demo.wav").stat().st_size > 100_000


async def test_a_demo_with_a_question_unanswered_fails(tmp_path: Path) -> None:
    async with fake_workers() as fakes:
        fakes.stt.answers = ["How much is it?", ""]
        config, ports = settings(fakes)
        config["profiles"] = {"default": {"prompt": "Answer.", "greeting": "Good day.", "no_input_s": 2}}
        async with up(tmp_path, config, ports, "demo") as running:
            code, said = await running.rest()
            assert code == 1, said
            assert said.endswith("NOT every question was answered.")


async def test_the_test_phone_calls_what_is_up(tmp_path: Path) -> None:
    async with fake_workers() as fakes:
        config, ports = settings(fakes)
        async with up(tmp_path, config, ports) as running:
            await running.said("^Stop it:")
            command = (
                "-m",
                "voicebot",
                "call",
                "-c",
                "voicebot.yaml",
                "--wav",
                "pay01",
                "--record",
                "a/call.wav",
            )
            phone = await asyncio.create_subprocess_exec(
                sys.executable,
                *command,
                cwd=tmp_path,
                stdout=asyncio.subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )
            out, _ = await phone.communicate()
            assert phone.returncode == 0, out.decode()
            assert re.search(r"^pay01\.wav +yes +\d+ ms", out.decode(), re.MULTILINE)
            assert (tmp_path / "a" / "call.wav").exists()


async def test_a_second_ctrl_c_does_not_wait_for_running_calls(tmp_path: Path) -> None:
    async with fake_workers() as fakes:
        config, ports = settings(fakes)
        config["calls"] = {"drain_s": 600}
        async with up(tmp_path, config, ports) as running, Phone() as phone:
            await running.said("^Stop it:")
            async with phone.call(f"sip:1000@127.0.0.1:{ports['sip']}") as call:
                await call.wait_for_bot_speech(timeout_s=10)
                running.process.send_signal(signal.SIGINT)
                await running.said("^Stopping")
                await call.sleep(1)  # the call goes on
                running.process.send_signal(signal.SIGINT)
                code, said = await running.rest()
            assert code == 130, said
            assert "Traceback" not in said
            await until(lambda: not running.pids())
