"""The caller's sound on a transport without packet numbers: buffer, decoder and concealment in a row. Pure."""

from media_bridge.codecs import WireFormat
from media_bridge.conceal import Concealer
from media_bridge.jitter import Frame, Lost
from media_bridge.settings import JitterSettings
from media_bridge.stream_buffer import StreamBuffer, StreamStats


class StreamIn:
    """`put` what came, `frame` every 20 ms."""

    def __init__(self, wire: WireFormat, jitter: JitterSettings) -> None:
        self._buffer = StreamBuffer(jitter, wire.frame_bytes, wire.step_bytes)
        self._coder = wire.make()
        self._concealer = Concealer(wire.rate)
        self._silence = bytes(2 * wire.rate // 50)

    @property
    def stats(self) -> StreamStats:
        return self._buffer.stats

    def put(self, payload: bytes) -> None:
        """See StreamBuffer.put."""
        self._buffer.put(payload)

    def frame(self) -> bytes:
        """The caller's next 20 ms as pcm."""
        taken = self._buffer.take()
        if isinstance(taken, Frame):
            return self._concealer.good(self._coder.decode(taken.payload))
        return self._concealer.lost() if isinstance(taken, Lost) else self._concealer.good(self._silence)
