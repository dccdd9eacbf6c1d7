"""Keys of the caller's phone, collected until they are an answer. Pure."""

MAX_DIGITS = 32
TERMINATOR = "#"
_KEYS = frozenset("0123456789*ABCD")


class Keypad:
    """`wanted` is the number of digits that were asked for, None where that is not known."""

    def __init__(self) -> None:
        self._digits = ""
        self._ended = False

    def __repr__(self) -> str:
        return f"Keypad({len(self._digits)} digits)"

    def press(self, key: str) -> bool:
        """False for a key that is none or does not fit in any more; it is forgotten."""
        if key == TERMINATOR:
            self._ended = True
            return True
        if key not in _KEYS or len(self._digits) >= MAX_DIGITS:
            return False
        self._digits += key
        return True

    def is_complete(self, wanted: int | None) -> bool:
        """Nothing more need be waited for."""
        return self._ended or (wanted is not None and len(self._digits) >= wanted)

    @property
    def is_begun(self) -> bool:
        return bool(self._digits)

    def take(self) -> str:
        """What was entered; begins anew."""
        digits, self._digits, self._ended = self._digits, "", False
        return digits
