"""The worker clients against servers that speak the OpenAI API in their own way, or not at all."""

import asyncio
import re
import struct

import numpy as np
import pytest

from gpu_workers.client import LlmClient, Message, SttClient, ToolCall, Transcript, TtsClient, WorkerError
from gpu_workers.client.stt import wav_file
from tests.support.fake_workers import FakeLlm, Fault, served, tone
from tests.support.raw_http import answers_with, raw_server

ASKED = [Message("user", "What does it cost?")]
PCM = tone(440, 0.5, 8000)


async def _said(llm: LlmClient) -> list[str | ToolCall]:
    async with llm.stream(ASKED, max_tokens=50, temperature=0.2, call_id="c1") as answer:
        return [piece async for piece in answer]


async def _heard(stt: SttClient, deadline_ms: int | None = None) -> str:
    heard = await stt.transcribe(
        PCM, 8000, priority="final", deadline_ms=deadline_ms, call_id="c1", language="en"
    )
    return heard.text


async def _sound(tts: TtsClient, text: str = "Hello there.") -> tuple[bytes, int]:
    async with tts.speak(text, voice=None, call_id="c1") as speech:
        return b"".join([pcm async for pcm in speech]), speech.rate


def _events(*payloads: str) -> bytes:
    return "".join(f"data: {payload}\n\n" for payload in payloads).encode()


HI = '{"choices": [{"delta": {"content": "Hi"}, "finish_reason": null}]}'
STOP = '{"choices": [{"delta": {}, "finish_reason": "stop"}]}'


