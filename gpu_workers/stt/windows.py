"""How much the encoder hears: its length classes. Pure.

Whisper is trained on 30 s and its encoder costs by the second of its window, speech or not. In a window that ends soon
after the speech the decoder tends to begin the sentence again; how far that goes is measured in docs/decisions/0011.
"""

from typing import Final

FULL_WINDOW_S: Final = 30.0
_SAFE_WINDOW_S: Final = 10.0
_SAFE_MARGIN_S: Final = 4.0
_MARGIN_S: Final = 3.0
_FINE: Final = (4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0, 25.0, 30.0)
_COARSE_STEP_S: Final = 5.0


def fine_window_s(length_s: float) -> float:
    """For a CPU, where a second of window costs more than a batch saves. Seconds, at most 30."""
    return _class_of(length_s + _MARGIN_S)


def safe_window_s(length_s: float) -> float:
    """The shortest in which the word error rate was that of 30 s. Seconds, at most 30."""
    return _class_of(_safe(length_s))


def coarse_window_s(length_s: float) -> float:
    """For a GPU, where few classes make large batches. Seconds, at most 30."""
    return min(FULL_WINDOW_S, -(-_safe(length_s) // _COARSE_STEP_S) * _COARSE_STEP_S)


def _safe(length_s: float) -> float:
    return max(_SAFE_WINDOW_S, length_s + _SAFE_MARGIN_S)


def _class_of(needed_s: float) -> float:
    return next((one for one in _FINE if one >= needed_s), FULL_WINDOW_S)
