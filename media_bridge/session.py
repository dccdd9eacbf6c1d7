"""One call's sound, both ways, on the 20 ms tick, over whichever transport.

Each tick speaks first and hears half a period later, so that nothing the caller sends can keep the bot's stream from
going on, and what was heard is answered with the next packet. That stream never pauses from the first tick after
`set_peer`, also while the bot is silent, because it is what keeps Asterisk from listening to a stranger.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import asdict
from math import inf

from media_bridge.ear import Ear
from media_bridge.events import (
    CallerHeard,
    MediaClosed,
    MediaEvent,
    MediaFailed,
    MediaTimeout,
    PlayoutStarted,
    Utterance,
)
from media_bridge.heard import Heard
from media_bridge.pacer import MAX_CATCH_UP, PTIME_S
from media_bridge.playout import Playout
from media_bridge.quality_watch import SAMPLE_S, CallQuality, QualityWatch
from media_bridge.settings import MediaSettings
from media_bridge.stats import MediaStats
from media_bridge.tap import Tap
from media_bridge.transport import Offer, Peer, Transport
from media_bridge.vad import Vad

# after a stall of the process the caller's last 300 ms are still heard. Not so when stalls go on, as in a
# process that has too much to do: then it has to catch up with less, not more
_HEAR_AGAIN = 15.0
_HEAR_AGAIN_REFILL = 0.06


class MediaSession:
    """One call's media. `MediaPlane.open` makes it and takes it apart.

    `on_event` is called from within the tick and must return at once; it may call any method here but `put`.
    """

    def __init__(
        self,
        settings: MediaSettings,
        transport: Transport,
        vad: Vad,
        on_event: Callable[[MediaEvent], None],
        clock: Callable[[], float],
        tap: Tap | None = None,
    ) -> None:
        self.rate = transport.rate
        self.settings = settings
        self._transport = transport
        self._on_event = on_event
        self._clock = clock
        self._tap = tap
        self._silence = bytes(2 * int(self.rate * PTIME_S))
        self._ear = Ear(settings, vad, self.rate)
        self._playout = Playout(rate=self.rate)
        self._room = asyncio.Event()
        self._first_packets: dict[int, float] = {}
        # sent in this wake-up, to be heard against the caller
        self._spoken: deque[tuple[bytes, float | None]] = deque(maxlen=MAX_CATCH_UP)
        self._again_left = _HEAR_AGAIN
        self._on_hold = False
        self._off_hold_at = self._opened_at = -inf
        self._watched_since = 0.0
        self._timed_out = False
        self._met = False
        self._closed = False
        self._quality = QualityWatch(transport.offer.medium.codec)
        self._sample_at = 0.0
        self._skipped = 0
        self._max_late_ms = 0.0

    # --- the peer

    @property
    def offer(self) -> Offer:
        """What Asterisk has to be told to make its end."""
        return self._transport.offer

    async def connect(self, peer: Peer) -> None:
        """Asterisk has made its end: nothing but what comes from there is heard.

        Sending begins with the next tick. Raises MediaError if that end cannot be reached.
        """
        await self._transport.connect(peer)
        self._watched_since = self._clock()

    def hold(self, on: bool) -> None:
        """While on hold the caller neither hears nor is listened to, and may be silent for any time.

        What they were saying ends, the bot's voice stands still, and silence is sent.
        """
        if on == self._on_hold:
            return
        self._on_hold = on
        self._watched_since = self._clock()
        if on:
            if self._tap is not None:
                self._tap.stopped()
            self._ear.stop()
            self._playout.hold()
            self._transport.take_back(self._playout, self._clock())
            self._room.set()
        else:
            self._playout.unhold()
            self._off_hold_at = self._clock()

    @property
    def on_hold(self) -> bool:
        return self._on_hold

    def sound_comes(self, within_s: float) -> bool:
        """Whether the caller's phone sends: something came so short a time ago, and it is not on hold."""
        heard_at = self._transport.last_heard_at
        return not self._on_hold and heard_at is not None and self._clock() - heard_at <= within_s

    # --- the bot's voice

    def start_turn(self, turn: int) -> None:
        """Open a turn; turn numbers only grow. What is left of an earlier one is dropped."""
        now = self._clock()
        on_its_way = self._transport.unheard_samples(now)
        self._opened_at = now
        if self._playout.start_turn(turn) and on_its_way:
            self._transport.drop(self._playout, now)
        self._room.set()

    def begin_sentence(self, turn: int, text: str) -> None:
        """What is put from here on says `text`."""
        self._playout.begin_sentence(turn, text)

    async def put(self, turn: int, pcm: bytes) -> bool:
        """Queue pcm of `rate`; waits while 2 s or more are queued. False, at once, if the turn is no longer
        open.
        """
        while not self._playout.room_ms() and self._playout.is_open(turn):
            self._room.clear()
            await self._room.wait()
        return self._playout.put(turn, pcm)

    def end_sentence(self, turn: int) -> None:
        """The sentence has all its sound."""
        self._playout.end_sentence(turn)

    def end_turn(self, turn: int) -> None:
        """Nothing more will be put; PlayoutFinished comes when all has been played."""
        self._playout.end_turn(turn)
        self._room.set()

    def pause(self) -> None:
        """Be silent from the next tick on; nothing is lost."""
        self._playout.pause()
        self._transport.take_back(self._playout, self._clock())

    def resume(self) -> None:
        """Go on at the sample the pause came before."""
        self._playout.resume()

    def flush(self) -> Heard:
        """Be silent from the next tick on and close the turn. What has been heard of it."""
        now = self._clock()
        heard = self._playout.flush(self._transport.unheard_samples(now))
        self._transport.drop(self._playout, now)
        self._room.set()
        return heard

    def heard(self) -> Heard:
        """What the caller has heard of the latest turn so far."""
        return self._playout.heard(self._transport.unheard_samples(self._clock()))

    def first_packet_at(self, turn: int) -> float | None:
        """The instant the first packet of this turn's speech was sent; None if none was, or if a hold delayed it."""
        return self._first_packets.get(turn)

    # --- the caller's voice

    def set_end_wait(self, utterance_number: int, wait_ms: int) -> None:
        """How much silence ends this utterance, now that its words are known."""
        if self._tap is not None:
            self._tap.end_wait(utterance_number, wait_ms)
        self._ear.set_end_wait(utterance_number, wait_ms)

    def so_far(self) -> Utterance | None:
        """What the caller is saying, while they say it; None when they are silent or pause."""
        return self._ear.so_far()

    def stats(self) -> MediaStats:
        return MediaStats(
            **asdict(self._transport.stats()),
            underruns=self._playout.underruns,
            skipped=self._skipped,
            max_late_ms=self._max_late_ms,
        )

    def quality(self) -> CallQuality | None:
        """How the caller's sound was so far; None when nothing was heard."""
        return self._quality.result(self._transport.stats())

    # --- the tick

    def speak(self, due: float, skipped: int) -> None:
        """Send the packet of this tick; `skipped` ticks were left out before it."""
        now = self._clock()
        self._max_late_ms = max(self._max_late_ms, (now - due) * 1000)
        self._skipped += skipped
        if not self._transport.is_up:
            return
        for frame in self._transport.speak(self._playout, now, skipped):
            self._spoken.append((frame.pcm, frame.level if frame.kind == "speech" else None))
            for event in frame.events:
                if isinstance(event, PlayoutStarted) and self._off_hold_at < self._opened_at:
                    self._first_packets[event.turn] = event.at
                self._on_event(event)
        if not self._room.is_set() and self._playout.room_ms():
            self._room.set()

    def hear(self, due: float, skipped: int) -> None:
        """Take what came since the last tick, and the caller's next 20 ms of it."""
        self._transport.receive()
        if not self._transport.is_up:
            self._check_closed(due)
            return
        if not self._met and self._transport.last_heard_at is not None:
            self._met = True
            self._sample_at = due + SAMPLE_S
            self._on_event(CallerHeard(due))
        if skipped:
            self._hear_again(due, skipped)
        self._again_left = min(_HEAR_AGAIN, self._again_left + _HEAR_AGAIN_REFILL)
        spoken, level = self._spoken.popleft() if self._spoken else (self._silence, None)
        self._hear_frame(due, spoken, level)
        if not skipped:
            self._check_timeout(due)
        if self._met and due >= self._sample_at:
            self._sample_at = due + SAMPLE_S
            self._quality.sample(self._transport.stats())

    def decide(self, due: float, skipped: int) -> None:
        """Say what the caller does, now that all calls of this tick are heard."""
        for event in self._ear.decide():
            if self._tap is not None:
                self._tap.said(event)
            self._on_event(event)

    def failed(self, due: float, error: Exception) -> None:
        """A tick raised: say so, once."""
        self._on_event(MediaFailed(due, type(error).__name__))

    def close(self) -> None:
        """Let nobody wait in `put` any more."""
        self.flush()

    def _hear_again(self, due: float, skipped: int) -> None:
        """The caller's words came while we were away: listen to the last of them now."""
        again = min(skipped, int(self._again_left))
        self._again_left -= again
        if self._tap is not None and skipped > again:
            missed = self._silence * (skipped - again)
            self._tap.sound(due - (again + 1) * PTIME_S, missed, missed, heard=False)
        for step in range(again, 0, -1):
            self._hear_frame(due - step * PTIME_S, self._silence, None)

    def _hear_frame(self, at: float, spoken: bytes, level: float | None) -> None:
        pcm = self._transport.frame(at)
        if self._tap is not None:
            self._tap.sound(at, pcm, spoken, heard=not self._on_hold)
        if not self._on_hold:
            self._ear.hear(pcm, at, level)

    def _check_timeout(self, now: float) -> None:
        if self._on_hold or self._timed_out:
            return
        if self._playout.is_busy:
            # many a phone sends nothing while its user listens
            self._watched_since = now
            return
        heard_at = self._transport.last_heard_at
        limit_s = self.settings.first_packet_s if heard_at is None else self.settings.media_timeout_s
        if now - max(heard_at or 0.0, self._watched_since) >= limit_s:
            self._timed_out = True
            self._on_event(MediaTimeout(now, "first_packet" if heard_at is None else "stopped"))

    def _check_closed(self, now: float) -> None:
        reason = self._transport.closed_because
        if reason is not None and not self._closed:
            self._closed = True
            self._on_event(MediaClosed(now, reason))
