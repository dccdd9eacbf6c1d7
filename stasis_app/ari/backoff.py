"""When to try the event socket again: a pure policy, without clock or dice."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Waits:
    """All in seconds."""

    first_s: float = 0.25
    starting_s: float = 1.0
    """The longest wait while Asterisk is down or starting: a try costs nothing, and callers wait."""
    most_s: float = 5.0
    """The longest wait in every other trouble that has lasted for `soon_tries`."""
    soon_tries: int = 60
    """Before that many none waits longer than `starting_s`: a line that was cut is mostly healed within a minute."""
    healthy_s: float = 30.0
    """A connection that lived this long ends the row of failures; connecting alone does not."""
    no_page_s: float = 10.0
    """A starting Asterisk has its ARI sooner than this."""


def longest_wait_s(waits: Waits, status: int | None, refused: bool) -> float | None:
    """How long the waits may grow after this failure; None: trying again cannot help.

    `status` is the HTTP status of the handshake, None where there was none. A starting Asterisk first refuses
    the connection, then answers 404 (ARI is not loaded yet) and 503 (not fully booted).
    """
    if status in (401, 403):
        return None
    return waits.starting_s if asterisk_ended(status, refused) else waits.most_s


def asterisk_ended(status: int | None, refused: bool) -> bool:
    """Whether this failure says that Asterisk is down or starting."""
    return refused or status in (404, 503)


class NoPage:
    """Tells a starting Asterisk from one that has no ARI where it is asked for: by how long it answers 404."""

    def __init__(self, waits: Waits) -> None:
        self._waits = waits
        self._since: float | None = None

    def lasts(self, status: int | None, now: float) -> bool:
        """True once in a row of 404 that has lasted; every other `status` of a try (None: it has none) ends the row."""
        if status != 404:
            self._since = None
        elif self._since is None:
            self._since = now
        elif now - self._since >= self._waits.no_page_s:
            self._since = float("inf")
            return True
        return False


class Backoff:
    """Doubling, capped, jittered waits."""

    def __init__(self, waits: Waits) -> None:
        self._waits = waits
        self.failures = 0
        """How many connections in a row failed or died young."""

    def lost(self, lived_s: float) -> None:
        """A connection ended that lived this long; 0 when it never came up."""
        if lived_s >= self._waits.healthy_s:
            self.failures = 0

    def next_s(self, longest_s: float, jitter: float) -> float:
        """The next wait. `jitter`, 0 to 1, picks from its upper half: many bots must not come at once."""
        if self.failures < self._waits.soon_tries:
            longest_s = min(longest_s, self._waits.starting_s)
        wait_s = min(longest_s, self._waits.first_s * float(1 << min(self.failures, 16)))
        self.failures += 1
        return wait_s * (0.5 + jitter / 2)
