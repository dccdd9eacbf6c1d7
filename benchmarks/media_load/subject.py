"""What is measured: a *subject*, a process of its own that answers N callers over RTP.

The seam between the benchmark and a subject is lines of JSON, one object a line, over the subject's standard input and
output. So a subject may run in another Python with other packages, and needs to import nothing from here. What it
writes to its standard error is shown if it fails. It is started with its own command line and then, in this order:

1. The subject writes `{"ready": true}` once all is loaded that is loaded without a call. The benchmark measures its CPU
   and memory without calls for a few seconds; nothing is asked of it meanwhile.
2. The benchmark writes `{"open": N, "peers": [["127.0.0.1", 40000], ...], "codec": "ulaw"}`. `peers[i]` is where caller
   i sends from and listens, as an Asterisk would with external media: 20 ms of G.711 mu-law a packet, payload type 0,
   8000 Hz, all from the moment of step 3 on.
3. The subject opens N calls and writes `{"listening": [["127.0.0.1", 20000], ...]}`: `listening[i]` is where it hears
   caller i. All N are different. What it sends to caller i comes from exactly that address and port, mu-law too.
4. Callers talk: sentences, with pauses between them (45 % of the time is speech), at once and until step 5. The subject
   does with that what its media part does in a call: voice activity detection and the end of turns, nothing of speech
   recognition. It speaks by itself: for 40 % of the time, sentences of 2 to 8 s, each call at its own times, and
   otherwise does what it does in a call while the bot is silent (sends silence or nothing: the table says which).
5. The benchmark writes `{"close": true}` once the callers have stopped. The subject ends its calls and writes
   `{"heard": H, "utterances": U, "underruns": R}`, null for what it does not know: RTP packets it received over all
   calls, utterances of callers it took to have ended, and frames that were due in the middle of its own speech and not
   there. It may add `"note"`, a few words for the table. Then it exits with status 0.

The benchmark reads CPU and memory of the process and all its children from /proc between 4 and 5, after the first
seconds. A subject that is stuck is killed.
"""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

_START_S = 120.0
_ANSWER_S = 120.0
_EXIT_S = 10.0
_LINE_BYTES = 2**22


class SubjectError(Exception):
    """The process did not keep to the seam, or ended."""


class Lines:
    """A child process that is talked to in lines of JSON."""

    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        self.name = name
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    async def tell(self, message: Mapping[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        await self._process.stdin.drain()

    async def hear(self, key: str, within_s: float = _ANSWER_S) -> dict[str, Any]:
        """The next line, which must have `key`. Raises SubjectError."""
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(within_s):
                line = await self._process.stdout.readline()
        except TimeoutError as error:
            raise SubjectError(f"{self.name} did not say {key!r} within {within_s:g} s") from error
        try:
            message = json.loads(line)
            if key in message:
                return dict(message)
        except (ValueError, TypeError) as error:
            raise SubjectError(f"{self.name} wrote {line[:200]!r} instead of {key!r}") from error
        raise SubjectError(f"{self.name} wrote {line[:200]!r} instead of {key!r}")


@asynccontextmanager
async def started(name: str, command: Sequence[str], cwd: Path | None = None) -> AsyncIterator[Lines]:
    """The process, which is gone on leaving; if it has to be killed, so are its children."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=cwd,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_LINE_BYTES,
        start_new_session=True,
    )
    lines = Lines(name, process)
    try:
        await lines.hear("ready", _START_S)
        yield lines
        try:
            status = await asyncio.wait_for(process.wait(), _EXIT_S)
        except TimeoutError as error:
            raise SubjectError(f"{name} did not end within {_EXIT_S:g} s") from error
        if status:
            raise SubjectError(f"{name} ended with status {status}")
    finally:
        if process.returncode is None:
            # it may have ended just now
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


def family(pid: int) -> list[int]:
    """The process and all its descendants."""
    found, todo = [], [pid]
    while todo:
        parent = todo.pop()
        found.append(parent)
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            todo += [int(child) for child in _read(task).split()]
    return found


def cpu_s(pid: int) -> float:
    """Seconds on a core of all threads of the process and its descendants, to the nanosecond."""
    spent = 0
    for member in family(pid):
        for task in Path(f"/proc/{member}/task").glob("*/schedstat"):
            spent += int((_read(task) or "0").split()[0])
    return spent / 1e9


def rss_mib(pid: int) -> float:
    """Resident memory of the process and its descendants."""
    kib = 0
    for member in family(pid):
        for line in _read(Path(f"/proc/{member}/status")).splitlines():
            if line.startswith("VmRSS:"):
                kib += int(line.split()[1])
    return kib / 1024


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        # gone meanwhile
        return ""
