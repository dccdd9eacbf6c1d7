"""Which voicebot this is: its number and, where it runs from a checkout, the commit."""

import subprocess
from importlib import metadata
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_LIMIT_S = 5.0


def version(root: Path = _ROOT) -> str:
    """`0.1.0, commit 0a1b2c3d4`, with `and changes` where files differ from it; the number alone without git."""
    try:
        number = metadata.version("voicebot")
    except metadata.PackageNotFoundError:
        number = "(not installed: run scripts/setup.sh)"
    commit = _commit(root)
    return f"{number}, commit {commit}" if commit else number


def _commit(root: Path) -> str:
    if not (root / ".git").exists():
        return ""
    # the folder is often root's, and the one who asks is not
    command = ["git", "-c", f"safe.directory={root}", "-C", str(root), "describe"]
    command += ["--always", "--dirty= and changes", "--abbrev=9", "--exclude=*"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return said.stdout.strip() if said.returncode == 0 else ""
