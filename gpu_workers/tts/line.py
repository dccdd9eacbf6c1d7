"""Whose sound is made next: that of the caller who runs dry first. Pure: times come in as arguments, in seconds of
one monotonic clock."""

from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Ticket:
    """One piece of sound that is to be made.

    `runs_dry` is when its listener will have heard all there is: the past if the listener hears silence already.
    `begun`: earlier pieces of the same request were made, so it may not be refused any more.
    """

    number: int
    runs_dry: float
    begun: bool = False

    @property
    def order(self) -> tuple[float, int]:
        return self.runs_dry, self.number

    def after(self, made_s: float, now: float) -> "Ticket":
        """That of the next piece of the request, when `made_s` seconds more have been handed over at `now`."""
        return replace(self, runs_dry=max(self.runs_dry, now) + made_s, begun=True)


class LineFullError(Exception):
    """There is no room, and nobody in line who can wait longer than the newcomer."""


@dataclass
class WaitingLine:
    """At most `limit` requests wait for their first piece.

    Nearest first: nobody starves, since a time that stands still becomes the nearest one.
    """

    limit: int
    _waiting: dict[int, Ticket] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, ticket: Ticket) -> Ticket | None:
        """Puts `ticket` in line; gives the one that had to leave for it, whose listener has most sound left.

        Raises LineFullError. What is begun always has room: it was let in before.
        """
        leaves = None
        if not ticket.begun:
            fresh = [waiting for waiting in self._waiting.values() if not waiting.begun]
            if len(fresh) >= self.limit:
                leaves = max(fresh, key=lambda waiting: waiting.order)
                if leaves.order <= ticket.order:
                    raise LineFullError
                del self._waiting[leaves.number]
        self._waiting[ticket.number] = ticket
        return leaves

    def remove(self, number: int) -> None:
        """Its listener left; nothing happens if it is not in line."""
        self._waiting.pop(number, None)

    def take(self) -> Ticket | None:
        """The next one; None if nobody waits."""
        if not self._waiting:
            return None
        first = min(self._waiting.values(), key=lambda waiting: waiting.order)
        return self._waiting.pop(first.number)