class TestOtherServers:
    async def test_llama_cpp_closes_after_each_answer_and_does_not_say_so(self) -> None:
        answer = _events(HI, STOP, "[DONE]")
        async with (
            answers_with(*[answer] * 6, headers="Connection: keep-alive\r\n") as url,
            LlmClient(url) as llm,
        ):
            for _ in range(6):
                assert await _said(llm) == ["Hi"]

    async def test_a_stream_that_ends_without_done(self) -> None:
        async with answers_with(_events(HI, STOP)) as url, LlmClient(url) as llm:
            assert await _said(llm) == ["Hi"]

    async def test_a_stream_that_ends_amid_the_answer(self) -> None:
        async with answers_with(_events(HI)) as url, LlmClient(url) as llm:
            with pytest.raises(WorkerError, match="stopped before its end") as caught:
                await _said(llm)
        assert caught.value.retryable

    async def test_a_stream_that_is_done_before_it_has_begun(self) -> None:
        """So vLLM ends an answer that its engine aborts: no words, no reason."""
        role = '{"choices": [{"delta": {"role": "assistant", "content": ""}, "finish_reason": null}]}'
        async with answers_with(_events(role, "[DONE]")) as url, LlmClient(url) as llm:
            with pytest.raises(WorkerError, match="stopped before its end") as caught:
                await _said(llm)
        assert caught.value.retryable

    async def test_a_stream_without_a_reason_is_whole_where_it_said_something(self) -> None:
        async with answers_with(_events(HI, "[DONE]")) as url, LlmClient(url) as llm:
            assert await _said(llm) == ["Hi"]

    async def test_an_error_inside_the_stream(self) -> None:
        broken = _events(HI, '{"error": {"message": "engine died", "code": 500}}')
        async with answers_with(broken) as url, LlmClient(url) as llm:
            with pytest.raises(WorkerError, match=r"LLM worker at http://.*engine died") as caught:
                await _said(llm)
        assert (caught.value.retryable, caught.value.status) == (True, 500)

    @pytest.mark.parametrize(
        "delta",
        [
            '{"content": "We call you back, "}',
            '{"tool_calls": [{"index": 0, "function": {"name": "book", "arguments": "{\\"who\\": \\"Schneider\\""}}]}',
        ],
    )
    async def test_an_error_inside_the_stream_that_quotes_it(self, delta: str) -> None:
        piece = f'{{"choices": [{{"delta": {delta}, "finish_reason": null}}]}}'
        more = '{"choices": [{"delta": {"content": "Mrs Schneider."}, "finish_reason": null}]}'
        broken = _events(piece, more, '{"error": {"message": "died at \'Schneider\'", "code": 500}}')
        async with answers_with(broken) as url, LlmClient(url) as llm:
            with pytest.raises(WorkerError, match=r"died at \[\.\.\.\]$"):
                await _said(llm)

    async def test_a_refusal_that_quotes_the_arguments_of_a_tool_call(self) -> None:
        called = ToolCall("1", "book", '{"who": "Schneider", "number": 20775}')
        asked = [*ASKED, Message("assistant", "", (called,)), Message("tool", "Booked.", tool_call_id="1")]
        refusing = FakeLlm(fault=Fault.quote(400))
        async with served(refusing, "/v1/chat/completions") as url, LlmClient(url) as llm:
            with pytest.raises(WorkerError, match="status 400, cannot use") as caught:
                await llm.read_ahead(asked, call_id="c1")
        assert not {"Schneider", "20775", "cost"} & set(re.findall(r"\w+", str(caught.value)))

    async def test_an_event_without_end(self) -> None:
        async with answers_with(b"data: " + b"x" * 2_000_000) as url, LlmClient(url) as llm:
            with pytest.raises(WorkerError, match="1 MiB") as caught:
                await _said(llm)
        assert not caught.value.retryable

    async def test_what_answers_is_no_http(self) -> None:
        async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"SSH-2.0-OpenSSH\r\n")
            await writer.drain()
            writer.close()
            await writer.wait_closed()

        async with raw_server(greet) as url, LlmClient(url) as llm:
            with pytest.raises(WorkerError, match="no HTTP"):
                await _said(llm)

    @pytest.mark.parametrize(
        ("headers", "sound", "rate"),
        [
            ("Content-Type: audio/pcm\r\n", PCM, 24000),
            ("Content-Type: audio/L16; rate=16000; channels=1\r\n", PCM, 16000),
            ("X-Sample-Rate: 22050\r\n", PCM, 22050),
            ("Content-Type: audio/wav\r\n", wav_file(PCM, 44100), 44100),
            ("X-Sample-Rate: 8000\r\n", wav_file(PCM, 16000), 16000),
        ],
    )
    async def test_the_rate_of_the_sound(self, headers: str, sound: bytes, rate: int) -> None:
        async with answers_with(sound, headers=headers) as url, TtsClient(url) as tts:
            assert await _sound(tts) == (PCM, rate)

    async def test_stereo_at_48_khz(self) -> None:
        left = np.frombuffer(PCM, "<i2")
        both = np.repeat(left, 2).astype("<i2").tobytes()
        form = struct.pack("<HHIIHH", 1, 2, 48000, 192000, 4, 16)
        wav = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0" + form + b"data" + struct.pack("<I", len(both)) + both
        async with answers_with(wav) as url, TtsClient(url) as tts:
            assert await _sound(tts) == (PCM, 48000)

    @pytest.mark.parametrize(
        ("headers", "sound", "said"),
        [
            ("Content-Type: audio/mpeg\r\n", b"ID3", "audio/mpeg"),
            ("Content-Type: application/json\r\n", b"{}", "application/json"),
            ("", b"ID3....", "MP3"),
            ("", b"", "no sound"),
            ("X-Sample-Rate: fast\r\n", PCM, "not a number"),
            ("X-Sample-Rate: 96000\r\n", PCM, "96000"),
        ],
    )
    async def test_what_is_no_sound(self, headers: str, sound: bytes, said: str) -> None:
        async with answers_with(sound, headers=headers) as url, TtsClient(url) as tts:
            with pytest.raises(WorkerError, match=rf"TTS worker at http.*{said}"):
                await _sound(tts)

    async def test_a_plain_transcript(self) -> None:
        async with answers_with(b'{"text": "Hi."}') as url, SttClient(url) as stt:
            heard = await stt.transcribe(
                PCM, 8000, priority="final", deadline_ms=None, call_id="c", language=None
            )
        assert heard == Transcript("Hi.", None, None, None, 0.5)

    @pytest.mark.parametrize(
        ("body", "said"),
        [
            (b"{}", "no text"),
            (b"[]", "not a JSON object"),
            (b"<html>", "not JSON"),
            (b" " * (1 << 21), "longer"),
        ],
    )
    async def test_what_is_no_transcript(self, body: bytes, said: str) -> None:
        async with answers_with(body) as url, SttClient(url) as stt:
            with pytest.raises(WorkerError, match=said):
                await _heard(stt)
