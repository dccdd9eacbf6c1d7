"""Undoing that a cancellation must not cut short."""

import asyncio
from collections.abc import Coroutine


async def to_its_end(work: Coroutine[object, object, None]) -> None:
    """Run `work`, which bounds itself, to its end; a cancellation meanwhile is raised afterwards."""
    task = asyncio.create_task(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled
