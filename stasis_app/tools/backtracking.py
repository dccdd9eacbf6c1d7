"""How long an expression may take on the longest text it is tried on. Pure.

Python's `re` goes back and tries the next way whenever the rest does not fit: the ways of repetitions one behind the
other multiply, and those of one inside another are a power (`([A-Z0-9]+-?)+` takes minutes for 30 characters). The
text comes from a model and the matching holds up every call of the process.
"""

import math
import re._constants as sre  # type: ignore[import-not-found] # the same in 3.11 to 3.13, without a public name
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Iterable
from typing import Any, Final

MOST_WAYS: Final = 1_000_000
"""About a tenth of a second."""

_REPETITIONS: Final = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)


def is_slow(pattern: str, length: int) -> bool:
    """Whether a text of `length` characters can be tried in more than MOST_WAYS ways: an upper bound of them.

    Raises what re.compile() raises.
    """
    # a millionth more: 3 * log10(100) need not be 6 to the last bit
    return _of_all(parser.parse(pattern), length) > math.log10(MOST_WAYS) + 1e-6


def _of_all(items: Iterable[tuple[Any, Any]], length: int) -> float:
    """The decimal logarithm of the ways through all of them: the numbers themselves would fill no float."""
    return sum(_of_one(kind, about, length) for kind, about in items)


def _of_one(kind: Any, about: Any, length: int) -> float:
    if kind in _REPETITIONS:
        least, most, body = about
        narrowest = body.getwidth()[0]
        most = min(most, max(least, length // max(narrowest, 1)))
        # what may be empty takes its time without taking any of the text
        ends = most - least + 1 if narrowest else most + 1
        return math.log10(float(ends)) + float(most) * _of_all(body, length)
    if kind is sre.BRANCH:
        return math.log10(sum(10 ** min(_of_all(branch, length), 100) for branch in about[1]))
    if kind is sre.GROUPREF_EXISTS:
        return sum(_of_all(branch, length) for branch in about[1:] if branch is not None)
    if kind is sre.SUBPATTERN:
        return _of_all(about[3], length)
    if kind in (sre.ASSERT, sre.ASSERT_NOT):
        return _of_all(about[1], length)
    if kind is sre.ATOMIC_GROUP:
        return _of_all(about, length)
    return 0.0  # one character, or a place
