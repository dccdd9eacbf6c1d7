"""Recorded questions for the test caller; README.md has their words and where they come from."""

from pathlib import Path

from voicebot.errors import UsageError

DIRECTORY = Path(__file__).parent


def speech_file(name: str) -> Path:
    """A WAV file given by path, or by the name of one of ours (`price01`). Raises UsageError."""
    for path in (Path(name), DIRECTORY / f"{name}.wav"):
        if path.is_file():
            return path
    known = ", ".join(sorted(path.stem for path in DIRECTORY.glob("*.wav")))
    raise UsageError(f"no file {name}: name a WAV file (8 kHz mono), or one of ours: {known}")
