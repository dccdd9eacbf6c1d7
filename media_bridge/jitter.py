"""Packets as they come, sound as a clock wants it.

Driven by time: `take` is called once every 20 ms and each call moves the playhead 20 ms on, whatever
arrived or didn't. So a lost packet costs its own 20 ms and never any delay.

The playhead slips by one whole frame when its delay has come too far from the target: the same rule follows a
change of the network and the drift of the sender's clock.
"""

from bisect import bisect_left
from dataclasses import dataclass
from math import inf

from media_bridge.arrivals import Arrivals
from media_bridge.jitter_delay import DelayTarget
from media_bridge.jitter_gap import Gap, Piece, gap_after, gap_between
from media_bridge.rtp import NOT_VOICE, RtpPacket, sequence_distance, timestamp_distance
from media_bridge.settings import JitterSettings

FRAME_MS = 20

# the playhead may be this far from the target before it slips; the sum is more than a frame, so that
# one slip never calls for the opposite one
_TOO_EARLY_MS = 10
_TOO_LATE_MS = 20
_BEGIN_EARLY_MS = 5
# slips in a row are this many frames apart
_SLIP_EVERY = 5
# so much beyond max_ms is made good at once, not frame by frame
_JUMP_MS = 200
# after so many missing frames the stream counts as stopped
_LOST_RUN = 5
# a timestamp this far ahead of its arrival is a new time base, not silence suppression
_AHEAD_S = 0.5
# and one behind it is, when nothing but late packets came for so long
_LATE_RUN_S = 0.06
_LATE_RUN = 3
# a packet from further back in the sequence is not out of order but of another numbering
_MAX_MISORDER = 100
_MAX_PACKETS = 100


@dataclass(frozen=True, slots=True)
class Frame:
    """20 ms of payload."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class Lost:
    """20 ms that should be here and are not: conceal them."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing is due: before the stream, in suppressed silence, or after it stopped. 20 ms of silence."""


@dataclass(slots=True)
class JitterStats:
    """Counts since the call began: packets, except `lost`, `inserted` and `dropped`, which are frames."""

    received: int = 0
    late: int = 0
    duplicate: int = 0
    empty: int = 0
    overflow: int = 0
    lost: int = 0
    # slips of the playhead: a concealed frame too many, a frame left out
    inserted: int = 0
    dropped: int = 0
    # the time base was laid anew
    rebased: int = 0
    target_ms: float = 0.0
    delay_ms: float = 0.0


