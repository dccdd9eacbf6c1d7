"""The README's curl and Python lines, as they stand there, against the three real workers; what a stock `openai`
client makes of a key, a stream and a refusal. Ports and models are others: the README's are the defaults, which may be
in use, and are larger.
"""

import asyncio
import os
import re
import shutil
import sys
import wave
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from gpu_workers.settings import LlmSettings, SttSettings, TtsSettings, WorkerSettings
from tests.models.conftest import StartWorker

ROOT = Path(__file__).parents[2]
CLIP = ROOT / "tests" / "data" / "speech" / "price01.wav"
SAID = "How much does the monthly plan cost?"
KEY = "s3cret-key"
DEFAULTS: dict[str, WorkerSettings] = {"stt": SttSettings(), "llm": LlmSettings(), "tts": TtsSettings()}
# one works, one waits, the rest is too many
SMALL: dict[str, dict[str, Any]] = {
    "stt": {"model": "whisper-tiny.en", "turn_model": None, "queue_limit": 1},
    "llm": {"model": "smollm2-135m", "context_tokens": 512, "parallel": 1, "queue_limit": 1},
    "tts": {"parallel": 1, "queue_limit": 1},
}
AT_ONCE = 12
AS_NAMED = {"stt": SttSettings().model, "llm": LlmSettings().model}


def section() -> str:
    rest = (ROOT / "README.md").read_text().partition("## The workers from your own programs")[2]
    return rest.partition("\n## ")[0]


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", section(), re.DOTALL)
    return str(found)


@asynccontextmanager
async def workers(
    start: StartWorker, settings: dict[str, dict[str, Any]], **changed: Any
) -> AsyncIterator[dict[str, str]]:
    """The three; the URL of each."""
    async with AsyncExitStack() as stack:
        yield {
            kind: (await stack.enter_async_context(start(kind, **given, **changed))).url
            for kind, given in settings.items()
        }


def here(text: str, urls: dict[str, str]) -> str:
    for kind, url in urls.items():
        port = str(DEFAULTS[kind].port)
        assert port in text
        text = text.replace(port, url.rpartition(":")[2])
    for kind, name in AS_NAMED.items():
        text = text.replace(name, SMALL[kind]["model"])
    return text


async def run(folder: Path, *command: str) -> str:
    shutil.copy(CLIP, folder / "question.wav")
    (folder / "answer.wav").unlink(missing_ok=True)
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, env={**os.environ, "NO_PROXY": "127.0.0.1"},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        output, errors = await asyncio.wait_for(process.communicate(), 150)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()
    assert process.returncode == 0, errors.decode()
    assert 0.4 < seconds(folder / "answer.wav") < 3
    return output.decode()


def seconds(path: Path) -> float:
    """A WAV that was streamed does not know its length."""
    with wave.open(str(path)) as file:
        return (path.stat().st_size - 44) / (2 * float(file.getframerate()))


def test_the_readme_names_the_defaults() -> None:
    asked = set(re.findall(r'model="([^"]+)"', block("python")))
    assert asked == {SttSettings().model, LlmSettings().model, TtsSettings().voice}
    for text in (block("sh"), block("python")):
        assert all(str(settings.port) in text for settings in DEFAULTS.values())


@pytest.mark.timeout(300)
async def test_curl_and_the_openai_client(start_worker: StartWorker, tmp_path: Path) -> None:
    async with workers(start_worker, SMALL) as urls:
        said = await run(tmp_path, "bash", "-ec", here(block("sh"), urls))
        assert SAID in said
        assert re.search(r'"content": ?"[^"]', said), "an answer was written"
        assert await run(tmp_path, sys.executable, "-c", here(block("python"), urls)), "an answer was written"


@pytest.mark.timeout(300)
async def test_both_with_a_key(start_worker: StartWorker, tmp_path: Path) -> None:
    """The header is the README's own, too."""
    (header,) = re.findall(r"`(Authorization: Bearer KEY)`", section())
    lines = block("sh").replace("curl ", f"curl --fail-with-body -H '{header.replace('KEY', KEY)}' ")
    program = block("python")
    assert 'api_key="none"' in program
    program = program.replace('"none"', f'"{KEY}"')
    async with workers(start_worker, SMALL, api_key=KEY) as urls:
        assert SAID in await run(tmp_path, "bash", "-ec", here(lines, urls))
        assert await run(tmp_path, sys.executable, "-c", here(program, urls))
        for kind, url in urls.items():
            async with client(url, "wrong") as nobody:
                with pytest.raises(openai.AuthenticationError) as caught:
                    await ask(kind, nobody)
            assert_body(caught.value)


def client(url: str, key: str = "none") -> AsyncOpenAI:
    """What is refused is not asked again."""
    return AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0, timeout=150)


