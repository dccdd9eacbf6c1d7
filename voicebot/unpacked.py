"""Debian packages unpacked into a folder with every library they need, to run on any Linux.

No root, no chroot, no maintainer scripts; the host's own packages and package lists stay untouched. The
programs run through the folder's own dynamic loader, so the host's libc does not matter.
"""

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from voicebot.errors import VoicebotError

Say = Callable[[str], None]

SUITES = ("forky", "sid")  # the second when a change in the first broke something
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
PROGRESS_EVERY_S = 5

APT_CONF = """\
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Dir::Etc::sourcelist "{apt}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "{apt}";
Dir::State::lists "{apt}/lists";
// an empty list of installed packages: the whole closure is resolved, libc included
Dir::State::status "{apt}/status";
Dir::Cache "{apt}/cache";
Dir::Cache::archives "{apt}/cache/archives";
Dir::Log "{apt}";
APT::Architecture "{arch}";
APT::Architectures "{arch}";
APT::Default-Release "";
APT::Install-Recommends "false";
APT::Keep-Downloaded-Packages "true";
APT::Update::Error-Mode "any";
APT::Sandbox::User "{user}";
Acquire::Languages "none";
Acquire::Retries "2";
// a mirror may lag behind its Release file's date; signatures are still verified
Acquire::Check-Valid-Until "false";
Acquire::Check-Date "false";
Debug::NoLocking "1";
"""


class FetchError(VoicebotError):
    """The packages could not be fetched or do not work."""


@dataclass(frozen=True)
class Unpacked:
    """A folder of unpacked packages."""

    root: Path

    @property
    def library_dir(self) -> Path:
        """The folder of the shared libraries, such as usr/lib/x86_64-linux-gnu."""
        return self._one("usr/lib/*/libc.so.6").parent

    def command(self, binary: str) -> tuple[str, ...]:
        """How to run `binary`, a path inside the folder such as "usr/bin/sipp"."""
        loader = self._one("usr/lib*/ld-linux*.so.*", "usr/lib/*/ld-linux*.so.*")
        path = self.root / binary
        return (str(loader), "--argv0", path.name, "--library-path", str(self.library_dir), str(path))

    def _one(self, *patterns: str) -> Path:
        for pattern in patterns:
            for path in sorted(self.root.glob(pattern)):
                return path
        raise FetchError(f"no {patterns[0]} in {self.root}: remove that folder, it is fetched again")


def fetch(
    name: str, packages: Sequence[str], cache_dir: Path, accept: Callable[[Unpacked], None], say: Say
) -> Unpacked:
    """`packages` unpacked in cache_dir/name, fetched if that folder is not there yet.

    A second run that wants the same waits for the first. The folder appears in one step, and only after
    `accept` raised no FetchError on it. Raises FetchError, saying why for each suite tried.
    """
    dest = cache_dir / name
    if (
        dest.is_dir()
    ):  # whole since it appeared: asked without the lock, which a read-only folder does not let us take
        return Unpacked(dest)
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FetchError(
            f"cannot make {cache_dir}: {error.strerror}. Set VOICEBOT_CACHE to a folder of yours."
        ) from error
    with _lock(cache_dir / f"{name}.lock", name, say):
        if dest.is_dir():  # fetched while we waited
            return Unpacked(dest)
        for left_over in cache_dir.glob(f"{name}.partial-*"):
            shutil.rmtree(left_over, ignore_errors=True)
        reasons = []
        for suite in SUITES:
            with tempfile.TemporaryDirectory(prefix=f"{name}.partial-", dir=cache_dir) as work:
                try:
                    tree = _unpack(Path(work), suite, packages, f"{name} from Debian {suite}", say)
                    accept(tree)
                except FetchError as error:
                    reasons.append(f"{suite}: {error}")
                    continue
                tree.root.rename(dest)
                return Unpacked(dest)
        raise FetchError("; ".join(reasons))


