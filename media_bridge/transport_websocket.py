"""chan_websocket: we open a websocket to Asterisk for each call, and Asterisk paces.

Asterisk plays what it has of us at 20 ms a frame by its own clock. It is given a few frames ahead, so that a
late tick of ours is not heard; what that lead would cost is taken back when it counts: an answer throws away
the silence before it, and a pause takes the speech back that nobody has heard yet (PAUSE, GET_STATUS, FLUSH
and CONTINUE in a row tell exactly how much).
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

import aiohttp

from media_bridge.codecs import WIRE
from media_bridge.errors import MediaError
from media_bridge.lead import Lead
from media_bridge.log_gate import LogGate
from media_bridge.playout import Playout, PlayoutFrame
from media_bridge.settings import JitterSettings, MediaSettings, Medium
from media_bridge.stats import TransportStats
from media_bridge.stream_in import StreamIn
from media_bridge.transport import MediaUrl, Offer, Peer, wrong_peer
from media_bridge.websocket_messages import (
    Complaint,
    DtmfEnd,
    MarkProcessed,
    MediaStart,
    Status,
    WebsocketEvent,
    WebsocketMessageError,
    Xoff,
    Xon,
    command,
    mark,
    parse_event,
)

CONNECT_S = 2.0
CLOSE_S = 1.0
LEAD_FRAMES = 5
"""So many frames Asterisk is given ahead: 100 ms."""
# Asterisk tells where it is twice a second
_MARK_EVERY = 25
# a second of sound: more than that does not leave because Asterisk does not read
_MAX_UNSENT = 50
# Asterisk's messages are a frame each, and its events are small
_MAX_MESSAGE_BYTES = 256 * 1024

_log = logging.getLogger(__name__)


class WebsocketTransport:
    """One call's websocket. `close` it."""

    def __init__(
        self,
        call_id: str,
        offer: Offer,
        http: aiohttp.ClientSession,
        jitter: JitterSettings,
        log_gate: LogGate,
        clock: Callable[[], float],
    ) -> None:
        self._wire = WIRE[offer.medium]
        self.rate = self._wire.rate
        self.offer = offer
        self.closed_because: str | None = None
        self.last_heard_at: float | None = None
        self._call_id = call_id
        self._http = http
        self._log_gate = log_gate
        self._clock = clock
        self._coder = self._wire.make()
        self._silent_payload = self._wire.make().encode(bytes(2 * self.rate // 50))
        self._in = StreamIn(self._wire, jitter)
        self._out: asyncio.Queue[str | bytes] = asyncio.Queue()
        self._lead = Lead()
        self._marked = -_MARK_EVERY
        self._full = False
        # frames the caller has heard, to be told at the next tick
        self._heard: list[PlayoutFrame] = []
        # whom each GET_STATUS was asked for, oldest first; None: it is settled otherwise
        self._asked: deque[Playout | None] = deque()
        self._websocket: aiohttp.ClientWebSocketResponse | None = None
        self._task: asyncio.Task[None] | None = None
        self._packets_out = 0
        self._send_errors = 0
        self._dropped: Counter[str] = Counter()

    # --- the connection

    @property
    def is_up(self) -> bool:
        return self._websocket is not None and self.closed_because is None

    async def connect(self, peer: Peer) -> None:
        """Raises MediaError if Asterisk does not take the websocket, or does not speak as expected."""
        if not isinstance(peer, MediaUrl):
            raise wrong_peer(peer, self.offer.medium)
        try:
            async with asyncio.timeout(CONNECT_S):
                websocket = await self._open(peer.url)
        except TimeoutError as error:
            raise MediaError(f"Asterisk did not begin its media websocket within {CONNECT_S:g} s") from error
        except aiohttp.WSServerHandshakeError as error:
            raise MediaError(f"Asterisk refused the media websocket: HTTP {error.status}") from error
        except aiohttp.ClientConnectorError as error:
            # the system's own words: aiohttp's hold the URL, and that is all the secret there is
            raise MediaError(f"cannot connect to Asterisk's media websocket: {error.strerror}") from error
        except aiohttp.ClientError as error:
            raise MediaError(f"Asterisk's media websocket failed: {type(error).__name__}") from error
        self._websocket = websocket
        self._task = asyncio.create_task(self._run(websocket))

    async def close(self) -> None:
        """End the websocket, which ends Asterisk's end too."""
        if self._task is None or self._websocket is None:
            return
        self._task.cancel()
        await asyncio.wait({self._task})
        await self._websocket.close()
        if not self._task.cancelled():
            self._task.result()

    async def _open(self, url: str) -> aiohttp.ClientWebSocketResponse:
        websocket = await self._http.ws_connect(
            url,
            protocols=("media",),
            max_msg_size=_MAX_MESSAGE_BYTES,
            timeout=aiohttp.ClientWSTimeout(ws_close=CLOSE_S),
        )
        try:
            self._check(await websocket.receive())
        except BaseException:
            await websocket.close()
            raise
        return websocket

    def _check(self, first: aiohttp.WSMessage) -> None:
        """The first message must announce the sound that was agreed. Raises MediaError."""
        event = parse_event(first.data) if first.type is aiohttp.WSMsgType.TEXT else None
        agreed = MediaStart(self.offer.medium.codec, self._wire.frame_bytes)
        if event != agreed:
            raise MediaError(f"Asterisk's media websocket began with {event} instead of {agreed}")

    async def _run(self, websocket: aiohttp.ClientWebSocketResponse) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                sender = group.create_task(self._send(websocket))
                await self._read(websocket)
                sender.cancel()
        finally:
            self._end("the media websocket's task ended")

    async def _send(self, websocket: aiohttp.ClientWebSocketResponse) -> None:
        while True:
            message = await self._out.get()
            try:
                if isinstance(message, str):
                    await websocket.send_str(message)
                else:
                    await websocket.send_bytes(message)
            except (aiohttp.ClientError, ConnectionError) as error:
                self._end(f"the media websocket broke ({type(error).__name__})")
                return

    async def _read(self, websocket: aiohttp.ClientWebSocketResponse) -> None:
        async for message in websocket:
            if message.type is aiohttp.WSMsgType.BINARY:
                self.last_heard_at = self._clock()
                self._in.put(message.data)
            elif message.type is aiohttp.WSMsgType.TEXT:
                self._take(message.data)
        self._end(f"Asterisk closed the media websocket (code {websocket.close_code})")

    def _end(self, reason: str) -> None:
        self.closed_because = self.closed_because or reason

    # --- the bot's voice

    def speak(self, playout: Playout, now: float, skipped: int) -> Sequence[PlayoutFrame]:
        if self._is_asking:
            # Asterisk has not said how much it threw away: what the clock says has to do
            self._settle(playout, len(self._lead), now)
        self._heard += self._lead.advance(now)
        self._fill(playout, now)
        heard, self._heard = self._heard, []
        return heard

    def unheard_samples(self, now: float) -> int:
        if not self._is_asking:
            self._heard += self._lead.advance(now)
        return self._lead.speech_samples

    def take_back(self, playout: Playout, now: float) -> None:
        if not self.is_up or self._is_asking or not self.unheard_samples(now):
            return
        # paused, Asterisk plays nothing between the count and the throwing away
        for name in ("PAUSE_MEDIA", "GET_STATUS", "FLUSH_MEDIA", "CONTINUE_MEDIA"):
            self._out.put_nowait(command(name))
        self._asked.append(playout)

    def drop(self, playout: Playout, now: float) -> None:
        if not self.unheard_samples(now):
            return
        self._asked = deque(None for _ in self._asked)
        self._out.put_nowait(command("FLUSH_MEDIA"))
        self._lead.clear()
        self._fill(playout, now)

    @property
    def _is_asking(self) -> bool:
        return bool(self._asked) and self._asked[-1] is not None

    def _settle(self, playout: Playout, waiting: int, now: float) -> None:
        """Asterisk has thrown `waiting` frames away: playout has them again, and goes on from there at once."""
        self._asked = deque(None for _ in self._asked)
        heard, unheard = self._lead.settle(waiting)
        self._heard += heard
        playout.take_back(unheard)
        self._fill(playout, now)

    def _fill(self, playout: Playout, now: float) -> None:
        """Give Asterisk what it can have ahead."""
        if not self.is_up or self._full:
            return
        if self._out.qsize() >= _MAX_UNSENT:
            self._send_errors += 1
            return
        payloads: list[bytes] = []
        while len(self._lead) < LEAD_FRAMES and not (self._lead and playout.is_dry):
            frame = playout.take(now)
            is_speech = frame.kind == "speech"
            if is_speech and self._lead and self._lead.is_silent:
                # the first word does not wait until silence is over
                self._out.put_nowait(command("FLUSH_MEDIA"))
                self._heard += self._lead.clear()
                payloads.clear()
            self._lead.add(frame, now)
            payloads.append(self._coder.encode(frame.pcm) if is_speech else self._silent_payload)
        if payloads:
            self._packets_out += len(payloads)
            self._out.put_nowait(b"".join(payloads))
        if self._lead.sent - self._marked >= _MARK_EVERY:
            self._marked = self._lead.sent
            self._out.put_nowait(mark(self._marked))

    # --- what Asterisk says

    def receive(self) -> None:
        """The task has put it into the buffer already."""

    def frame(self, now: float) -> bytes:
        return self._in.frame()

    def stats(self) -> TransportStats:
        stream = self._in.stats
        dropped = self._dropped + Counter(empty=stream.empty, overflow=stream.overflow)
        return TransportStats(
            packets_in=stream.received,
            packets_out=self._packets_out,
            concealed=stream.lost,
            due=stream.played + stream.missed,
            missed=stream.missed,
            missed_runs=stream.missed_runs,
            delay_ms=stream.delay_ms,
            dropped=dict(dropped),
            send_errors=self._send_errors,
        )

    def _take(self, text: str) -> None:
        try:
            event = parse_event(text)
        except WebsocketMessageError as error:
            self._dropped["malformed"] += 1
            self._warn("ignored a message of Asterisk's media websocket: %s", error)
            return
        self._obey(event, self._clock())

    def _obey(self, event: WebsocketEvent, now: float) -> None:
        match event:
            case Status(queued=queued):
                playout = self._asked.popleft() if self._asked else None
                if playout is not None:
                    self._settle(playout, queued, now)
            case MarkProcessed(number=number):
                self._lead.mark(number, now)
            case Xoff():
                self._full = True
            case Xon():
                self._full = False
            case DtmfEnd():
                # ARI tells it too, with its length
                self._dropped["not_voice"] += 1
            case Complaint(text=text):
                self._warn("Asterisk's media websocket: %s", text)

    def _warn(self, text: str, *arguments: object) -> None:
        if self._log_gate.open(self._clock()):
            _log.warning("call %s: " + text, self._call_id, *arguments)


class Websockets:
    """The websockets of the process."""

    def __init__(self, settings: MediaSettings, log_gate: LogGate, clock: Callable[[], float]) -> None:
        self._settings = settings
        self._log_gate = log_gate
        self._clock = clock

    async def __aenter__(self) -> Self:
        # no login: the id in the URL is all Asterisk asks for. No limit: each call holds one for its whole life
        self._http = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.close()

    @asynccontextmanager
    async def open(self, call_id: str, medium: Medium) -> AsyncIterator[WebsocketTransport]:
        """A websocket for the call, opened by `connect`."""
        transport = WebsocketTransport(
            call_id, Offer(medium), self._http, self._settings.jitter, self._log_gate, self._clock
        )
        try:
            yield transport
        finally:
            await transport.close()
