"""A whole talk with the real call process in virtual time: minutes of it take a second, and each run is the same.

Asterisk is `FakeAri`, the models are `FakeWorkers`, the caller is a phone line that the test speaks into. Only what
they say is made up: all between them, sockets included, is the product.

    async with talk(profile) as scene:
        await scene.ask("How much is it?", "Nineteen dollars.")
        await scene.until_said("Nineteen dollars")
"""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from socket import SOCK_STREAM
from typing import Any

import aiohttp

from gpu_workers.settings import WorkersSettings
from media_bridge.settings import MediaSettings, TransportName
from stasis_app.application import Setup
from stasis_app.running import run
from stasis_app.settings import CallSettings, Profile, WebSettings
from tests.support.fake_ari import FakeAri
from tests.support.fake_workers import FakeWorkers, Reply, Spoken, fake_workers
from tests.support.media_call import speech
from tests.support.rig import free_ports
from tests.support.talk_lines import FRAME_S, LINES, PhoneLine, Spurt

CALLER = "1700000000.1"
GREETING = "Hello."
PROFILE = Profile(prompt="You are a test.", greeting=GREETING, language="en")
LONGEST_SILENCE_S = 8.0
"""P2: within which the bot says something, whatever has happened, to who does neither speak nor press a key."""
START_S = 0.1
"""A phrase that is about to be said may take so long to be heard."""
TRANSPORT: TransportName = "rtp"
"""Over which the talks go; `wire/test_talk_transports` holds the most important ones over the others."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What a test sees of one running call."""

    workers: FakeWorkers
    ari: FakeAri
    line: PhoneLine
    transcript: Path
    web: str
    http: aiohttp.ClientSession
    stop: asyncio.Event
    """Set it as SIGTERM does."""
    end_at_once: Callable[[], object]
    """As a second SIGTERM does."""

    @property
    def now(self) -> float:
        return asyncio.get_running_loop().time()

    async def say(self, clip: str, words: str) -> float:
        """The caller says a clip of tests/data/speech, and the recogniser hears `words` from now on.

        Gives the instant the last sample left.
        """
        self.workers.stt.choose = lambda _: words
        await self.line.ear.say(speech(clip))
        return self.now

    async def ask(self, words: str, *replies: Reply) -> None:
        """When the bot is quiet, the caller asks; `replies` are what the model answers from now on."""
        await self.quiet()
        self.workers.llm.replies = list(replies)
        await self.say("price01.wav", words)

    async def press(self, digits: str, gap_s: float = 0.2) -> None:
        for digit in digits:
            await asyncio.sleep(gap_s)
            channel = {"id": CALLER}
            self.line.ear.caller_acts()
            self.ari.send("ChannelDtmfReceived", channel=channel, digit=digit, duration_ms=100)

    async def until(self, holds: Callable[[], object], within_s: float = 30.0) -> float:
        """Seconds it took."""
        began = self.now
        while not holds():
            assert self.now - began < within_s, "it never came"
            await asyncio.sleep(FRAME_S)
        return self.now - began

    async def until_said(self, text: str, within_s: float = 30.0) -> None:
        """A turn of the bot with `text` in it was heard, to its end or to where it was cut."""
        await self.until(lambda: any(text in line["bot"] for line in self.lines()), within_s)

    async def until_heard(self, text: str, for_s: float = 0.0) -> None:
        """The caller has heard `for_s` of what the voice made of the sentences that are part of `text`."""
        await self.until(lambda: self.heard_s(text) > for_s)

    def heard_s(self, text: str) -> float:
        """Seconds that the caller has heard of the sentences that are part of `text`."""
        tones = {spoken.hz for spoken in self._parts(text)}
        return sum(spurt.seconds for spurt in self.spurts() if spurt.hz in tones)

    def whole_s(self, text: str) -> float:
        """Seconds that the voice has made of them."""
        return sum(spoken.seconds for spoken in self._parts(text))

    def _parts(self, text: str) -> list[Spoken]:
        return [spoken for spoken in self.workers.tts.spoken if spoken.text in text]

    async def quiet(self, for_s: float = 1.0) -> None:
        """Until the bot has spoken and been silent for so long."""
        await self.until(lambda: self.spurts() and self.now - self.spurts()[-1].end > for_s, 120)

    def spurts(self, since_s: float = 0.0) -> list[Spurt]:
        """What the caller has heard: runs of one tone."""
        return [spurt for spurt in self.line.ear.spurts if spurt.start >= since_s]

    def lines(self) -> list[dict[str, Any]]:
        """The transcript so far."""
        text = self.transcript.read_text() if self.transcript.exists() else ""
        return [json.loads(line) for line in text.splitlines()]

    def said(self) -> list[tuple[str, str, bool]]:
        """(what kind of turn, what was heard of it, cut) for each turn of the bot."""
        return [(line["saying"], line["bot"], line["cut"]) for line in self.lines()]

    def asked(self) -> list[dict[str, Any]]:
        """The messages of the newest request to the language model."""
        messages: list[dict[str, Any]] = self.workers.llm.requests[-1]["messages"]
        return messages

    async def metric(self, name: str, /, **labels: str) -> float:
        async with self.http.get(f"{self.web}/metrics") as answer:
            text = await answer.text()
        for line in text.splitlines():
            sample, _, value = line.rpartition(" ")
            wanted = all(f'{key}="{label}"' in sample for key, label in labels.items())
            if sample.partition("{")[0] == name and wanted:
                return float(value)
        return 0.0

    def hang_up(self) -> None:
        self.ari.end(CALLER)

    @property
    def is_up(self) -> bool:
        return CALLER in self.ari.channels