async def ask(kind: str, of: AsyncOpenAI, **changed: Any) -> str:
    """Text, or how many bytes of sound."""
    match kind:
        case "stt":
            given = {"model": "whisper-tiny.en", "file": CLIP, **changed}
            return str((await of.audio.transcriptions.create(**given)).text)
        case "llm":
            messages = [{"role": "user", "content": "Hi."}]
            given = {"model": "smollm2-135m", "messages": messages, "max_tokens": 48, **changed}
            return str((await of.chat.completions.create(**given)).choices[0].message.content)
        case _:
            given = {"model": "joe", "voice": "joe", "input": "We are open. " * 8, **changed}
            return str(len((await of.audio.speech.create(**given)).content))


def assert_body(error: openai.APIStatusError) -> None:
    """As OpenAI has it: the client takes it apart."""
    assert isinstance(error.body, dict)
    assert error.body.keys() >= {"message", "type", "param", "code"}
    assert error.body["message"]


REFUSED: dict[str, list[tuple[dict[str, Any], type[openai.APIStatusError], str]]] = {
    "stt": [
        ({"model": "no-such-model"}, openai.NotFoundError, "no-such-model"),
        ({"file": ("a.wav", b"no sound at all")}, openai.BadRequestError, "WAV"),
        ({"file": ("a.wav", b"")}, openai.BadRequestError, ""),
        ({"language": "xx"}, openai.BadRequestError, "xx"),
        ({"response_format": "srt"}, openai.BadRequestError, "response_format"),
    ],
    "llm": [
        ({"model": "no-such-model"}, openai.NotFoundError, "no-such-model"),
        ({"messages": "hello"}, openai.BadRequestError, "messages"),
        ({"messages": []}, openai.BadRequestError, "messages"),
        ({"messages": [{"role": "nobody", "content": "a"}]}, openai.BadRequestError, "messages"),
        ({"max_tokens": "many"}, openai.BadRequestError, "max_tokens"),
        ({"max_tokens": -5}, openai.BadRequestError, "max_tokens"),
        ({"temperature": -3}, openai.BadRequestError, "temperature"),
        ({"messages": [{"role": "user", "content": "word " * 3000}]}, openai.BadRequestError, "context"),
    ],
    "tts": [
        ({"model": "no-such-model"}, openai.NotFoundError, "no-such-model"),
        ({"voice": "nobody"}, openai.BadRequestError, "nobody"),
        ({"input": " ... "}, openai.BadRequestError, "nothing to say"),
        ({"input": "a" * 5000}, openai.BadRequestError, "input"),
        ({"response_format": "mp3"}, openai.BadRequestError, "response_format"),
    ],
}  # fmt: skip


@pytest.mark.timeout(240)
@pytest.mark.parametrize("kind", REFUSED)
async def test_a_refusal_is_an_exception_of_the_openai_client(start_worker: StartWorker, kind: str) -> None:
    async with start_worker(kind, **SMALL[kind]) as worker, client(worker.url) as of:
        for asked, error, said in REFUSED[kind]:
            with pytest.raises(error) as caught:
                await ask(kind, of, **asked)
            assert said in caught.value.message, asked
            assert_body(caught.value)
        assert await ask(kind, of), "the next one is served"
        await too_many_are_told_when_to_come_again(kind, of)


async def too_many_are_told_when_to_come_again(kind: str, of: AsyncOpenAI) -> None:
    found = await asyncio.gather(*(ask(kind, of) for _ in range(AT_ONCE)), return_exceptions=True)
    refused = [one for one in found if isinstance(one, openai.RateLimitError)]
    served = [one for one in found if isinstance(one, str)]
    assert len(refused) + len(served) == AT_ONCE, found
    assert refused
    assert served
    for one in refused:
        assert_body(one)
        assert int(one.response.headers["retry-after"]) >= 1


@pytest.mark.timeout(240)
async def test_answer_and_voice_are_streamed(start_worker: StartWorker) -> None:
    async with workers(start_worker, {kind: SMALL[kind] for kind in ("llm", "tts")}) as urls:
        async with client(urls["llm"]) as llm:
            messages: list[Any] = [{"role": "user", "content": "What is the capital of France?"}]
            stream = await llm.chat.completions.create(
                model="smollm2-135m", messages=messages, max_tokens=24, stream=True
            )
            choices = [event.choices[0] async for event in stream if event.choices]
        assert len([one for one in choices if one.delta.content]) > 3
        assert choices[-1].finish_reason in {"length", "stop"}
        async with client(urls["tts"]) as tts:
            speech = tts.audio.speech.with_streaming_response.create(
                model="joe", voice="joe", input="We are open. " * 8, response_format="pcm"
            )
            async with speech as sound:
                assert sound.headers["x-sample-rate"] == "22050"
                sizes = [len(piece) async for piece in sound.iter_bytes()]
        assert len(sizes) > 1, "it was heard before it was whole"
