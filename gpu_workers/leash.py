"""Run a command that gets SIGTERM when its parent dies: `python leash.py PARENT_PID COMMAND...`.

Run as a script by `leashed()`, so that no Python of the parent (it may have threads) runs between fork and exec.
"""

import os
import sys
from collections.abc import Sequence

PR_SET_PDEATHSIG = 1  # linux/prctl.h
MAX_OPEN_FILES = 65536


def leashed(command: Sequence[str]) -> tuple[str, ...]:
    """The command line that runs `command` and gives it SIGTERM when this process dies; same process id.

    Linux sends the signal, also after `kill -9` of this process, and already when the thread that started the
    command ends; elsewhere the command just runs. The limit on open files is raised as far as the user may.
    """
    return (sys.executable, "-I", "-S", __file__, str(os.getpid()), *command)


def raise_open_files() -> int:
    """Set the soft limit on open files to the hard one, MAX_OPEN_FILES at most; what it is now."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_OPEN_FILES)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return MAX_OPEN_FILES if soft == resource.RLIM_INFINITY else soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


def _main(parent: int, command: Sequence[str]) -> None:
    import ctypes
    import signal

    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it died before prctl: no signal will come
            sys.exit(1)
    raise_open_files()
    os.execvp(command[0], [*command])  # noqa: S606 - the caller's own command, without a shell


if __name__ == "__main__":
    _main(int(sys.argv[1]), sys.argv[2:])