@contextmanager
def _lock(path: Path, name: str, say: Say) -> Iterator[None]:
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"Another run is fetching {name}; waiting for it.")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _unpack(work: Path, suite: str, packages: Sequence[str], what: str, say: Say) -> Unpacked:
    apt_get = _apt_get(work / "apt", suite)
    say(f"Looking up {what} ...")
    _output(*apt_get, "-qq", "update")
    plan = _output(*apt_get, "-y", "--print-uris", "install", *packages)
    sizes = [int(size) for size in re.findall(r"^'\S+' \S+ (\d+)", plan, re.MULTILINE)]
    on_disk = re.search(r"After this operation, (.+? [kMG]?B)", plan)
    room = f", {on_disk[1]} on disk" if on_disk else ""
    say(f"Fetching {what}: {len(sizes)} packages, {_mb(sum(sizes))} MB to download{room}.")
    archives = work / "apt" / "cache" / "archives"
    _download((*apt_get, "-qq", "-y", "--download-only", "install", *packages), archives, sum(sizes), say)
    say("Unpacking ...")
    root = work / "root"
    root.mkdir()
    for package in sorted(archives.glob("*.deb")):
        _output("dpkg-deb", "-x", str(package), str(root))
    return Unpacked(root)


def _apt_get(apt: Path, suite: str) -> tuple[str, ...]:
    for program in ("apt-get", "dpkg", "dpkg-deb"):
        if shutil.which(program) is None:
            raise FetchError(f"there is no {program} on this machine, and only Debian packages are fetched")
    if not KEYRING.is_file():
        raise FetchError(f"there is no {KEYRING}: apt-get install debian-archive-keyring")
    for folder in ("lists/partial", "cache/archives/partial"):
        (apt / folder).mkdir(parents=True)
    (apt / "status").touch()
    arch = _output("dpkg", "--print-architecture").strip()
    (apt / "sources.list").write_text(f"deb [arch={arch} signed-by={KEYRING}] {_mirror()} {suite} main\n")
    user = _output("id", "-un").strip()
    (apt / "apt.conf").write_text(APT_CONF.format(apt=apt, arch=arch, user=user))
    return ("apt-get", "-c", str(apt / "apt.conf"))


def _mirror() -> str:
    if named := os.environ.get("VOICEBOT_DEBIAN_MIRROR"):
        return named
    targets = ("indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian")
    # on a machine that never ran `apt-get update`, what apt would ask
    known = _output("apt-get", *targets).split() or debian_mirrors(
        _output("apt-get", "update", "--print-uris")
    )
    if not known:
        raise FetchError(
            "this machine's apt knows no Debian mirror: run `apt-get update` on a Debian machine, or set "
            "VOICEBOT_DEBIAN_MIRROR to the address of one"
        )
    return min(known)


def debian_mirrors(uris: str) -> list[str]:
    """The mirrors of Debian itself in what `apt-get update --print-uris` prints: not those of its security fixes."""
    mirrors = {line.lstrip("'").partition("/dists/")[0] for line in uris.splitlines() if "/dists/" in line}
    return sorted(mirror for mirror in mirrors if mirror.endswith("/debian"))


def _download(command: Sequence[str], archives: Path, total: int, say: Say) -> None:
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(  # noqa: S603 - apt-get, with arguments made here
            command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, env=_plain_env()
        )
        try:
            while (status := _wait(process)) is None:
                say(f"  {_mb(_size(archives))} of {_mb(total)} MB")
        finally:
            process.kill()
            process.wait()
        if status != 0:
            output.seek(0)
            raise FetchError(_reason(output.read()))


def _wait(process: subprocess.Popen[bytes]) -> int | None:
    try:
        return process.wait(PROGRESS_EVERY_S)
    except subprocess.TimeoutExpired:
        return None


def _size(folder: Path) -> int:
    total = 0
    for file in folder.rglob("*.deb"):
        with suppress(FileNotFoundError):  # it has just been moved from partial/
            total += file.stat().st_size
    return total


def _output(*command: str) -> str:
    result = subprocess.run(  # noqa: S603 - apt-get, dpkg and the like, with arguments made here
        command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, env=_plain_env()
    )
    if result.returncode != 0:
        raise FetchError(f"`{command[0]}` failed: {_reason(result.stderr)}")
    return result.stdout


def _plain_env() -> dict[str, str]:
    return {**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}


def _reason(output: str) -> str:
    lines = [line.removeprefix("E: ") for line in output.splitlines() if line.startswith("E: ")]
    told = [line for line in lines if not line.startswith("Some index files failed")]
    return " ".join(told or lines or output.splitlines()[-2:]) or "no reason given"


def _mb(size: int) -> int:
    return round(size / 1e6)
