"""Two STT replicas on a real Ray cluster; one is killed under load (`make test-ray`, part of `make test`)."""

import asyncio
import os
import signal
import wave
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
import yaml
from pydantic import SecretStr

from gpu_workers.client import SttClient, TtsClient, WorkerError
from gpu_workers.models import fetch
from tests.cluster.ray_cluster import ROOT, RayCluster, ray_cluster
from voicebot.cache import default_cache_dir

KEY = "s3cret-key"
SPEECH = ROOT / "tests" / "data" / "speech"
CLIPS = ("price01", "pay01", "no01", "short01")
CALLERS, EACH = 4, 9


def config() -> dict[str, Any]:
    """deploy/ray/serve.yaml, with what this machine has: no card, a small model, no turn model."""
    shipped = yaml.safe_load((ROOT / "deploy" / "ray" / "serve.yaml").read_text())
    stt, tts, _ = shipped["applications"]
    del stt["args"]["gpus"], stt["args"]["needs"], tts["args"]["needs"]
    worker = {"model": "whisper-tiny.en", "turn_model": None}
    stt["args"] |= {
        "min_replicas": 2,
        "max_replicas": 2,
        "cache_dir": str(default_cache_dir()),
        "worker": worker,
    }
    tts["args"] |= {"cpus": 0, "cache_dir": str(default_cache_dir())}
    return {**shipped, "applications": [stt, tts]}


def pcm(clip: str) -> bytes:
    with wave.open(str(SPEECH / f"{clip}.wav")) as file:
        return bytes(file.readframes(file.getnframes()))


async def heard(stt: SttClient, clip: str, call_id: str) -> str:
    answer = await stt.transcribe(
        pcm(clip), 8000, priority="final", deadline_ms=30_000, call_id=call_id, language="en"
    )
    return answer.text


class Answers:
    """Every answer to an utterance that reached the client, by HTTP status."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.trace = aiohttp.TraceConfig()
        self.trace.on_request_end.append(self._came)

    async def _came(
        self, _: aiohttp.ClientSession, __: SimpleNamespace, end: aiohttp.TraceRequestEndParams
    ) -> None:
        if end.method == "POST":
            self.statuses.append(end.response.status)


async def talk(stt: SttClient, caller: int, said: Sequence[str], done: list[tuple[str, str]]) -> None:
    for clip in said:
        text = await heard(stt, clip, f"call-{caller}")
        done.append((clip, text))


@pytest.mark.timeout(600)
async def test_a_replica_that_is_killed_under_load_loses_no_utterance() -> None:
    for model in ("whisper-tiny.en", "joe"):
        fetch(model, default_cache_dir(), print)
    answers = Answers()
    async with (
        aiohttp.ClientSession(trace_configs=[answers.trace]) as http,
        ray_cluster(VOICEBOT_API_KEY=KEY) as ray,
        SttClient(f"{ray.url}/stt", api_key=SecretStr(KEY), session=http) as stt,
    ):
        await ray.serve(config())
        await the_key_is_asked_for(ray, http)
        await the_voice_speaks(ray, http)
        expected = {clip: await heard(stt, clip, "before") for clip in CLIPS}
        assert "monthly plan" in expected["price01"]
        answers.statuses.clear()
        done: list[tuple[str, str]] = []
        async with asyncio.TaskGroup() as group:
            for caller in range(CALLERS):
                said = [CLIPS[(caller + number) % len(CLIPS)] for number in range(EACH)]
                group.create_task(talk(stt, caller, said, done))
            killed = await kill_one_once(ray, done)
        # each utterance has one answer, and the right one
        assert len(done) == CALLERS * EACH
        assert [(clip, text) for clip, text in done if text != expected[clip]] == []
        assert answers.statuses.count(200) == len(done)
        await until_there_are_two_again(ray, killed)
        assert await heard(stt, "price01", "after") == expected["price01"]


async def the_key_is_asked_for(ray: RayCluster, http: aiohttp.ClientSession) -> None:
    """Also behind Serve's prefix."""
    async with SttClient(f"{ray.url}/stt", session=http) as nobody:
        with pytest.raises(WorkerError, match="401"):
            await heard(nobody, "short01", "nobody")


async def the_voice_speaks(ray: RayCluster, http: aiohttp.ClientSession) -> None:
    """A sentence is heard while the next is made; a listener who leaves ends it."""
    async with TtsClient(f"{ray.url}/tts", api_key=SecretStr(KEY), session=http) as tts:
        async with tts.speak("We are open. " * 20, voice="joe", call_id="leaves") as speech:
            assert await anext(speech)
        async with tts.speak("We are open. How can I help you?", voice=None, call_id="stays") as speech:
            sound = b"".join([piece async for piece in speech])
        assert 1.0 < len(sound) / 2 / speech.rate < 5.0
        with pytest.raises(WorkerError, match="unknown voice 'alloy': this worker has 'joe'"):
            async with tts.speak("No.", voice="alloy", call_id="no"):
                pass


async def kill_one_once(ray: RayCluster, done: list[tuple[str, str]]) -> int:
    """In the middle of the load, a replica that has work."""
    async with asyncio.timeout(60):
        while len(done) < CALLERS * EACH // 4:  # noqa: ASYNC110 - the callers tell nobody
            await asyncio.sleep(0.01)
    replica = ray.replicas("stt")[0]
    os.kill(replica, signal.SIGKILL)
    return replica


async def until_there_are_two_again(ray: RayCluster, killed: int) -> None:
    async with asyncio.timeout(90):
        while killed in (now := ray.replicas("stt")) or len(now) < 2:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.2)
