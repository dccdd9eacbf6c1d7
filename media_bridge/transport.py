"""What a call's way to and from Asterisk looks like to the rest: every transport is one of these."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from media_bridge.errors import MediaError
from media_bridge.playout import Playout, PlayoutFrame
from media_bridge.settings import Medium
from media_bridge.stats import TransportStats


@dataclass(frozen=True, slots=True)
class Offer:
    """What Asterisk has to be told to make its end of a call's media.

    `host` and `port` are where it sends or connects to; a websocket is connected by us, so it has none.
    `token` tells the calls of one port apart.
    """

    medium: Medium
    host: str = ""
    port: int = 0
    token: str = ""


@dataclass(frozen=True, slots=True)
class RtpAddress:
    """Asterisk sends from and listens at this address."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class MediaUrl:
    """Asterisk waits for a websocket here."""

    url: str


@dataclass(frozen=True, slots=True)
class ConnectsToUs:
    """Asterisk connects to what it was offered."""


Peer = RtpAddress | MediaUrl | ConnectsToUs


class Transport(Protocol):
    """One call's sound between Asterisk and the bot, as pcm of `rate`.

    `speak`, `receive` and `frame` belong to the 20 ms tick. Nothing but `connect` waits, and nothing but
    `connect` raises: what goes wrong later is counted, or ends the connection.
    """

    @property
    def rate(self) -> int:
        """8000 or 16000."""

    @property
    def offer(self) -> Offer:
        """For whoever asks Asterisk to make its end."""

    @property
    def is_up(self) -> bool:
        """Sound can go both ways."""

    @property
    def closed_because(self) -> str | None:
        """Why the connection ended; None while it has not."""

    @property
    def last_heard_at(self) -> float | None:
        """The instant the last sign of the caller's sound came; None before the first."""

    async def connect(self, peer: Peer) -> None:
        """Asterisk has made its end: join it. Raises MediaError."""

    def speak(self, playout: Playout, now: float, skipped: int) -> Sequence[PlayoutFrame]:
        """Send what is due; `skipped` ticks were left out before. The frames the caller has begun to hear.

        Silence is sent too: the stream never pauses.
        """

    def unheard_samples(self, now: float) -> int:
        """How many samples were taken from playout that the caller has not heard yet."""

    def take_back(self, playout: Playout, now: float) -> None:
        """The caller hears no more of what is on its way; playout gets it back."""

    def drop(self, playout: Playout, now: float) -> None:
        """The caller hears no more of what is on its way, ever."""

    def receive(self) -> None:
        """Take what has come."""

    def frame(self, now: float) -> bytes:
        """The caller's next 20 ms, made up where nothing came."""

    def stats(self) -> TransportStats:
        """What was counted so far."""


class TransportFactory(Protocol):
    """The transports of one kind for all calls of the process. An async context manager, entered once."""

    def open(self, call_id: str, medium: Medium) -> AbstractAsyncContextManager[Transport]:
        """One call's transport; on leaving it is gone. Raises MediaError."""


def wrong_peer(peer: Peer, medium: Medium) -> MediaError:
    """Asterisk made another end than it was asked for."""
    return MediaError(f"Asterisk made {type(peer).__name__} for media over {medium.transport}")
