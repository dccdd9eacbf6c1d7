"""How a process ended, in words."""

import signal


def how_it_ended(status: int) -> str:
    """`status` as subprocess has it: the exit status, or the number of the signal that killed it, negative."""
    if status >= 0:
        return f"ended with exit code {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:  # of the real-time signals only the first and the last have one
        name = f"signal {-status}"
    return f"was killed by {name}"
