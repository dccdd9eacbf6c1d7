"""What the caller has heard of a turn: in samples, and in words."""

from dataclasses import dataclass, field

# slow speech, for a sentence whose length is not known yet: rather a word too few than one too many
_MS_PER_CHARACTER = 87.5
# from here on scripts are written without spaces, but for Korean and the wide forms of Latin letters and digits
_FIRST_UNSPACED = 0x2E80
_SPACED = (range(0x3130, 0x3190), range(0xAC00, 0xD7B0), range(0xFF10, 0xFF5B))


@dataclass(frozen=True, slots=True)
class HeardSentence:
    """`total_samples` is None while the sentence is still being made. `sounding_samples` are those up to its last
    sound, behind which a voice is silent and no words are.
    """

    text: str
    played_samples: int
    total_samples: int | None
    sounding_samples: int | None = field(default=None, compare=False)

    @property
    def whole(self) -> bool:
        """Played to its end. A sentence without sound is whole, and was not heard."""
        return self.played_samples == self.total_samples


@dataclass(frozen=True, slots=True)
class Heard:
    """What the caller has heard of a turn; `turn` is None before the first one.

    `finished`: the turn had ended and all its sound was played. `rate` is that of the samples.
    """

    turn: int | None
    sentences: tuple[HeardSentence, ...]
    finished: bool = True
    rate: int = 8000


def heard_text(heard: Heard) -> tuple[str, bool]:
    """The words the caller has heard, and whether they were cut off.

    Whole words only, as many of a sentence's characters as in proportion of its sound were played: 99 of 100 times that
    is right to a word (docs/decisions/0004).
    """
    parts = (_words_of(sentence, heard.rate) for sentence in heard.sentences if sentence.played_samples)
    cut = not heard.finished or not all(sentence.whole for sentence in heard.sentences)
    return " ".join(part for part in parts if part), cut


def _words_of(sentence: HeardSentence, rate: int) -> str:
    text = sentence.text.strip()
    if sentence.whole:
        return text
    if sentence.total_samples is None:
        slow = round(len(text) * _MS_PER_CHARACTER * rate / 1000)
        total = max(sentence.played_samples + 1, slow)
    else:
        total = sentence.sounding_samples or sentence.total_samples
    end = min(len(text), len(text) * sentence.played_samples // total)
    while end and not _is_boundary(text, end):
        end -= 1
    return text[:end].rstrip()


def _is_boundary(text: str, index: int) -> bool:
    """Between the characters before and at `index` no word goes on."""
    if index >= len(text):
        return True
    return text[index].isspace() or (_is_unspaced(text[index - 1]) and _is_unspaced(text[index]))


def _is_unspaced(char: str) -> bool:
    code = ord(char)
    return code >= _FIRST_UNSPACED and not any(code in spaced for spaced in _SPACED)
