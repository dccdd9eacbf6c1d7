"""How often strangers may make us write to the log. Pure."""


class LogGate:
    """At most one log line a second about what came from outside, for all calls of the process together."""

    def __init__(self, interval_s: float = 1.0) -> None:
        self._interval_s = interval_s
        self._next_at = float("-inf")

    def open(self, now: float) -> bool:
        """True if a line may be written now; then none may for the next interval."""
        if now < self._next_at:
            return False
        self._next_at = now + self._interval_s
        return True
