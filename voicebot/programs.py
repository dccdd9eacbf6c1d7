"""The programs this product runs and does not contain: Asterisk, and SIPp for load and tests.

The host's own are used where they are new enough; else Debian's are unpacked into the cache folder.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from stasis_app.ari.rest import SAFE_VERSION
from voicebot.errors import VoicebotError
from voicebot.unpacked import FetchError, Say, Unpacked, fetch

PACKAGES = ("asterisk", "asterisk-core-sounds-en-gsm")
OLDEST_USABLE = (18, 0)  # external media with what we ask of it
OLDEST_TAKEN = (20, 0)  # of the host's own, unasked
# asterisk lives in sbin, which a plain user's PATH often lacks
EXTRA_PATH = "/usr/sbin:/usr/local/sbin:/opt/homebrew/sbin"
RECOMMENDED = (22, 8)  # chan_websocket, and the fixes since
OTHER_WAYS = (
    "Is this machine online? Otherwise install Asterisk 20 or newer yourself (22.8 or newer recommended), "
    "or name one with VOICEBOT_ASTERISK=/path/to/asterisk."
)


class AsteriskError(VoicebotError):
    """No usable Asterisk, or it does not start or answer."""


@dataclass(frozen=True)
class AsteriskInstall:
    """An Asterisk that can be started. A folder that is None is the one it was built with."""

    command: tuple[str, ...]
    version: str
    module_dir: Path | None = None
    data_dir: Path | None = None


@dataclass(frozen=True)
class SippInstall:
    """A SIPp that can be run."""

    command: tuple[str, ...]


def find_or_fetch(cache_dir: Path, say: Say, named: Path | None = None) -> AsteriskInstall:
    """The Asterisk to use: the one named (VOICEBOT_ASTERISK goes before `named`), the host's own, or ours.

    Ours lives in cache_dir/asterisk and is fetched when it is not there: about 80 MB, 10 to 60 s. `say` gets a line
    of progress now and then. Raises AsteriskError, which says what to do instead.
    """
    path = os.environ.get("VOICEBOT_ASTERISK") or named
    if path is not None:
        # one of a user there is not stays as it is, and is no program
        return _named(Path(os.path.expanduser(path)), say)  # noqa: PTH111
    installed = _installed(say)
    if isinstance(installed, AsteriskInstall):
        return installed
    try:
        return _ours(fetch("asterisk", PACKAGES, cache_dir, _accept, say), say)
    except FetchError as error:
        raise AsteriskError(f"{installed}Could not fetch Asterisk. {error}. {OTHER_WAYS}") from error


def fetch_sipp(cache_dir: Path, say: Say) -> SippInstall:
    """The SIPp to use: the host's own, or Debian's in cache_dir/sipp (about 20 MB). Raises FetchError."""
    if host := shutil.which("sipp"):
        return SippInstall((host,))
    tree = fetch("sipp", ("sip-tester",), cache_dir, _accept_sipp, say)
    return SippInstall(tree.command("usr/bin/sipp"))


def _installed(say: Say) -> AsteriskInstall | str:
    """The host's own Asterisk, or why it is none, for the message when fetching fails as well."""
    path = shutil.which("asterisk", path=os.pathsep.join([os.environ.get("PATH", ""), EXTRA_PATH]))
    if path is None:
        return ""
    try:
        version = _version((path,))
    except AsteriskError as error:
        reason = f"{error} "
    else:
        if _numbers(version) >= OLDEST_TAKEN:
            _recommend(version, say)
            return AsteriskInstall((path,), version)
        reason = f"{path} is Asterisk {version}, too old: 20 or newer is needed. "
    say(f"{reason}Another one is used; yours is left as it is.")
    return reason


def _named(path: Path, say: Say) -> AsteriskInstall:
    if not os.access(path, os.X_OK):
        raise AsteriskError(f"{path} is no program that runs. Correct VOICEBOT_ASTERISK or asterisk.binary.")
    version = _version((str(path),))
    if _numbers(version) < OLDEST_USABLE:
        raise AsteriskError(
            f"{path} is Asterisk {version}, too old: 18 is the oldest that works, 22.8 or newer is recommended. "
            "Upgrade it, or unset VOICEBOT_ASTERISK and asterisk.binary so that a new one is fetched."
        )
    _recommend(version, say)
    return AsteriskInstall((str(path),), version)


def _recommend(version: str, say: Say) -> None:
    if _numbers(version) < RECOMMENDED:
        say(
            f"Using the installed Asterisk {version}. 22.8 or newer is recommended: older ones lack security fixes."
        )


def _ours(tree: Unpacked, say: Say) -> AsteriskInstall:
    data = tree.root / "usr/share/asterisk"
    command = tree.command("usr/sbin/asterisk")
    version = _version(command)
    say(f"Asterisk {version} in {tree.root}")
    if _numbers(version) < SAFE_VERSION:  # fetched long ago
        say(
            f"It is older than 22.10.1, which closes security holes: remove {tree.root} and start again, online."
        )
    return AsteriskInstall(command, version, tree.library_dir / "asterisk/modules", data)


def _accept(tree: Unpacked) -> None:
    """Finish and check what was just unpacked."""
    sounds = tree.root / "usr/share/asterisk/sounds"
    if not (sounds / "en").exists():  # the package makes this link when it is installed
        (sounds / "en").symlink_to("en_US_f_Allison")
    try:
        version = _version(tree.command("usr/sbin/asterisk"))
    except AsteriskError as error:
        raise FetchError(f"what was fetched does not run: {error}") from error
    if _numbers(version) < SAFE_VERSION:
        raise FetchError(f"it holds Asterisk {version}, older than 22.10.1, which closes security holes")
    for needed in (tree.library_dir / "asterisk/modules/chan_websocket.so", sounds / "en/ss-noservice.gsm"):
        if not needed.is_file():
            raise FetchError(f"{needed.name} is missing in its Asterisk {version}")


def _accept_sipp(tree: Unpacked) -> None:
    if not (tree.root / "usr/bin/sipp").is_file():
        raise FetchError("the package sip-tester holds no usr/bin/sipp")


def _version(command: tuple[str, ...]) -> str:
    """What `asterisk -V` says: "22.10.1", also of "certified/22.8-cert1" and "GIT-22-1234abc"."""
    try:
        result = subprocess.run(  # noqa: S603 - the Asterisk the user has or named
            (*command, "-V"),
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise AsteriskError(f"`{command[-1]} -V` failed: {error}. Install it again.") from error
    said = result.stdout.strip() or result.stderr.strip()
    found = re.search(r"^Asterisk (?:certified/|GIT-)?(\d+(?:\.\d+)*)", said, re.MULTILINE)
    if found is None:
        raise AsteriskError(
            f"`{command[-1]} -V` names no version but says {said[:200]!r}. Is it an Asterisk?"
        )
    return found[1]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
