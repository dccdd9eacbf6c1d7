"""What a call asks of what is around it: Asterisk, the media plane, and the models that write and speak.

The product's own parts fit without knowing of this module, and so must whatever stands in for one of them.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from gpu_workers.client import Message, ToolCall
from media_bridge.events import MediaEvent
from media_bridge.session import MediaSession
from media_bridge.settings import MediaOverride
from media_bridge.tap import Tap
from media_bridge.transport import Offer, Peer
from stasis_app.ari.hub import EventHub


class ExitRequests(Protocol):
    """What sends a caller on; `stasis_app.ari.rest.Ari` says what each does. Raises AriError from every method."""

    async def set_variable(self, channel_id: str, name: str, value: str) -> None: ...

    async def continue_in_dialplan(
        self,
        channel_id: str,
        context: str | None = None,
        exten: str | None = None,
        priority: int | None = None,
    ) -> None: ...


class CallRequests(ExitRequests, Protocol):
    """All requests that a call makes."""

    async def create_bridge(self, bridge_id: str) -> None: ...

    async def delete_bridge(self, bridge_id: str) -> None: ...

    async def add_channel(self, bridge_id: str, channel_id: str) -> None: ...

    async def external_media(self, channel_id: str, offer: Offer) -> Peer: ...

    async def answer(self, channel_id: str) -> None: ...

    async def hangup(self, channel_id: str) -> None: ...

    async def channel_variable(self, channel_id: str, name: str) -> str | None: ...


class CallLink(Protocol):
    """Of `stasis_app.ari.link.AriLink`: `ari` for all but what sends a caller on, which goes by `exits`."""

    @property
    def hub(self) -> EventHub: ...

    @property
    def ari(self) -> CallRequests: ...

    @property
    def exits(self) -> ExitRequests: ...

    def building(self, channel_id: str, call_id: str) -> AbstractAsyncContextManager[None]:
        """To be held while a call is connected. Raises LegFailed for one whose turn does not come."""
        ...


class CallMedia(Protocol):
    """Of `media_bridge.plane.MediaPlane`."""

    def open(
        self,
        call_id: str,
        on_event: Callable[[MediaEvent], None],
        tap: Tap | None = None,
        override: MediaOverride | None = None,
    ) -> AbstractAsyncContextManager[MediaSession]:
        """Raises NoPortError."""
        ...


class Written(Protocol):
    """An answer as it is written; at its end `finish_reason` is "length" for one that was cut at max_tokens."""

    @property
    def finish_reason(self) -> str | None: ...

    def __aiter__(self) -> AsyncIterator[str | ToolCall]: ...


class Writer(Protocol):
    """Of `gpu_workers.client.LlmClient`. Raises WorkerError, the answer too."""

    def stream(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        call_id: str,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> AbstractAsyncContextManager[Written]: ...

    async def read_ahead(
        self, messages: Sequence[Message], *, call_id: str, tools: Sequence[Mapping[str, Any]] | None = None
    ) -> None: ...


class Sound(Protocol):
    """Mono s16le in whole samples, `rate` of them a second, as it is made."""

    @property
    def rate(self) -> int: ...

    def __aiter__(self) -> AsyncIterator[bytes]: ...


class Speaker(Protocol):
    """Of `gpu_workers.client.TtsClient`. Raises WorkerError, the sound too."""

    def speak(
        self, text: str, *, voice: str | None, call_id: str, left_ms: int = 0
    ) -> AbstractAsyncContextManager[Sound]: ...
