"""How long callers wait for the language model: to the first token, and to the first words a voice can say.

    python -m benchmarks.llm [--quick] [-c voicebot.yaml] [--url http://HOST:PORT --model NAME] [--no-small]

Asks as a call asks: the profile's prompt and examples first, which the server has read before, then a question; each
caller asks the next question as soon as the last answer is whole. Starts the configured worker, or asks the server at
--url (its key from LLM_API_KEY). Beside it the small model of the tests on llama.cpp and, where `make test-vllm` has
installed it, on vLLM: same weights, same machine, same questions.
"""

import argparse
import asyncio
import os
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from pydantic import SecretStr

from benchmarks.report import publish, table
from gpu_workers.client import Limits, LlmClient, Message, WorkerError, health, worker_session
from stasis_app.history import History
from stasis_app.sentences import SentenceChunker
from stasis_app.settings import Profile
from stasis_app.writing import FIRST_CHARS, FIRST_MAX_CHARS
from voicebot.cache import default_cache_dir
from voicebot.config import Config, parse, read_text
from voicebot.interrupts import run_until_interrupted

CALLERS = (1, 4, 16, 64)
QUESTIONS = (
    "How much does the monthly plan cost?",
    "When are you open on Saturday?",
    "Where is your shop?",
    "Can you repair an electric bicycle?",
    "Are you open on Sunday?",
    "What does a new tyre cost?",
    "Can I bring my bicycle tomorrow?",
    "Who am I talking to?",
)
START_S = 300.0
# a level's limit is the only one: no caller gives up earlier, and a server that is slow is asked all the same
PATIENT = Limits(connect_s=60, silence_s=600, total_s=600, late_s=float("inf"))
HEADER = (
    "server", "callers", "whole", "cut", "refused",
    "first token p50 ms", "p95 ms", "first words p50 ms", "p95 ms", "tokens/s",
)  # fmt: skip
SMALL = "smollm2-135m"
WHAT = """Time from the request to the first piece of text, and to the first words that go to the voice (a whole
sentence, or a clause of at least ten characters), of callers who ask at the same time and again as soon as they have
their answer: the worst case, for in a talk most of the time somebody speaks. What every talk begins with had been read
before. A level ends after its limit; whoever had no first token by then counts as longer than the limit, and the
answers that were not whole are `cut`. Tokens are pieces of the stream."""


@dataclass(slots=True)
class Asked:
    """One question. Seconds from its request; None: not by the end of the level."""

    first_token: float | None = None
    first_sentence: float | None = None
    pieces: int = 0
    whole: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True)
class Level:
    callers: int
    asked: list[Asked]
    seconds: float
    limit_s: float


@dataclass(frozen=True, slots=True)
class Server:
    """`key` names its figures in the RESULT line."""

    name: str
    key: str
    url: str
    model: str
    api_key: SecretStr | None
    ready_s: float | None


@dataclass(slots=True)
class Measured:
    server: Server
    levels: list[Level] = field(default_factory=list)


async def ask(llm: LlmClient, profile: Profile, question: str, asked: Asked) -> None:
    """As a turn of a call asks; `asked` is filled in as it goes."""
    history = History(profile.instructions, profile.examples)
    history.bot_said(profile.greeting, cut=False)
    messages = [Message(message.role, message.text) for message in history.messages(question)]
    chunker = SentenceChunker(
        first_chars=FIRST_CHARS, first_max_chars=FIRST_MAX_CHARS, language=profile.language
    )
    clock = asyncio.get_running_loop().time
    began = clock()
    try:
        async with llm.stream(
            messages, max_tokens=profile.max_tokens, temperature=profile.temperature, call_id="benchmark"
        ) as answer:
            async for piece in answer:
                if not isinstance(piece, str):
                    continue
                asked.pieces += 1
                asked.first_token = asked.first_token or clock() - began
                if asked.first_sentence is None and chunker.feed(piece):
                    asked.first_sentence = clock() - began
            asked.first_sentence = asked.first_sentence or clock() - began
            asked.whole = True
    except WorkerError as error:
        asked.error = str(error)