class JitterBuffer:
    """One for each call. Raises nothing; memory is bounded whatever arrives."""

    def __init__(self, settings: JitterSettings, clock_rate: int = 8000, bytes_per_sample: int = 1) -> None:
        self.stats = JitterStats(target_ms=settings.min_ms)
        self._rate = clock_rate
        self._width = bytes_per_sample
        self._frame = clock_rate * FRAME_MS // 1000
        self._delay = DelayTarget(settings)
        self._pieces: list[Piece] = []
        # RTP timestamp and timeline position of the same sample, None when the next packet sets them
        self._base: tuple[int, int] | None = None
        # nothing from before the base was laid is placed behind it
        self._laid_at: float = -inf
        self._newest: int | None = None
        self._playhead: int | None = None
        self._highest_end = 0
        # the latest packet that was played
        self._last: Piece | None = None
        self._arrivals = Arrivals()
        self._source = 0
        self._late_since = 0.0
        self._late_run = 0
        self._missing_run = 0
        self._ticks = 0
        self._least_delay: float | None = None

    def restart(self) -> None:
        """Another source follows: what is queued still plays, the new packets are laid behind it."""
        self._base = None
        self._newest = None
        self._source += 1
        self._arrivals.restart()

    def put(self, packet: RtpPacket, now: float) -> None:
        """Take a packet that arrived at `now`. One that holds no sound is no loss: that is all it is here for."""
        if packet.payload_type in NOT_VOICE:
            self._arrivals.note(packet.sequence)
            return
        self.stats.received += 1
        samples = len(packet.payload) // self._width
        if not samples:
            self._arrivals.note(packet.sequence)
            self.stats.empty += 1
            return
        start = self._locate(packet, now)
        if self._index_of(start) is not None:
            self._arrivals.note(packet.sequence)
            self.stats.duplicate += 1
            return
        # by its end: a frame can be heard when the packet with its last sample is here, however long packets are
        self._delay.remember(now - (start + samples) / self._rate, now)
        if start < self._laid_at or (self._playhead is not None and start + samples <= self._playhead):
            self._count_late(now)
            return
        self._late_run = 0
        if len(self._pieces) >= _MAX_PACKETS:
            self.stats.overflow += 1
            return
        self._arrivals.note(packet.sequence)
        piece = Piece(start, start + samples, packet.sequence, self._source, packet.payload)
        self._pieces.insert(bisect_left(self._pieces, piece), piece)
        self._highest_end = max(self._highest_end, piece.end)

    def loss(self) -> tuple[int, int, int]:
        """See Arrivals.loss: packets, so many of which did not come in time, in so many runs."""
        return self._arrivals.loss()

    def take(self, now: float) -> Frame | Lost | Wait:
        """What the 20 ms beginning at `now` shall sound like. Call it once each 20 ms."""
        if self._playhead is None and not self._begin(now):
            return Wait()
        playhead = self._playhead or 0
        surplus = self._surplus(now, playhead)
        if surplus > self._delay.max_s - self._delay.target_s + _JUMP_MS / 1000:
            playhead = self._drop(playhead, int(surplus * self._rate) // self._frame)
        elif self._ticks % _SLIP_EVERY == 0:
            # in a pause it costs nothing, see _miss
            if surplus < -_TOO_EARLY_MS / 1000 and self._read(playhead) is not None:
                return self._insert()
            if surplus > _TOO_LATE_MS / 1000:
                playhead = self._drop(playhead, 1)
        payload = self._read(playhead)
        if payload is None and surplus > _TOO_LATE_MS / 1000:
            playhead = self._drop(playhead, 1)
            payload = self._read(playhead)
        if payload is None:
            return self._miss(playhead, surplus)
        self._advance(playhead)
        self._missing_run = 0
        return Frame(payload)

    # --- where a packet belongs

    def _locate(self, packet: RtpPacket, now: float) -> int:
        """The packet's place on the timeline, the time base laid anew where it has to be."""
        ahead = 1 if self._newest is None else sequence_distance(packet.sequence, self._newest)
        newest = not -_MAX_MISORDER <= ahead <= 0
        if newest:
            self._newest = packet.sequence
        if self._base is not None:
            timestamp, position = self._base
            start = position + timestamp_distance(packet.timestamp, timestamp)
            if not (newest and self._is_rebase_due(start, now)):
                self._base = (packet.timestamp, start)
                return start
        start = self._lay_base(now)
        self._base = (packet.timestamp, start)
        return start

    def _lay_base(self, now: float) -> int:
        """Where a packet goes that only its arrival tells the place of."""
        if self._delay.best_transit_s is None:
            return 0
        self.stats.rebased += 1
        if self._late_run:
            self._delay.forget_since(self._late_since)
        self._late_run = 0
        # behind what is queued or played, by whole frames so that packets stay frames
        floor = max(self._highest_end, self._playhead or 0)
        gap = (now - self._delay.best_transit_s) * self._rate - self._frame - floor
        start = floor + max(0, int(gap / self._frame)) * self._frame
        self._laid_at = start
        return start

    def _is_rebase_due(self, start: int, now: float) -> bool:
        best = self._delay.best_transit_s
        if best is None:
            return False
        if now - (start + self._frame) / self._rate < best - _AHEAD_S:
            return True
        return self._late_run >= _LATE_RUN and now - self._late_since >= _LATE_RUN_S

    def _index_of(self, start: int) -> int | None:
        index = bisect_left(self._pieces, start, key=lambda piece: piece.start)
        if index < len(self._pieces) and self._pieces[index].start == start:
            return index
        return None

    def _count_late(self, now: float) -> None:
        self.stats.late += 1
        if not self._late_run:
            self._late_since = now
        self._late_run += 1

    # --- how far the playhead is from the target

    def _surplus(self, now: float, playhead: int) -> float:
        """Seconds of delay above the target: the least of the last ticks, as a tick may be late."""
        self._ticks += 1
        if self._ticks % _SLIP_EVERY == 0:
            self._delay.aim(now)
            self.stats.target_ms = self._delay.target_s * 1000
        if self._delay.best_transit_s is None:
            return 0.0
        delay = now - (playhead + self._frame) / self._rate - self._delay.best_transit_s
        if self._least_delay is None or self._ticks % _SLIP_EVERY == 1:
            self._least_delay = delay
        self._least_delay = min(self._least_delay, delay)
        self.stats.delay_ms = self._least_delay * 1000
        return self._least_delay - self._delay.target_s

    # --- the playhead

    def _begin(self, now: float) -> bool:
        if not self._pieces or self._delay.best_transit_s is None:
            return False
        first = self._pieces[0].start
        if (
            now - (first + self._frame) / self._rate - self._delay.best_transit_s
            < self._delay.target_s - _BEGIN_EARLY_MS / 1000
        ):
            return False
        self._playhead = first
        return True

    def _advance(self, playhead: int) -> None:
        self._playhead = playhead + self._frame
        self._forget(self._playhead)

    def _forget(self, before: int) -> None:
        gone = 0
        while gone < len(self._pieces) and self._pieces[gone].end <= before:
            gone += 1
        if gone:
            self._last = self._pieces[gone - 1]
            del self._pieces[:gone]

    def _insert(self) -> Lost:
        self.stats.inserted += 1
        self.stats.lost += 1
        self._least_delay = None
        return Lost()

    def _drop(self, playhead: int, frames: int) -> int:
        self.stats.dropped += frames
        self._least_delay = None
        self._playhead = playhead + frames * self._frame
        self._forget(self._playhead)
        return self._playhead

    def _read(self, playhead: int) -> bytes | None:
        """One whole frame from the playhead on, None if any sample of it is missing."""
        parts: list[bytes] = []
        at, end = playhead, playhead + self._frame
        for piece in self._pieces:
            if piece.start > at or at >= end:
                break
            until = min(piece.end, end)
            if until > at:
                parts.append(
                    piece.payload[(at - piece.start) * self._width : (until - piece.start) * self._width]
                )
                at = until
        return b"".join(parts) if at >= end else None

    def _miss(self, playhead: int, surplus: float) -> Frame | Lost | Wait:
        """A sample of this frame is missing: the cheapest moment to gain delay."""
        gap = self._find_gap(playhead)
        if gap.after is not None and gap.paused and gap.after.start < playhead + self._frame:
            return self._begin_talkspurt(gap.after.start, playhead)
        if surplus < -_TOO_EARLY_MS / 1000:
            self.stats.inserted += 1
            self._least_delay = None
        else:
            self._advance(playhead)
        if not gap.lost:
            return Wait()
        self._missing_run += 1
        if gap.after is None and self._missing_run > _LOST_RUN:
            return Wait()
        self.stats.lost += 1
        return Lost()

    def _find_gap(self, playhead: int) -> Gap:
        """What the first missing sample is part of."""
        at, before = playhead, self._last
        for piece in self._pieces:
            if piece.start > at:
                return gap_between(self._arrivals, before, piece, at, self._frame)
            at, before = max(at, piece.end), piece
        if before is not None and before.source != self._source:
            before = None
        return gap_after(self._arrivals, before, at, self._frame)

    def _begin_talkspurt(self, start: int, playhead: int) -> Frame | Wait:
        """The playhead goes to the talkspurt's first sample: the silence before it is rounded to frames."""
        self._playhead = start
        self._forget(start)
        payload = self._read(start) if start - playhead < self._frame // 2 else None
        if payload is None:
            return Wait()
        self._advance(start)
        self._missing_run = 0
        return Frame(payload)
