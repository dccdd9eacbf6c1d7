"""One private Asterisk for all tests of a session, with asterisk_conf/ as it is, and a number for each transport."""

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.support.every_transport import add_extensions
from tests.support.rig import private_asterisk
from voicebot.asterisk import AsteriskProcess


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def asterisk() -> AsyncIterator[AsteriskProcess]:
    async with private_asterisk() as process:
        await add_extensions(process)
        yield process


@pytest_asyncio.fixture(scope="session", loop_scope="session", autouse=True)
async def session_loop() -> None:
    """The loop that all tests of a session share is there before the first of them is watched."""
