"""Lines for whoever watches: in a terminal that may have hung up, through a pipe whose reader may have left."""

import errno
import os
import sys
from typing import TextIO

_GONE = (errno.EPIPE, errno.EIO)  # nobody comes back to this pipe, to this terminal


def say(line: str) -> None:
    """On standard output. Never raises: calls do not end because nobody reads."""
    _print(line, sys.stdout)


def complain(line: str) -> None:
    """The same on standard error."""
    _print(line, sys.stderr)


def _print(line: str, stream: TextIO) -> None:
    try:
        print(line, file=stream, flush=True)
    except OSError as error:
        if error.errno in _GONE:
            _to_nobody(stream)


def _to_nobody(stream: TextIO) -> None:
    """What the stream still holds would fail once more at our end, and change the exit status."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
