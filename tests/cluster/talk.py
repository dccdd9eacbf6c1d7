"""Callers who talk to the STT replicas, and what they got."""

import asyncio
import time
import wave
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace

import aiohttp
from pydantic import SecretStr

from gpu_workers.client import Limits, SttClient
from tests.cluster.ray_cluster import KEY, ROOT, RayCluster

SPEECH = ROOT / "tests" / "data" / "speech"
CLIPS = ("price01", "pay01", "no01", "short01")
# the machine may be slow and shared: how long it takes is not what is asked here
PATIENT = Limits(connect_s=20, silence_s=90, total_s=120)
_LOOK_S = 0.1


class Talk:
    """`done`: each utterance and the text it was answered with; `statuses`: of every answer that reached a client."""

    def __init__(self, stt: SttClient, statuses: Counter[int]) -> None:
        self.stt = stt
        self.statuses = statuses
        self.done: list[tuple[str, str]] = []
        self.expected: dict[str, str] = {}
        self._silent = asyncio.Event()

    async def heard(self, clip: str, call_id: str) -> str:
        answer = await self.stt.transcribe(
            pcm(clip), 8000, priority="final", deadline_ms=100_000, call_id=call_id, language="en"
        )
        return answer.text

    async def learn(self) -> None:
        """What each clip is heard as when nothing happens."""
        self.expected = {clip: await self.heard(clip, "before") for clip in CLIPS}
        assert "monthly plan" in self.expected["price01"]
        self.statuses.clear()

    async def caller(self, number: int, each: int | None = None) -> None:
        """Says so many utterances, or goes on until all shall be silent."""
        said = 0
        while not self._silent.is_set() and (each is None or said < each):
            clip = CLIPS[(number + said) % len(CLIPS)]
            self.done.append((clip, await self.heard(clip, f"call-{number}")))
            said += 1

    @asynccontextmanager
    async def going_on(self, callers: int) -> AsyncIterator[None]:
        """So many talk during the block; then each utterance has had one answer, and the right one."""
        self._silent.clear()
        async with asyncio.TaskGroup() as group:
            for number in range(callers):
                group.create_task(self.caller(number))
            try:
                yield
            finally:
                self._silent.set()
        self.check()

    def check(self) -> None:
        assert [(clip, text) for clip, text in self.done if text != self.expected[clip]] == []
        assert self.statuses[200] == len(self.done)

    async def some(self, more: int, within_s: float = 120) -> None:
        """Until so many more utterances are answered."""
        enough = len(self.done) + more
        await until(lambda: len(self.done) >= enough, within_s)


@asynccontextmanager
async def talking(ray: RayCluster, key: str | None = KEY) -> AsyncIterator[Talk]:
    statuses: Counter[int] = Counter()

    async def came(_: aiohttp.ClientSession, __: SimpleNamespace, end: aiohttp.TraceRequestEndParams) -> None:
        if end.method == "POST":
            statuses[end.response.status] += 1

    trace = aiohttp.TraceConfig()
    trace.on_request_end.append(came)
    async with (
        aiohttp.ClientSession(trace_configs=[trace]) as http,
        SttClient(
            f"{ray.url}/stt", api_key=SecretStr(key) if key else None, session=http, limits=PATIENT
        ) as stt,
    ):
        yield Talk(stt, statuses)


def pcm(clip: str) -> bytes:
    with wave.open(str(SPEECH / f"{clip}.wav")) as file:
        return bytes(file.readframes(file.getnframes()))


async def until(happened: Callable[[], bool], within_s: float) -> None:
    """What is waited for happens in other processes, which tell nobody."""
    give_up_at = time.monotonic() + within_s
    while not happened():
        assert time.monotonic() < give_up_at, f"not within {within_s:g} s"
        await asyncio.sleep(_LOOK_S)
