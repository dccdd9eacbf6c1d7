"""The end of a thread that writes to a disk."""

from concurrent.futures import ThreadPoolExecutor, wait

LAST_WRITES_S = 5.0


def ended(writer: ThreadPoolExecutor, within_s: float = LAST_WRITES_S) -> bool:
    """Let it write what waits, whether that was done in time; for a disk that hangs nobody waits longer."""
    last = writer.submit(lambda: None)
    wait({last}, within_s)
    whole = last.done()
    writer.shutdown(wait=whole, cancel_futures=True)
    return whole
