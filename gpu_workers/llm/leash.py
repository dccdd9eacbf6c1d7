"""Run a command that gets SIGTERM when its parent dies: `python leash.py PARENT_PID COMMAND...`.

Run as a script by `leashed()`, so that no Python of the parent runs between fork and exec.
"""

import os
import sys
from collections.abc import Sequence

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def leashed(command: Sequence[str]) -> tuple[str, ...]:
    """The command line; same process id. Elsewhere than on Linux the command just runs.

    The kernel sends the signal also after `kill -9` of this process, and already when the thread ends that started it.
    """
    return (sys.executable, "-I", "-S", __file__, str(os.getpid()), *command)


def _main(parent: int, command: Sequence[str]) -> None:
    import ctypes
    import signal

    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it died before prctl: no signal will come
            sys.exit(1)
    os.execvp(command[0], [*command])  # noqa: S606 - the worker's own command, without a shell


if __name__ == "__main__":
    _main(int(sys.argv[1]), sys.argv[2:])
