"""The `model` of a request: a worker has one."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from gpu_workers.errors import RequestError

HOSTED: Final[Mapping[str, Collection[str]]] = {
    "stt": ("whisper-1", "gpt-4o-transcribe", "gpt-4o-mini-transcribe"),
    "llm": ("gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-4.1-mini"),
    "tts": ("tts-1", "tts-1-hd", "gpt-4o-mini-tts"),
}
"""The hosted models' names by kind of worker: a stock client has to send one."""


def check_model(asked: str, own: str, usual: Collection[str]) -> None:
    """Raises RequestError 404 as the OpenAI API does, unless `asked` is empty, this worker's own, or of the `usual`."""
    if asked == "" or is_own(asked, own) or asked in usual:
        return
    raise RequestError(
        404, f"unknown model {asked[:60]!r}: this worker has {Path(own).name!r}", code="model_not_found",
        param="model",
    )  # fmt: skip


def is_own(asked: str, own: str) -> bool:
    """Whether a request for `asked` means the model that a worker was started with, by its name or path."""
    return asked in {own, Path(own).name}
