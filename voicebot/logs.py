"""Where log records go: standard error, one line each, as text for people or JSON for a collector.

Above debug a traceback shows where, but no values: an exception holds what it could not use, which may be what a caller
said. Of those that are not our own, and of those that tell what is wrong with an input, only the class is told.
"""

import json
import logging
import os
import re
import sys
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime

from voicebot.config import LogSettings

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_FRAME = re.compile(r'\s*File "')
_LONGEST_CHAIN = 50
_OUR_PACKAGES = ("stasis_app", "media_bridge", "gpu_workers", "voicebot")
# asyncio's own handler writes the repr of a task: its coroutine, then what came of it
_OUTCOME = re.compile(r"\b(?:(exception=\w+)|result=).*", re.DOTALL)
_VALUE = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|\d{3,}")
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class _Formatter(logging.Formatter):
    def __init__(self, form: str | None, *, with_values: bool) -> None:
        super().__init__(form)
        self._with_values = with_values

    def formatException(self, ei: "logging._SysExcInfoType") -> str:  # noqa: N802 - the name of logging
        if self._with_values or ei[1] is None:
            return super().formatException(ei)
        return "\n".join(_without_values(ei[1], set()))

    def said(self, record: logging.LogRecord) -> str:
        """The message, which asyncio's own code makes out of values."""
        text = record.getMessage()
        if self._with_values or record.name != "asyncio":
            return text
        return _VALUE.sub("...", _OUTCOME.sub(lambda found: found[1] or "", text))


class TextFormatter(_Formatter):
    """A line for people; what a message quotes cannot begin a line of its own."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name of logging
        record.message = _CONTROL.sub(" ", self.said(record))
        return super().formatMessage(record)


class JsonFormatter(_Formatter):
    """One JSON object a record: time (UTC), level, logger, message, what was given as `extra`, and the traceback."""

    def __init__(self, process: str = "", *, with_values: bool = False) -> None:
        super().__init__(None, with_values=with_values)
        self._process = {"process": process} if process else {}

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self.said(record),
        }
        line |= self._process | {key: value for key, value in vars(record).items() if key not in _OWN}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def _without_values(error: BaseException, seen: set[int]) -> Iterator[str]:
    """The lines of a traceback as Python writes it."""
    seen.add(id(error))
    earlier = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if earlier is not None and id(earlier) not in seen and len(seen) < _LONGEST_CHAIN:
        yield from _without_values(earlier, seen)
        yield "which led to:"
    yield "Traceback (most recent call last):"
    for line in "".join(traceback.format_tb(error.__traceback__)).splitlines():
        yield line if _FRAME.match(line) else _VALUE.sub("...", line)
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    yield f"{name}: {_VALUE.sub('...', text)}" if (text := _telling(error)) else name
    if isinstance(error, BaseExceptionGroup):
        for number, one in enumerate(error.exceptions, start=1):
            yield f"  ---- {number} ----"
            if id(one) not in seen and len(seen) < _LONGEST_CHAIN:
                yield from (f"  {line}" for line in _without_values(one, seen))


def _telling(error: BaseException) -> str:
    """What an admin needs of it: what we wrote ourselves, and why the system refused."""
    if type(error).__module__.partition(".")[0] in _OUR_PACKAGES and not isinstance(error, ValueError):
        return str(error)
    if isinstance(error, OSError) and isinstance(error.errno, int) and error.errno > 0:
        return f"[Errno {error.errno}] {os.strerror(error.errno)}"
    return ""


def configure(settings: LogSettings, process: str = "") -> None:
    """Set the root logger up; libraries speak from `warning` on only.

    `process`: which one of several says it, for a log that they share.
    """
    handler = logging.StreamHandler(sys.stderr)
    who = f"{process} " if process else ""
    debug = settings.level == "debug"
    text = TextFormatter(f"%(asctime)s {who}%(levelname)-7s %(name)s: %(message)s", with_values=debug)
    handler.setFormatter(JsonFormatter(process, with_values=debug) if settings.format == "json" else text)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for package in _OUR_PACKAGES:
        logging.getLogger(package).setLevel(settings.level.upper())
