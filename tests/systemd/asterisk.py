"""Keeps an Asterisk until SIGTERM, on the ports of the documentation: `python -m tests.systemd.asterisk`."""

import asyncio
import sys

from pydantic import SecretStr

from tests.support.rig import the_asterisk
from voicebot.asterisk import AsteriskProcess
from voicebot.interrupts import run_until_told

PASSWORD = "word-of-the-test-machine"
PROCESSES = 2


async def keep(stop: asyncio.Event) -> None:
    async with AsteriskProcess(the_asterisk(), ari_password=SecretStr(PASSWORD), bot_processes=PROCESSES):
        await stop.wait()


if __name__ == "__main__":
    sys.exit(run_until_told(keep))
