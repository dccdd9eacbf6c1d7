"""What stands behind the language model's API when no llama.cpp is needed."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from gpu_workers.errors import RequestError


def piece(text: str | None = None, *, reason: str | None = None, **delta: Any) -> dict[str, Any]:
    """One event of an answer."""
    said = {"content": text, **delta} if text is not None else delta
    return {
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "fake",
        "choices": [{"index": 0, "delta": said, "finish_reason": reason}],
    }  # fmt: skip


PROGRESS = {**piece(""), "prompt_progress": {"total": 9, "processed": 4}}
USAGE = {**piece(), "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}}
HELLO = [PROGRESS, piece("Hello"), piece(" there."), piece(reason="stop"), USAGE]


class FakeEngine:
    """Says `says` to every request, each event when `may_say` allows it; `refuses` instead if that is set."""

    def __init__(self, allowed: int = 1 << 30) -> None:
        self.says: Sequence[Mapping[str, Any]] = HELLO
        self.refuses: RequestError | None = None
        self.asked: list[Mapping[str, Any]] = []
        self.may_say = asyncio.Semaphore(allowed)
        self.running = 0

    async def events(self, asked: Mapping[str, Any]) -> AsyncGenerator[str, None]:
        self.asked.append(asked)
        self.running += 1
        try:
            if self.refuses:
                raise self.refuses
            for event in self.says:
                await self.may_say.acquire()
                yield json.dumps(event)
            yield "[DONE]"
        finally:
            self.running -= 1

    async def metrics(self) -> str:
        return "llamacpp:requests_processing 0\n"
