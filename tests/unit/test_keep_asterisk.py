"""Our Asterisk is started again when it dies, whatever stands in the way for a while. A small program plays it."""

import asyncio
import errno
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pydantic import SecretStr

from tests.support.rig import free_ports
from voicebot import keep_asterisk
from voicebot.asterisk import AsteriskError, AsteriskInstall, AsteriskProcess
from voicebot.errors import PortTakenError
from voicebot.keep_asterisk import kept_asterisk
from voicebot.run_folder import run_folder
from voicebot.supervise import Backoff

QUICK = Backoff(first_s=0.01, longest_s=0.02)
PATIENCE_S = 20.0
PLAYS_ASTERISK = """#!/bin/sh
# -C FOLDER/asterisk.conf, then -f or -rx COMMAND
cd "$(dirname "$2")"
case "$3" in
    -f)
        echo $$ > pid
        printf 'line %s\\n' 1 2 3 4 5 6 > log/messages
        touch run/asterisk.ctl
        exec sleep 600 ;;
    -rx)
        [ "$4" != "core stop now" ] || kill "$(cat pid)"
        [ "$4" != "logger reload" ] || touch log/messages
        echo "$4" >> told
        echo "Asterisk has fully booted." ;;
esac
"""


@dataclass
class Kept:
    """What was said, and each that was made."""

    said: list[str] = field(default_factory=list)
    made: list[AsteriskProcess] = field(default_factory=list)

    async def tells(self, words: str) -> str:
        await until(lambda: any(words in line for line in self.said))
        return next(line for line in self.said if words in line)

    @property
    def folder(self) -> Path:
        """Of the one that runs now."""
        return self.made[-1].log_path.parents[1]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - what is waited for is outside this process
            await asyncio.sleep(0.01)


@pytest.fixture
def ports() -> tuple[int, int]:
    return free_ports(1)[0], free_ports(1, socket.SOCK_STREAM)[0]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "asterisk"
    path.write_text(PLAYS_ASTERISK)
    path.chmod(0o755)
    return path


@asynccontextmanager
async def keeping(program: Path, ports: tuple[int, int]) -> AsyncIterator[Kept]:
    kept = Kept()
    sip, http = ports

    def make() -> AsteriskProcess:
        install = AsteriskInstall((str(program),), "22.10.1")
        kept.made.append(
            AsteriskProcess(install, ari_password=SecretStr("word"), sip_port=sip, http_port=http)
        )
        return kept.made[-1]

    async with kept_asterisk(make, kept.said.append, QUICK):
        yield kept


@contextmanager
def in_use(kind: socket.SocketKind, port: int) -> Iterator[None]:
    with socket.socket(socket.AF_INET, kind) as other:
        other.bind(("127.0.0.1", port))
        if kind is socket.SOCK_STREAM:
            other.listen()
        yield


async def test_one_that_is_killed_is_started_again(program: Path, ports: tuple[int, int]) -> None:
    async with keeping(program, ports) as kept:
        os.kill(kept.made[0].pid, signal.SIGKILL)
        told = await kept.tells("was killed by SIGKILL")
        assert told.startswith("Asterisk was killed by SIGKILL. The end of its log:\n    line 2\n")
        assert told.endswith("line 6\nIt is started again in 0.01 s.")
        await kept.tells("Asterisk is up again.")
        folder = kept.folder
        assert (folder / "run" / "asterisk.ctl").exists()
    assert not folder.exists()


@pytest.mark.parametrize("kind", [socket.SOCK_DGRAM, socket.SOCK_STREAM])
async def test_a_port_that_somebody_has_meanwhile_is_waited_for(
    kind: socket.SocketKind, program: Path, ports: tuple[int, int]
) -> None:
    async with keeping(program, ports) as kept:
        kept.made[0].kill()
        with in_use(kind, ports[0] if kind is socket.SOCK_DGRAM else ports[1]):
            told = await kept.tells("does not start again")
            assert "is in use by another program" in told
        await kept.tells("Asterisk is up again.")


async def test_a_disk_without_room_is_waited_for(
    program: Path, ports: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    full = [False, True, True]

    @contextmanager
    def on_a_full_disk() -> Iterator[Path]:
        if full.pop():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with run_folder() as folder:
            yield folder

    async with keeping(program, ports) as kept:
        monkeypatch.setattr("voicebot.asterisk.run_folder", on_a_full_disk)
        kept.made[0].kill()
        await kept.tells("Asterisk is up again.")
        assert sum("does not start again: [Errno 28] No space left" in line for line in kept.said) == 2


async def test_what_keeps_it_from_its_first_start_is_told(
    program: Path, ports: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with in_use(socket.SOCK_DGRAM, ports[0]), pytest.raises(ExceptionGroup) as caught:
        async with keeping(program, ports):
            pass
    assert isinstance(caught.value.exceptions[0], PortTakenError)

    def full() -> Iterator[Path]:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("voicebot.asterisk.run_folder", contextmanager(full))
    with pytest.raises(ExceptionGroup) as caught:
        async with keeping(program, ports):
            pass
    (error,) = caught.value.exceptions
    assert isinstance(error, AsteriskError)
    assert str(error) == "Asterisk cannot be started: [Errno 28] No space left on device"


async def test_its_log_is_bounded(
    program: Path, ports: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keep_asterisk, "_LOOK_AT_LOG_S", 0.02)
    monkeypatch.setattr(keep_asterisk, "MAX_BYTES", 1000)
    async with keeping(program, ports) as kept:
        log = kept.made[0].log_path
        for number in range(5):
            log.write_text(f"{number}" * 1001)
            told = kept.folder / "told"
            await until(lambda: told.read_text().count("logger reload") == number + 1)  # noqa: B023 - at once
        names = sorted(path.name for path in log.parent.iterdir())
        assert names == ["messages", "messages.1", "messages.2"]
        assert [(log.parent / name).read_text()[:1] for name in names] == ["", "4", "3"]
        await asyncio.sleep(0.1)
        assert told.read_text().count("logger reload") == 5, "a short one is left alone"
