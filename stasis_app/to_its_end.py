"""Undoing that a cancellation must not cut short."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")


async def to_its_end(work: Coroutine[object, object, T]) -> T:
    """What `work`, which bounds itself, gives at its end; a cancellation meanwhile is raised afterwards."""
    task = asyncio.create_task(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    result = task.result()
    if cancelled is not None:
        raise cancelled
    return result
