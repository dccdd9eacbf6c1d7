"""Where log records go: standard error, one line each, as text for people or JSON for a collector."""

import json
import logging
import sys
from datetime import UTC, datetime

from voicebot.config import LogSettings

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """One JSON object a record: time (UTC), level, logger, message, what was given as `extra`, and the traceback."""

    def __init__(self, process: str = "") -> None:
        super().__init__()
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
    text = logging.Formatter(f"%(asctime)s {who}%(levelname)-7s %(name)s: %(message)s")
    handler.setFormatter(JsonFormatter(process) if settings.format == "json" else text)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for package in ("stasis_app", "media_bridge", "gpu_workers", "voicebot"):
        logging.getLogger(package).setLevel(settings.level.upper())
