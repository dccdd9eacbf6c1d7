"""What real workers write while they serve, also requests that fail: no word of it is a caller's, no key (P12)."""

import wave

import aiohttp
import pytest
from pydantic import SecretStr

from gpu_workers.client import LlmClient, Message, SttClient, TtsClient, WorkerError
from tests.models.conftest import StartWorker
from tests.support.speech import QUESTION

KEY = "k3y-of-the-w0rker"
SAID = "The walrus has the number 5550142777."
CONTENT = ("walrus", "5550142777", "monthly", "plan", KEY)


def nothing_said(capfd: pytest.CaptureFixture[str], ready: str) -> None:
    out, err = capfd.readouterr()
    assert ready in err
    assert [content for content in CONTENT if content in (out + err).lower()] == []


async def test_stt(start_worker: StartWorker, capfd: pytest.CaptureFixture[str]) -> None:
    with wave.open(str(QUESTION)) as file:
        pcm = file.readframes(file.getnframes())
    async with start_worker("stt", model="whisper-tiny.en", api_key=KEY) as worker:
        async with SttClient(worker.url, api_key=SecretStr(KEY)) as stt:
            for sound in (pcm, b""):
                heard = stt.transcribe(
                    sound, 8000, priority="final", deadline_ms=None, call_id="c1", language="en", prompt=SAID
                )
                if sound:
                    assert "plan" in (await heard).text
                else:
                    with pytest.raises(WorkerError):
                        await heard
        assert await worker.stop() == 0
    nothing_said(capfd, "stt worker ready")


async def test_tts(start_worker: StartWorker, capfd: pytest.CaptureFixture[str]) -> None:
    async with start_worker("tts", api_key=KEY) as worker:
        async with TtsClient(worker.url, api_key=SecretStr(KEY)) as tts:
            async with tts.speak(SAID, voice=None, call_id="c1") as speech:
                assert [piece async for piece in speech]
            with pytest.raises(WorkerError):
                async with tts.speak(SAID, voice="walrus", call_id="c1"):
                    pass
        assert await worker.stop() == 0
    nothing_said(capfd, "tts worker ready")


async def test_llm(start_worker: StartWorker, capfd: pytest.CaptureFixture[str]) -> None:
    settings = {"model": "qwen2.5-0.5b", "parallel": 1, "context_tokens": 512, "api_key": KEY}
    async with start_worker("llm", **settings) as worker:
        async with LlmClient(worker.url, api_key=SecretStr(KEY)) as llm:
            asked = [Message("system", "You sell one walrus."), Message("user", SAID)]
            async with llm.stream(asked, max_tokens=4, temperature=0.0, call_id="c1") as answer:
                assert [piece async for piece in answer]
            with pytest.raises(WorkerError) as error:
                async with llm.stream(
                    [Message("user", SAID * 200)], max_tokens=4, temperature=0.0, call_id="c1"
                ) as answer:
                    assert [piece async for piece in answer]
            assert "walrus" not in str(error.value)
        async with aiohttp.ClientSession() as http:
            body = f'{{"messages": "{SAID}", "key": "{KEY}"'
            async with http.post(
                f"{worker.url}/v1/chat/completions", data=body, headers={"Authorization": f"Bearer {KEY}"}
            ) as refused:
                assert refused.status >= 400
            async with http.post(f"{worker.url}/v1/chat/completions", data=body) as refused:
                assert refused.status == 401
        assert await worker.stop() == 0
    nothing_said(capfd, "llm worker ready")
