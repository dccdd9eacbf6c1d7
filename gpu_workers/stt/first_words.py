"""How likely a sound begins with one of given words, whatever was written for it. Pure.

A hum is read as anything ("Why?", "Oh, hi"), but the decoder's first step still gives "Mm" and "Yeah" a share of the
probability that they do not have where somebody said something else (docs/decisions/0003).
"""

from collections.abc import Callable, Collection, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

_MOST_WORDS: Final = 4
"""A longer text is no hum, and nobody waits for its share."""


def is_worth_it(text: str, first_words: Collection[str]) -> bool:
    """Whether the share says anything: of few words, and not of a text that begins with one of them itself."""
    said = text.lower().split()
    known = {word.lower() for word in first_words}
    return bool(known) and 0 < len(said) <= _MOST_WORDS and said[0].strip(".,!?…") not in known


def first_tokens(first_words: Sequence[str], encode: Callable[[str], list[int]]) -> list[int]:
    """The tokens that begin a text with one of these words; a word of several tokens has none of its own."""
    found = [encode(blank + word[:1].upper() + word[1:]) for word in first_words for blank in (" ", "")]
    return sorted({tokens[0] for tokens in found if len(tokens) == 1})


def share_logprob(logits: NDArray[np.float32], tokens: Sequence[int]) -> float:
    """The logarithm of what softmax gives these tokens together; `logits` are of one step, [vocabulary]."""
    exact = logits.astype(np.float64)
    peak = exact.max()
    powers = np.exp(exact - peak)
    return float(np.log(max(powers[list(tokens)].sum(), 1e-30)) - np.log(powers.sum()))
