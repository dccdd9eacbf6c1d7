"""Server-sent events (WHATWG HTML, 9.2), as far as the OpenAI API uses them: `data` only.

Pure: bytes in, payloads out, whatever the split.
"""

from typing import Final

_MAX_EVENT_BYTES: Final = 1 << 20


class SseError(ValueError):
    """The bytes are no event stream that we would read: an event is too long."""


class SseParser:
    """`feed` bytes as they come; get the data of each whole event. Comments and other fields are dropped."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._after_cr = False

    def feed(self, received: bytes) -> list[str]:
        """Raises SseError when one event is longer than 1 MiB."""
        events: list[str] = []
        for piece in received.splitlines(keepends=True):
            self._piece(piece, events)
        return events

    def _piece(self, piece: bytes, events: list[str]) -> None:
        if self._after_cr and piece == b"\n":
            self._after_cr = False
            return
        self._after_cr = piece.endswith(b"\r")
        ended = piece.endswith((b"\r", b"\n"))
        self._line += piece.rstrip(b"\r\n") if ended else piece
        self._size += len(piece)
        if self._size > _MAX_EVENT_BYTES:
            raise SseError("an event of the stream is longer than 1 MiB")
        if ended:
            line, self._line = bytes(self._line), bytearray()
            self._line_ended(line, events)

    def _line_ended(self, line: bytes, events: list[str]) -> None:
        if not line:
            if self._data:
                events.append(b"\n".join(self._data).decode("utf-8", "replace"))
            self._data, self._size = [], 0
            return
        field, _, value = line.removeprefix(b"\xef\xbb\xbf").partition(b":")
        if field == b"data":
            self._data.append(value.removeprefix(b" "))
