"""`voicebot replay`: a recorded call's conversation once more, step by step."""

from pathlib import Path

from stasis_app.flight import FlightError, Replayed, replay
from voicebot.errors import UsageError
from voicebot.supervise import Say


def replay_file(file: Path, say: Say) -> int:
    """0 when this version decides as the call did, else 1. Raises UsageError for a file that is no flight."""
    differ = 0
    try:
        with file.open(encoding="utf-8", errors="replace") as lines:
            for done in replay(lines):
                say(_line(done))
                differ += not done.same
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    except FlightError as error:
        raise UsageError(f"{file}: {error}") from error
    say("All as it was." if not differ else f"{differ} steps are decided otherwise now.")
    return 1 if differ else 0


def _line(done: Replayed) -> str:
    phase, commands = done.now
    text = f"{done.t:9.3f}  {done.event} -> {phase}{''.join(f' {command}' for command in commands)}"
    if done.same:
        return text
    phase, commands = done.recorded
    return f"{text}\n{'then':>9}  {done.event} -> {phase}{''.join(f' {command}' for command in commands)}"
