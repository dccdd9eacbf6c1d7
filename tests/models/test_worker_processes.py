"""The three workers as processes, asked by our own clients."""

import asyncio
import json
import wave
from pathlib import Path

import aiohttp
import pytest
from pydantic import SecretStr

from gpu_workers.client import LlmClient, Message, SttClient, TtsClient, WorkerError, health
from gpu_workers.models import fetch
from tests.models.conftest import StartWorker, begun

CLIP = Path(__file__).parents[1] / "data" / "speech" / "price01.wav"
KEY = "s3cret-key"
PROMPT = (
    "You answer the telephone of Lakeside Bikes. The monthly service plan costs nineteen dollars. "
    "The shop is closed on Sunday. Answer with one short sentence."
)


def pcm() -> bytes:
    with wave.open(str(CLIP)) as file:
        return bytes(file.readframes(file.getnframes()))


async def test_stt_hears_and_ends_what_it_began(start_worker: StartWorker) -> None:
    async with start_worker("stt", model="whisper-tiny.en") as worker, SttClient(worker.url) as stt:
        running = asyncio.create_task(
            stt.transcribe(
                pcm(), 8000, priority="final", deadline_ms=None, call_id="c1", language="en", prompt=None
            )
        )
        async with aiohttp.ClientSession() as http:
            await begun(http, worker)
        assert await worker.stop() == 0
        assert (await running).text == "How much does the monthly plan cost?"


async def test_tts_speaks(start_worker: StartWorker) -> None:
    async with start_worker("tts") as worker, TtsClient(worker.url) as tts:
        async with tts.speak("Hello. How are you?", voice="joe", call_id="c1") as speech:
            sound = b"".join([piece async for piece in speech])
        assert speech.rate == 22050
        assert 1.0 < len(sound) / 2 / speech.rate < 5.0
        assert await worker.stop() == 0


async def test_tts_has_several_voices_and_serves_who_runs_dry_first(
    start_worker: StartWorker, cache_dir: Path, tmp_path: Path
) -> None:
    """The second voice is the first one's file with another rate of speech: the same weights, told apart by length."""
    weights = fetch("joe", cache_dir, print).path
    (tmp_path / "slow.onnx").symlink_to(weights)
    told = json.loads(weights.with_name(weights.name + ".json").read_text())
    told["inference"]["length_scale"] = 2.0
    (tmp_path / "slow.onnx.json").write_text(json.dumps(told))
    ended: list[str] = []
    lengths: dict[str | None, int] = {}

    async def listen(tts: TtsClient, name: str, voice: str | None, left_ms: int) -> None:
        text = "We are open from nine to six, and on Saturday until two."
        async with tts.speak(text, voice=voice, call_id=name, left_ms=left_ms) as speech:
            lengths[voice] = len(b"".join([piece async for piece in speech]))
        ended.append(name)

    settings = {"voices": [str(tmp_path / "slow.onnx")], "parallel": 1}
    async with start_worker("tts", **settings) as worker, TtsClient(worker.url) as tts:
        await listen(tts, "joe", "joe", 0)
        await listen(tts, "slow", "slow", 0)
        assert 1.25 < lengths["slow"] / lengths["joe"] < 2.6
        with pytest.raises(WorkerError, match="unknown voice 'alloy': this worker has 'joe', 'slow'"):
            await listen(tts, "alloy", "alloy", 0)
        ended.clear()
        async with asyncio.TaskGroup() as group:
            # the first takes the only thread; those behind it came in the wrong order
            for number, left_ms in enumerate((0, 60_000, 30_000, 0)):
                group.create_task(listen(tts, str(number), "slow", left_ms))
                await asyncio.sleep(0.02)
        assert ended == ["0", "3", "2", "1"]
        assert await worker.stop() == 0


async def answer(llm: LlmClient, question: str) -> str:
    asked = [Message("system", PROMPT), Message("user", question)]
    async with llm.stream(asked, max_tokens=40, temperature=0.0, call_id="c1") as stream:
        return "".join([piece async for piece in stream if isinstance(piece, str)])


async def test_llm_answers_from_its_prompt_and_stops_when_the_caller_speaks(
    start_worker: StartWorker,
) -> None:
    settings = {"model": "qwen2.5-0.5b", "parallel": 2, "context_tokens": 1024, "api_key": KEY}
    async with start_worker(
        "llm", warm_talks=[[{"role": "system", "content": PROMPT}]], **settings
    ) as worker:
        async with LlmClient(worker.url, api_key=SecretStr(KEY)) as llm:
            assert "nineteen" in (await answer(llm, "How much is the monthly plan?")).lower()
            stream = llm.stream([Message("user", "Count to five hundred.")], max_tokens=900, temperature=0.0,
                                call_id="c2")  # fmt: skip
            async with stream as pieces:
                await anext(aiter(pieces))
            await eventually_idle(worker.url)
        with pytest.raises(WorkerError, match="401"):
            async with LlmClient(worker.url) as llm:
                await answer(llm, "Hello?")
        assert await worker.stop() == 0


async def test_every_slot_of_the_llm_knows_the_system_prompt_before_the_first_call(
    start_worker: StartWorker, cache_dir: Path, tmp_path: Path
) -> None:
    (tmp_path / "models").symlink_to(cache_dir / "models")
    settings = {"model": "qwen2.5-0.5b", "parallel": 3, "context_tokens": 512}
    for start in ("first", "second"):
        async with (
            start_worker(
                "llm", tmp_path, warm_talks=[[{"role": "system", "content": PROMPT}]], **settings
            ) as worker,
            aiohttp.ClientSession() as http,
        ):
            known = await asyncio.gather(*(cached_tokens(http, worker.url, word) for word in "abc"))
            assert min(known) > 30, f"{start} start: {known} tokens were known"
            assert (await health(http, worker.url)).ready
    (state,) = (tmp_path / "llm-prompts").glob("*.state")
    assert [one.stat().st_mode & 0o777 for one in (state.parent, state)] == [0o700, 0o600]


async def cached_tokens(http: aiohttp.ClientSession, url: str, question: str) -> int:
    asked = {
        "messages": [{"role": "system", "content": PROMPT}, {"role": "user", "content": question}],
        "max_tokens": 8,
    }
    async with http.post(f"{url}/v1/chat/completions", json=asked, headers={"Connection": "close"}) as reply:
        said = json.loads(await reply.read())
    return int(said["usage"]["prompt_tokens_details"]["cached_tokens"])


async def eventually_idle(url: str) -> None:
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {KEY}"}) as http, asyncio.timeout(20):
        while True:
            async with http.get(f"{url}/metrics") as metrics:
                if "llamacpp:requests_processing 0" in await metrics.text():
                    return
            await asyncio.sleep(0.05)
