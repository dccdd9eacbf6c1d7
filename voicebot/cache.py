"""Where fetched programs and models are kept between runs."""

import os
from pathlib import Path


def default_cache_dir() -> Path:
    """VOICEBOT_CACHE, else $XDG_CACHE_HOME/voicebot, else ~/.cache/voicebot. It need not exist yet."""
    if own := os.environ.get("VOICEBOT_CACHE"):
        return Path(own).expanduser()
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    # the XDG base directory specification: a relative path is invalid and ignored
    base = Path(xdg) if Path(xdg).is_absolute() else Path.home() / ".cache"
    return base / "voicebot"
