"""Bytes read as decisions, so that a target can build a sequence of events out of one input."""


class Choices:
    """Reads `data` from its front. Past its end everything is 0 or empty, so any input is a whole one."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def byte(self) -> int:
        return int.from_bytes(self.take(1))

    def word(self) -> int:
        """0 to 65535."""
        return int.from_bytes(self.take(2))

    def long(self) -> int:
        """0 to 4294967295."""
        return int.from_bytes(self.take(4))

    def take(self, length: int) -> bytes:
        """`length` bytes, fewer at the end."""
        taken = self._data[self._at : self._at + length]
        self._at += length
        return taken

    def rest(self) -> bytes:
        return self.take(len(self._data))

    def pieces(self, whole: bytes, most: int = 16) -> list[bytes]:
        """`whole` cut at up to `most` - 1 places; empty pieces are among them."""
        pieces = []
        for _ in range(min(self.byte(), most - 1)):
            length = self.byte()
            pieces.append(whole[:length])
            whole = whole[length:]
        return [*pieces, whole]
