"""Log lines for people and for collectors."""

import asyncio
import errno
import gc
import json
import logging
from collections.abc import Iterator

import pytest

from stasis_app.ari.errors import AriError
from stasis_app.tools.arguments import ArgumentError
from voicebot import logs
from voicebot.config import LogSettings


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    own = {
        name: logging.getLogger(name).level
        for name in ("stasis_app", "media_bridge", "gpu_workers", "voicebot")
    }
    yield
    root.handlers[:] = before
    root.setLevel(level)
    for name, was in own.items():
        logging.getLogger(name).setLevel(was)


def test_json_has_what_was_given_and_the_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure(LogSettings(format="json"))
    try:
        int("no frame")
    except ValueError:
        logging.getLogger("stasis_app.call").exception("turn %d failed", 3, extra={"call": "a-1"})
    line = json.loads(capsys.readouterr().err)
    assert line["traceback"].splitlines()[-1] == "ValueError"
    assert {key: line[key] for key in ("level", "logger", "message", "call")} == {
        "level": "error",
        "logger": "stasis_app.call",
        "message": "turn 3 failed",
        "call": "a-1",
    }
    assert line["time"].endswith("+00:00")


def test_the_level_is_ours_and_libraries_only_warn(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure(LogSettings(level="debug"))
    logging.getLogger("media_bridge.udp").debug("ours")
    logging.getLogger("aiohttp").info("theirs")
    logging.getLogger("aiohttp").warning("theirs, important")
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(": ")[2] for line in lines] == ["ours", "theirs, important"]


def test_one_of_several_processes_says_which_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure(LogSettings(), "voicebot-2")
    logging.getLogger("stasis_app.call").info("for people")
    logs.configure(LogSettings(format="json"), "voicebot-2")
    logging.getLogger("stasis_app.call").info("for a collector")
    text, line = capsys.readouterr().err.splitlines()
    assert " voicebot-2 INFO " in text
    assert json.loads(line)["process"] == "voicebot-2"


def fail_with(text: str) -> None:
    try:
        {"known": 1}[text]
    except KeyError as error:
        raise ValueError(f"no {text!r} among 5551234") from error


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_traceback_shows_values_at_debug_only(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """P12: what Python quotes may be a caller's words."""
    shown = {}
    for level in ("info", "debug"):
        logs.configure(LogSettings.model_validate({"format": form, "level": level}))
        for words in ("my mother's maiden name", 'an "odd" one'):
            try:
                fail_with(words)
            except ValueError:
                logging.getLogger("stasis_app.call").exception("failed")
        shown[level] = capsys.readouterr().err
    for secret in ("mother", "odd", "5551234"):
        assert secret not in shown["info"]
        assert secret in shown["debug"]
    for told in ("KeyError", "ValueError", "in fail_with", "test_logs.py"):
        assert told in shown["info"]


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_word_of_a_caller_is_in_any_exception(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Quoted or not, in a group, behind a cause, or in the repr of a task that nobody waited for."""

    async def said(text: str) -> None:
        try:
            raise ValueError(f"unknown word {text}")  # noqa: TRY301 - it is what is caught
        except ValueError as error:
            group = ExceptionGroup(f"heard {text}", [ArgumentError(f"unknown: {text}"), KeyError(text)])
            raise group from error

    async def forgotten() -> None:
        task = asyncio.create_task(said("walrus"))
        await asyncio.wait({task})
        del task
        gc.collect()

    shown = {}
    for level in ("info", "debug"):
        logs.configure(LogSettings.model_validate({"format": form, "level": level}))
        asyncio.run(forgotten())
        try:
            asyncio.run(said("walrus\nand seal"))
        except ExceptionGroup:
            logging.getLogger("stasis_app.call").exception("failed")
        shown[level] = capsys.readouterr().err
    for word in ("walrus", "seal"):
        assert word not in shown["info"]
        assert word in shown["debug"]
    for told in ("Task exception was never retrieved", "ValueError", "ArgumentError", "KeyError", "in said"):
        assert told in shown["info"]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (AriError(503, "GET", "/channels", "not now"), "stasis_app.ari.errors.AriError: "),
        (OSError(errno.ENOSPC, "walrus", "walrus"), "OSError: [Errno ...] No space left on device"),
        (OSError("walrus"), "OSError"),
        (RuntimeError("walrus"), "RuntimeError"),
    ],
)
def test_what_an_admin_needs_of_an_exception_is_told(
    error: Exception, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.configure(LogSettings())
    try:
        raise error  # noqa: TRY301 - it is what is caught
    except Exception:
        logging.getLogger("stasis_app.call").exception("failed")
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(told.replace("...", str(getattr(error, "errno", ""))))
    assert "walrus" not in last
    assert ("not now" in last) == isinstance(error, AriError)


def test_no_message_makes_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure(LogSettings())
    logging.getLogger("stasis_app.call").warning("said %s", "x\r\n2026-01-01 call 1 ended\x1b[2J\u2028y\x85z")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("said x  2026-01-01 call 1 ended [2J y z")
