"""Which numbers of a stream came in time. Pure.

Comfort noise (RFC 3389) and telephone events (RFC 4733) have numbers of the same sequence as the voice. Without them a
pause looks like a loss, and a loss beside a pause like a pause.
"""

from media_bridge.rtp import sequence_distance

# more than this before the newest nothing comes in time any more
_WINDOW = 128
# the numbers before the window are counted in one go, when there are so many of them
_AT_ONCE = 256
# a greater step is no loss but another numbering
_MAX_STEP = 3000


class Arrivals:
    """One for each call. `note` what came in time; what came too late is as good as lost (RFC 3611 section 4.7.1)."""

    def __init__(self) -> None:
        self._newest: int | None = None
        # bit n is the number n before the newest
        self._came = 0
        self._width = 0
        self._counted = 0
        self._lost = 0
        self._runs = 0
        # the number just before the window came
        self._came_before = True

    def restart(self) -> None:
        """Another numbering follows."""
        self._count(self._width)
        self._newest = None
        self._came = self._width = 0
        self._came_before = True

    def note(self, sequence: int) -> None:
        """This number came in time."""
        step = 1 if self._newest is None else sequence_distance(sequence, self._newest)
        if step > _MAX_STEP:
            self.restart()
            step = 1
        if step <= 0:
            if -step < self._width:
                self._came |= 1 << -step
            return
        self._newest = sequence
        self._came = self._came << step | 1
        self._width += step
        if self._width >= _WINDOW + _AT_ONCE:
            self._count(self._width - _WINDOW)

    def since(self, sequence: int) -> int:
        """By how many numbers the newest that came is further than this one; 0 if it is not."""
        return 0 if self._newest is None else max(0, sequence_distance(self._newest, sequence))

    def missing_after(self, sequence: int) -> int:
        """How many numbers in a row, from the next one on, did not come; 0 if this one is long past."""
        back = self.since(sequence)
        if back > self._width:
            return 0
        return back - (self._came & (1 << back) - 1).bit_length()

    def missing_before(self, sequence: int) -> int:
        """How many numbers in a row, up to the one before, did not come, as far as the window goes back."""
        back = self.since(sequence) + 1
        earlier = self._came >> back
        if not earlier:
            return max(0, self._width - back)
        return (earlier & -earlier).bit_length() - 1

    def loss(self) -> tuple[int, int, int]:
        """So many numbers were there, so many of them did not come in time, in so many runs."""
        lost, runs = self._holes(self._width)
        return self._counted + self._width, self._lost + lost, self._runs + runs

    def _holes(self, count: int) -> tuple[int, int]:
        """How many of the oldest `count` numbers of the window did not come, and in how many runs."""
        came = self._came >> self._width - count
        holes = ~came & (1 << count) - 1
        begun = holes & (came >> 1 | self._came_before << count >> 1)
        return holes.bit_count(), begun.bit_count()

    def _count(self, count: int) -> None:
        """The oldest `count` numbers of the window are what they are."""
        if not count:
            return
        lost, runs = self._holes(count)
        self._counted += count
        self._lost += lost
        self._runs += runs
        self._width -= count
        self._came_before = bool(self._came >> self._width & 1)
        self._came &= (1 << self._width) - 1