@asynccontextmanager
async def talk(
    profile: Profile = PROFILE,
    *,
    calls: CallSettings | None = None,
    prepare: Callable[[FakeWorkers], None] = lambda _: None,
    workers: FakeWorkers | None = None,
    more_workers: Mapping[str, Sequence[str]] | None = None,
    folder: Path | None = None,
    processes: int = 1,
    named: Mapping[str, Mapping[str, str]] | None = None,
    may_be_silent: bool = False,
) -> AsyncIterator[Scene]:
    """One call, from the caller's first packet on. `prepare`: what the workers are to say, before the call begins.

    With `workers` of the test's own, which may be dead, it begins as soon as callers are let in; `more_workers`:
    addresses of further ones, by kind; `folder` keeps what the call process keeps on disk; `processes` share Asterisk.
    `named`: further settings of each worker, as voicebot.yaml has them.

    Fails if the caller heard nothing for longer than P2 allows, or the profile's own no_input_s. Not where one was told
    of a hold, or the test `may_be_silent`.
    """
    async with (
        fake_workers() if workers is None else nullcontext(workers) as theirs,
        FakeAri() as ari,
        aiohttp.ClientSession() as http,
        asyncio.TaskGroup() as group,
    ):
        prepare(theirs)
        with (
            nullcontext(folder) if folder else tempfile.TemporaryDirectory(prefix="talk-") as kept,
            closing(LINES[TRANSPORT](ari)) as line,
        ):
            setup = _setup(
                ari, theirs, profile, calls, Path(kept), more_workers or {}, processes, named or {}
            )
            await line.open()
            stop = asyncio.Event()
            bot = group.create_task(run(setup, stop))
            assert setup.transcript
            web = f"http://127.0.0.1:{setup.web.port}"
            scene = Scene(theirs, ari, line, setup.transcript, web, http, stop, bot.cancel)
            await _until_ready(scene, set() if workers is None else {"stt", "llm", "tts"})
            ari.caller(CALLER)
            await scene.until(lambda: ari.media_asked)
            speaking = group.create_task(line.run())
            try:
                yield scene
                if not may_be_silent and "ChannelHold" not in ari.told:
                    longest_s = max(LONGEST_SILENCE_S, profile.no_input_s) + START_S
                    assert line.ear.longest_silence_s <= longest_s, "P2"
            finally:
                scene.hang_up()
                stop.set()
                await asyncio.wait({bot})
                speaking.cancel()


def _setup(
    ari: FakeAri,
    workers: FakeWorkers,
    profile: Profile,
    calls: CallSettings | None,
    folder: Path,
    more: Mapping[str, Sequence[str]],
    processes: int,
    named: Mapping[str, Mapping[str, str]],
) -> Setup:
    urls = {"stt": workers.stt_url, "llm": workers.llm_url, "tts": workers.tts_url}
    written = {
        kind: {"start": False, "url": url, "more_urls": more.get(kind, ())} | dict(named.get(kind, {}))
        for kind, url in urls.items()
    }
    return Setup(
        ari=ari.settings(),
        media=MediaSettings(
            transport=TRANSPORT,
            port_start=28_000,
            port_end=28_998,
            port_quarantine_s=0.2,
            audiosocket_port=free_ports(1, SOCK_STREAM)[0],
        ),
        calls=calls or CallSettings(drain_s=0),
        web=WebSettings(port=free_ports(1, SOCK_STREAM)[0]),
        workers=WorkersSettings.model_validate(written),
        profiles={"default": profile},
        phrases_dir=folder / "phrases",
        transcript=folder / "transcript.jsonl",
        processes=processes,
        number=processes,
    )


async def _until_ready(scene: Scene, without: set[str]) -> None:
    for _ in range(200):
        try:
            async with scene.http.get(f"{scene.web}/ready") as answer:
                parts = (await answer.json())["parts"]
                if all(why == "ready" for name, why in parts.items() if name not in without):
                    return
        except aiohttp.ClientConnectorError:
            pass
        await asyncio.sleep(0.05)
    raise AssertionError("the call process does not become ready")
