"""The log of our own Asterisk does not grow without end: set aside when it is long, and Asterisk writes a new one."""

import contextlib
import os
from pathlib import Path

import pytest

from tests.support.rig import private_asterisk
from voicebot import keep_asterisk
from voicebot.asterisk import AsteriskError
from voicebot.keep_asterisk import bound_log


async def test_a_long_log_is_set_aside_and_a_new_one_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    async with private_asterisk() as asterisk:
        log = asterisk.log_path
        files = Path(f"/proc/{asterisk.pid}/fd")

        def written() -> set[str]:
            return {name for name in map(os.readlink, files.iterdir()) if name.startswith(str(log))}

        await bound_log(asterisk)
        assert not log.with_name("messages.1").exists(), "it is short"
        monkeypatch.setattr(keep_asterisk, "MAX_BYTES", 10)
        for _ in range(4):
            with contextlib.suppress(AsteriskError):  # it complains in its log
                await asterisk.cli("module load no_such_module.so")
            await bound_log(asterisk)
        names = sorted(path.name for path in log.parent.glob("messages*"))
        assert names == ["messages", "messages.1", "messages.2"]
        assert written() == {str(log)}
        assert "no_such_module" in log.with_name("messages.1").read_text()