async def level(llm: LlmClient, profile: Profile, callers: int, each: int, limit_s: float) -> Level:
    done: list[Asked] = []

    async def caller(number: int) -> None:
        for turn in range(each):
            asked = Asked()
            done.append(asked)
            await ask(llm, profile, QUESTIONS[(number + 3 * turn) % len(QUESTIONS)], asked)

    clock = asyncio.get_running_loop().time
    began = clock()
    calls = [asyncio.create_task(caller(number)) for number in range(callers)]
    try:
        await asyncio.wait(calls, timeout=limit_s)
    finally:
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
    for call in calls:
        if not call.cancelled():
            call.result()
    return Level(callers, done, clock() - began, limit_s)


async def measure(server: Server, profile: Profile, chosen: argparse.Namespace) -> Measured:
    measured = Measured(server)
    async with LlmClient(server.url, model=server.model, api_key=server.api_key, limits=PATIENT) as llm:
        await level(llm, profile, 1, 1, START_S)  # connections and code paths
        for callers in chosen.callers:
            _say(f"{server.name}: {callers} callers, {chosen.limit_s:.0f} s at most")
            measured.levels.append(await level(llm, profile, callers, chosen.each, chosen.limit_s))
            await asyncio.sleep(1)
    return measured


@asynccontextmanager
async def started(config: Config, text: str, name: str, key: str) -> AsyncIterator[Server]:
    """The worker that `config` describes, on a port of its own. `text` is what it was read from."""
    written: dict[str, Any] = yaml.safe_load(text) or {}
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    llm = {**(written.get("workers") or {}).get("llm", {}), "host": "127.0.0.1", "port": port, "url": None}
    written["workers"] = {**(written.get("workers") or {}), "llm": {**llm, "start": True}}
    clock = asyncio.get_running_loop().time
    with tempfile.TemporaryDirectory(prefix="voicebot-bench-") as folder:
        copy, log = Path(folder) / "voicebot.yaml", Path(folder) / "llm.log"
        copy.touch(mode=0o600)
        copy.write_text(yaml.safe_dump(written), encoding="utf-8")
        began = clock()
        with log.open("wb") as output:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "voicebot",
                "worker",
                "llm",
                "-c",
                str(copy),
                stdout=output,
                stderr=output,
            )
        try:
            settings = config.workers.llm
            url = f"http://127.0.0.1:{port}"
            async with worker_session() as http, asyncio.timeout(START_S):
                while not (await health(http, url, api_key=settings.api_key)).ready:
                    if process.returncode is not None:
                        raise SystemExit(f"{name} did not start:\n{log.read_text(errors='replace')[-2000:]}")
                    await asyncio.sleep(0.1)
            yield Server(name, key, url, settings.model, settings.api_key, clock() - began)
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


def small_servers(config: Config) -> Sequence[tuple[str, str, dict[str, Any]]]:
    """Name, key and `workers.llm` of the small model on each engine that is here."""
    shared = {"parallel": 16, "context_tokens": 2048, "threads": config.workers.llm.threads}
    found: list[tuple[str, str, dict[str, Any]]] = [
        (f"{SMALL} Q4_1, llama.cpp", "small_llama", {"engine": "llama", "model": SMALL, **shared})
    ]
    cache = default_cache_dir()
    model, python = cache / "vllm" / SMALL, cache / "peers" / "vllm-3.11" / "bin" / "python"
    if model.is_dir() and python.exists():
        vllm = {"engine": "vllm", "model": str(model), "python": str(python), **shared}
        found.append((f"{SMALL} float32, vLLM", "small_vllm", vllm))
    else:
        _say("vLLM is not here (`make test-vllm` installs it): left out")
    return found


