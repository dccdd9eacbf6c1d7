"""When an answer has become too long. Pure."""

from dataclasses import dataclass

_OVERRUN = 200
"""Characters beyond the cap that the sentence in hand may take to end."""

_WRITTEN = 10
"""A model that has written so many times the cap, most of it nothing a voice can say, will not come to an end."""

_ENDS = frozenset("!?.…‽؟。！？｡।॥۔")
_CLOSERS = "\"'”’»)]}*_`~」』）】》 "


@dataclass(slots=True)
class AnswerCap:
    """The caps of one answer. It is cut behind a sentence, which may go over the cap by a little."""

    max_chars: int
    max_sentences: int
    max_s: float
    _written: int = 0
    _chars: int = 0
    _sentences: int = 0

    def write(self, delta: str) -> bool:
        """The model has written `delta`; True: that is too much of what nobody can hear."""
        self._written += len(delta)
        return self._written > _WRITTEN * self.max_chars

    def speak(self, chunk: str, sound_s: float) -> bool:
        """`chunk` is the newest one that is spoken, with `sound_s` of sound so far; True: it is the last."""
        self._chars += len(chunk)
        ends = chunk.rstrip(_CLOSERS)[-1:] in _ENDS
        self._sentences += ends
        over = self._chars >= self.max_chars or self._sentences >= self.max_sentences or sound_s >= self.max_s
        return over and (ends or self._chars >= self.max_chars + _OVERRUN)
