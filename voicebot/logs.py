"""Where log records go: standard error, one line each, as text for people or JSON for a collector.

Above debug a traceback shows where, but no values: Python quotes in an exception what it could not use, which may be
what a caller said.
"""

import json
import logging
import re
import sys
from datetime import UTC, datetime

from voicebot.config import LogSettings

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_FRAME = re.compile(r'[\s|+]*File "')
_VALUE = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|\d{3,}")
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class _Formatter(logging.Formatter):
    def __init__(self, form: str | None, *, with_values: bool) -> None:
        super().__init__(form)
        self._with_values = with_values

    def formatException(self, ei: "logging._SysExcInfoType") -> str:  # noqa: N802 - the name of logging
        trace = super().formatException(ei)
        if self._with_values:
            return trace
        return "\n".join(
            line if _FRAME.match(line) else _VALUE.sub("...", line) for line in trace.split("\n")
        )


class TextFormatter(_Formatter):
    """A line for people; what a message quotes cannot begin a line of its own."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name of logging
        record.message = _CONTROL.sub(" ", record.message)
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
            "message": record.getMessage(),
        }
        line |= self._process | {key: value for key, value in vars(record).items() if key not in _OWN}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


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
    for package in ("stasis_app", "media_bridge", "gpu_workers", "voicebot"):
        logging.getLogger(package).setLevel(settings.level.upper())