def figures(measured: Sequence[Measured]) -> tuple[list[tuple[object, ...]], dict[str, str]]:
    """The rows of the table, and what stands in the RESULT line."""
    rows: list[tuple[object, ...]] = []
    result: dict[str, str] = {}
    for one in measured:
        for level_ in one.levels:
            tokens = [asked.first_token for asked in level_.asked]
            words = [asked.first_sentence for asked in level_.asked]
            rate = f"{sum(asked.pieces for asked in level_.asked) / level_.seconds:.1f}"
            whole = sum(asked.whole for asked in level_.asked)
            refused = sum(bool(asked.error) for asked in level_.asked)
            rows.append(
                (
                    one.server.name, level_.callers, whole, len(level_.asked) - whole - refused, refused,
                    _ms(tokens, 50, level_), _ms(tokens, 95, level_),
                    _ms(words, 50, level_), _ms(words, 95, level_), rate,
                )
            )  # fmt: skip
            key = f"{one.server.key}_{level_.callers}"
            result[f"ttft_p50_ms_{key}"] = _ms(tokens, 50, level_)
            result[f"words_p50_ms_{key}"] = _ms(words, 50, level_)
            result[f"tokens_s_{key}"] = rate
    return rows, result


def report(measured: Sequence[Measured], chosen: argparse.Namespace) -> None:
    rows, result = figures(measured)
    starts = "; ".join(
        f"{one.server.name}: ready after {one.server.ready_s:.0f} s" for one in measured if one.server.ready_s
    )
    publish(
        "llm",
        f"{WHAT} Limit of a level here: {chosen.limit_s:.0f} s, {chosen.each} questions a caller. {starts}",
        [table(HEADER, rows)],
        result,
        models=", ".join(one.server.name for one in measured),
        keep=not chosen.quick,
    )


def _ms(values: Sequence[float | None], percent: float, level_: Level) -> str:
    """A percentile in ms, with those who got nothing as the slowest."""
    known = [value if value is not None else float("inf") for value in values]
    found = float(np.percentile(known, percent, method="nearest")) if known else float("inf")
    return f">{level_.limit_s * 1000:.0f}" if found == float("inf") else f"{found * 1000:.0f}"


def _say(line: str) -> None:
    print(line, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="1 and 4 callers for 10 s; the result is not kept"
    )
    parser.add_argument("-c", "--config", type=Path, help="voicebot.yaml (its defaults if not given)")
    parser.add_argument("--url", help="ask this server instead of starting the configured one")
    parser.add_argument("--model", help="the model's name at --url (the configured one if not given)")
    parser.add_argument("--no-small", action="store_true", help="without the small model of the tests")
    parser.add_argument("--only-small", action="store_true", help="nothing but the small model of the tests")
    parser.add_argument("--limit-s", type=float, default=30.0, help="seconds of each level at most")
    parser.add_argument("--each", type=int, default=2, help="questions of each caller")
    chosen = parser.parse_args()
    chosen.callers = CALLERS[:2] if chosen.quick else CALLERS
    if chosen.quick:
        chosen.limit_s = min(chosen.limit_s, 10.0)
    return chosen


def main() -> int:
    chosen = _arguments()
    text = read_text(chosen.config)
    config = parse(text, str(chosen.config), os.environ)
    profile = config.profiles["default"]

    async def run(_hurry: asyncio.Event) -> int:
        measured = []
        llm = config.workers.llm
        if chosen.url:
            key = os.environ.get("LLM_API_KEY")
            model = chosen.model or llm.model
            server = Server(
                f"{model} at --url", "url", chosen.url, model, SecretStr(key) if key else None, None
            )
            measured.append(await measure(server, profile, chosen))
        elif not chosen.only_small:
            async with started(config, text, f"{llm.model}, as configured", "configured") as server:
                measured.append(await measure(server, profile, chosen))
        for name, key, settings in [] if chosen.no_small else small_servers(config):
            small = yaml.safe_dump({"workers": {"llm": settings}})
            async with started(parse(small, name, os.environ), small, name, key) as server:
                measured.append(await measure(server, profile, chosen))
        report(measured, chosen)
        return 0

    return run_until_interrupted(run, lambda: _say("Stopping."))


if __name__ == "__main__":
    raise SystemExit(main())
