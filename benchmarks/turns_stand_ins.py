"""What stands in for the rest of the world in a call of `benchmarks.turns`: Asterisk grants all, models take no time.

Each fits a protocol of `stasis_app.seams`, so that a call which comes to ask for more fails the type check.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from caller_phone.g711 import Samples
from caller_phone.media import MediaEngine, MediaLeg
from caller_phone.sdp import Codec, Media
from gpu_workers.client import Message, ToolCall
from media_bridge.events import EndpointEvent, MediaEvent
from media_bridge.plane import MediaPlane
from media_bridge.session import MediaSession
from media_bridge.settings import MediaOverride
from media_bridge.tap import Tap
from media_bridge.transport import Offer, Peer, RtpAddress
from stasis_app.ari.events import Channel, StasisStart
from stasis_app.ari.hub import EventHub
from stasis_app.call import CALL_VARIABLE

BOT_RATE: Final = 8000
_ANSWER: Final = "All right."
_ANSWER_MS: Final = 200
_CHUNK: Final = 1600
_TONE_HZ: Final = 440.0


class Ari:
    """Asterisk's side of a call's REST calls; the other end of the sound is the phone."""

    def __init__(self, hub: EventHub, phone: MediaLeg, engine: MediaEngine) -> None:
        self._hub, self._phone, self._engine = hub, phone, engine

    async def external_media(self, channel_id: str, offer: Offer) -> Peer:
        loop = asyncio.get_running_loop()
        loop.call_soon(lambda: self._hub.dispatch(StasisStart(Channel(channel_id))))
        self._phone.talk_to(Media(offer.host, offer.port, (Codec.PCMU,), events=None))
        loop.call_later(0.005, self._engine.start, self._phone)
        return RtpAddress(*self._phone.address)

    async def create_bridge(self, bridge_id: str) -> None:
        """Nothing is mixed here, as in Asterisk where two are in a bridge."""

    async def delete_bridge(self, bridge_id: str) -> None:
        pass

    async def add_channel(self, bridge_id: str, channel_id: str) -> None:
        pass

    async def answer(self, channel_id: str) -> None:
        pass

    async def hangup(self, channel_id: str) -> None:
        """`Line.play` ends every call."""

    async def channel_variable(self, channel_id: str, name: str) -> str | None:
        return None

    async def set_variable(self, channel_id: str, name: str, value: str) -> None:
        """A call that is handed back has not been played."""
        if name == CALL_VARIABLE:
            return
        raise RuntimeError(f"the call was given up: {name} = {value}")

    async def continue_in_dialplan(
        self,
        channel_id: str,
        context: str | None = None,
        exten: str | None = None,
        priority: int | None = None,
    ) -> None:
        raise RuntimeError("the call was given up")


@dataclass(frozen=True, slots=True)
class Link:
    ari: Ari
    exits: Ari
    hub: EventHub

    @asynccontextmanager
    async def building(self, channel_id: str, call_id: str) -> AsyncIterator[None]:
        """Nobody waits for a leg here."""
        yield


Listener = Callable[[bytes, bytes], None]
"""`listener(caller, bot)`: pcm of the same 20 ms, or more where ticks were left out."""


class _SoundTap(Tap):
    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def sound(self, at: float, caller: bytes, bot: bytes, heard: bool) -> None:
        self._listener(caller, bot)

    def stopped(self) -> None:
        pass

    def end_wait(self, utterance_number: int, wait_ms: int) -> None:
        pass

    def said(self, event: EndpointEvent) -> None:
        pass


class TappedPlane:
    """The real plane, with somebody listening to the very frames that the call hears."""

    def __init__(self, plane: MediaPlane, listener: Listener) -> None:
        self._plane, self._tap = plane, _SoundTap(listener)

    @asynccontextmanager
    async def open(
        self,
        call_id: str,
        on_event: Callable[[MediaEvent], None],
        tap: Tap | None = None,
        override: MediaOverride | None = None,
    ) -> AsyncIterator[MediaSession]:
        async with self._plane.open(call_id, on_event, self._tap, override=override) as session:
            yield session


class InstantLlm:
    @asynccontextmanager
    async def stream(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        call_id: str,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> AsyncIterator["_Answer"]:
        yield _Answer()

    async def read_ahead(
        self, messages: Sequence[Message], *, call_id: str, tools: Sequence[Mapping[str, Any]] | None = None
    ) -> None:
        pass


class InstantTts:
    """Every sentence is a tone; the greeting as long as it has to be."""

    def __init__(self, greeting: str, greeting_ms: int) -> None:
        self._greeting, self._greeting_ms = greeting, greeting_ms

    @asynccontextmanager
    async def speak(
        self, text: str, *, voice: str | None, call_id: str, left_ms: int = 0
    ) -> AsyncIterator["_Tone"]:
        yield _Tone(self._greeting_ms if text == self._greeting else _ANSWER_MS)


class _Tone:
    rate = BOT_RATE

    def __init__(self, ms: int) -> None:
        self._left = bot_sound(ms).tobytes()

    def __aiter__(self) -> "_Tone":
        return self

    async def __anext__(self) -> bytes:
        if not self._left:
            raise StopAsyncIteration
        chunk, self._left = self._left[:_CHUNK], self._left[_CHUNK:]
        return chunk


def bot_sound(ms: int) -> Samples:
    """What the bot "says" in so many ms."""
    at = np.arange(BOT_RATE * ms // 1000) / BOT_RATE
    tone: Samples = np.rint(6000 * np.sin(2 * np.pi * _TONE_HZ * at)).astype(np.int16)
    return tone


class _Answer:
    """Written at once, and whole."""

    finish_reason = "stop"

    async def __aiter__(self) -> AsyncIterator[str | ToolCall]:
        yield _ANSWER
