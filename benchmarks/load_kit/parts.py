"""What each part of the system has in hand, from /proc."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.media_load.subject import cpu_s, family, rss_mib

Pids = Mapping[str, Sequence[int]]
"""The processes of each part, by its name; their descendants are counted with them."""


@dataclass(frozen=True, slots=True)
class Held:
    """By one part, descendants included."""

    cpu_s: float
    rss_mib: float
    files: int
    threads: int


@dataclass(frozen=True, slots=True)
class Moment:
    """All parts at one instant; `busy_s` is what all cores of the machine have spent on anything."""

    at_s: float
    busy_s: float
    parts: Mapping[str, Held]


@dataclass(frozen=True, slots=True)
class Spent:
    """Between two moments: cores in use by each part and by all that is none of them, and each part's memory at the
    end in MiB. `machine` counts the cores there are.
    """

    cores: Mapping[str, float]
    others: float
    machine: int
    mib: Mapping[str, float]


def moment(pids: Pids, now_s: float) -> Moment:
    return Moment(now_s, _busy_s(), {name: _held(members) for name, members in pids.items()})


def spent(before: Moment, after: Moment) -> Spent:
    """A part that is not in both is left out."""
    seconds = after.at_s - before.at_s
    cores = {
        name: max(0.0, held.cpu_s - before.parts[name].cpu_s) / seconds
        for name, held in after.parts.items()
        if name in before.parts
    }
    busy = (after.busy_s - before.busy_s) / seconds
    return Spent(
        cores=cores,
        others=max(0.0, busy - sum(cores.values())),
        machine=os.cpu_count() or 1,
        mib={name: after.parts[name].rss_mib for name in cores},
    )


@dataclass(frozen=True, slots=True)
class Open:
    """What one process has open: UDP ports, TCP connections and listeners, and everything else."""

    udp: int
    tcp: int
    files: int


def held_open(pid: int) -> Open:
    targets = _targets(pid)
    udp, tcp = (_sockets(pid, kind, targets) for kind in ("udp", "tcp"))
    return Open(udp, tcp, len(targets) - udp - tcp)


def _sockets(pid: int, kind: str, targets: Collection[str]) -> int:
    rows = [row for name in (kind, f"{kind}6") for row in _lines(Path(f"/proc/{pid}/net/{name}"))[1:]]
    inodes = {f"socket:[{row.split()[9]}]" for row in rows}
    return sum(target in inodes for target in targets)


def named(program: str, ancestor: int) -> int | None:
    """The descendant of `ancestor` that runs `program`; None when there is none."""
    for pid in family(ancestor):
        words = _text(Path(f"/proc/{pid}/cmdline")).split("\0")
        if any(Path(word).name == program for word in words[:8]) and "-f" in words:
            return pid
    return None


def _held(pids: Sequence[int]) -> Held:
    members = [member for pid in pids for member in family(pid)]
    threads = sum(len(list(_entries(Path(f"/proc/{member}/task")))) for member in members)
    files = sum(len(_targets(member)) for member in members)
    return Held(sum(map(cpu_s, pids)), sum(map(rss_mib, pids)), files, threads)


def _targets(pid: int) -> list[str]:
    found = []
    for entry in _entries(Path(f"/proc/{pid}/fd")):
        try:
            found.append(str(entry.readlink()))
        except OSError:  # closed meanwhile
            continue
    return found


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:  # the process is gone
        return []


def _busy_s() -> float:
    """user, nice, system, irq, softirq and steal of /proc/stat, in seconds of a core."""
    user, nice, system, _idle, _wait, irq, softirq, steal = map(
        int, _lines(Path("/proc/stat"))[0].split()[1:9]
    )
    return float(user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def _lines(path: Path) -> list[str]:
    return _text(path).splitlines()


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
