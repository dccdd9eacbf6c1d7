"""Who is decoded next. Pure: times come in as arguments, in seconds of one monotonic clock."""

from dataclasses import dataclass
from enum import IntEnum


class Priority(IntEnum):
    """Smaller goes first: a caller waits for a final, perhaps for an eager one, nobody for a partial."""

    FINAL = 0
    EAGER = 1
    PARTIAL = 2


@dataclass(frozen=True)
class Ticket:
    """One waiting request. `window_s` is the encoder window it needs: those of one window make a batch, the partials
    apart from those that are answered."""

    number: int
    priority: Priority
    deadline: float
    window_s: float
    call_id: str | None = None

    @property
    def order(self) -> tuple[Priority, float, int]:
        return self.priority, self.deadline, self.number

    @property
    def kind(self) -> tuple[float, bool]:
        """Those of one kind can be decoded together."""
        return self.window_s, self.priority is Priority.PARTIAL


class LineFullError(Exception):
    """There is no room, and nobody in line who is worth less than the newcomer."""


class WaitingLine:
    """Bounded. Whatever comes newly of a call takes the place of its partial; a better request that of a worse."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiting: dict[int, Ticket] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, ticket: Ticket) -> list[Ticket]:
        """Puts `ticket` in line and returns those that had to leave for it. Raises LineFullError."""
        left = [old for old in self._waiting.values() if _replaces(ticket, old)]
        if len(self._waiting) - len(left) >= self._limit:
            last = max(self._waiting.values(), key=lambda waiting: waiting.order)
            if last.priority <= ticket.priority:
                raise LineFullError
            left.append(last)
        for old in left:
            del self._waiting[old.number]
        self._waiting[ticket.number] = ticket
        return left

    def remove(self, number: int) -> None:
        """The client of this request left; nothing happens if it is not in line."""
        self._waiting.pop(number, None)

    def late(self, now: float) -> list[Ticket]:
        """Takes out those whose deadline has passed; a final stays, its caller still waits for an answer."""
        late = [
            waiting
            for waiting in self._waiting.values()
            if waiting.deadline < now and waiting.priority is not Priority.FINAL
        ]
        for waiting in late:
            del self._waiting[waiting.number]
        return late

    def take(self, limit: int) -> list[Ticket]:
        """The next to decode, at most `limit`, all of the first one's kind; empty if nobody waits.

        Nobody joins a batch while a better priority waits for another: on a CPU each makes the batch longer.
        """
        in_order = sorted(self._waiting.values(), key=lambda waiting: waiting.order)
        others = [waiting.priority for waiting in in_order if waiting.kind != in_order[0].kind]
        worst = min(others, default=Priority.PARTIAL)
        batch = [one for one in in_order if one.kind == in_order[0].kind and one.priority <= worst][:limit]
        for ticket in batch:
            del self._waiting[ticket.number]
        return batch


def _replaces(new: Ticket, old: Ticket) -> bool:
    return new.call_id is not None and old.call_id == new.call_id and old.priority is Priority.PARTIAL
