"""The sound of a flight (`calls.flight_recorder`), measured.

Its samples count the bot's own clock, so nothing else that this machine does is in the figures.
"""

import wave
from pathlib import Path

import numpy as np

from caller_phone.recording import Sound
from caller_phone.rtp import SAMPLE_RATE
from caller_phone.ruler import cut_ms, talkspurts


def interruption_ms(folder: Path) -> float:
    """The caller's first voiced sample that the bot heard over its own speech, to the last audible one that it sent.

    `folder` holds one call, with one interruption.
    """
    (path,) = folder.glob("*.wav")
    with wave.open(str(path)) as file:
        both = np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, 2)
        thinned = both[:: file.getframerate() // SAMPLE_RATE]
    caller, bot = (talkspurts([Sound(0.0, np.ascontiguousarray(side))]) for side in thinned.T)
    cuts = [cut_ms(bot, spurt.start_s) for spurt in caller]
    return next(cut for cut in cuts if cut is not None)
