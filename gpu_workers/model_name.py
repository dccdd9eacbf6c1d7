"""The `model` of a request: a worker has one."""

from collections.abc import Collection
from pathlib import Path

from gpu_workers.errors import RequestError


def check_model(asked: str, own: str, usual: Collection[str]) -> None:
    """Raises RequestError 404 as the OpenAI API does, unless `asked` is empty, this worker's own, or of the `usual`.

    `usual` are the hosted models' names: a stock client has to send one.
    """
    if asked in {"", own, Path(own).name} or asked in usual:
        return
    raise RequestError(
        404, f"unknown model {asked[:60]!r}: this worker has {Path(own).name!r}", code="model_not_found",
        param="model",
    )  # fmt: skip
