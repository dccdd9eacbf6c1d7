"""How good a call's sound was, estimated from what was counted: the E-model of ITU-T G.107 (06/2015). Pure.

It rates the caller's sound as it comes to the bot. Over RTP Asterisk passes on what comes when it comes, so the phone's
own network is in it; its delay is not, which nobody here can tell. All other parameters keep their defaults, and there
is no echo, for the bot is digital.

8 kHz sound (ulaw, alaw, slin) is rated by G.107. 16 kHz sound (g722, slin16) is rated by its wideband sibling G.107.1
(06/2019), whose scale goes to 129, and both come down to the same opinion scale: a rating of 93.2 there and one of 120
here are both 4.41. What the phone itself speaks is not known: where Asterisk made 16 kHz of a phone's 8 kHz, the rating
is that of 16 kHz.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log2
from types import MappingProxyType

from media_bridge.settings import Codec
from media_bridge.stats import TransportStats

PACING_MS = 20.0
"""A frame waits for the tick that hears it, one ptime at most."""

# G.107 table 3, the usual sensitivity to delay: mT, with sT = 1
_LEAST_DELAY_MS = 100.0


@dataclass(frozen=True, slots=True)
class Coding:
    """What a codec does to the rating. `best` is R with every other parameter at its default, `scale` what divides R
    for the opinion.

    Bpl is G.113 appendix I's for G.711 with the concealment of its own appendix I: ours, which works on pcm, whatever
    the codec was. For wideband codecs that is a guess on the kind side: what G.113 gives for them belongs to their own
    concealments, and G.722's decoder goes on from wrong state after a loss.
    """

    best: float
    impairment: float
    robustness: float = 25.1
    scale: float = 1.0


# G.107 clause 7.7: Ro - Is at the defaults. G.711 is the reference, Ie = 0 (G.113 appendix I), and pcm is no worse
_NARROW = Coding(best=93.2, impairment=0.0)
# G.107.1 clause 7: Ro,WB = 129 with Is,WB = 0, and R / 1.29 for the opinion (annex A)
_WIDE = Coding(best=129.0, impairment=0.0, scale=1.29)
CODINGS: Mapping[Codec, Coding] = MappingProxyType(
    {
        "ulaw": _NARROW,
        "alaw": _NARROW,
        "slin": _NARROW,
        "slin16": _WIDE,
        # 64 kbit/s (G.113 appendix IV)
        "g722": Coding(best=129.0, impairment=13.0, scale=1.29),
    }
)


@dataclass(frozen=True, slots=True)
class Quality:
    """Of the caller's sound as the bot heard it. `loss` is the share of it, 0 to 1, that never came or came too late;
    `burst_ratio` is 1 when that was by chance and more when it came in bursts (G.107 clause 7.5).

    `mos` is G.107's estimate of the mean opinion score, 1 to 4.5 (4.3: all are satisfied, 3.6: many are not).
    """

    loss: float
    burst_ratio: float
    delay_ms: float
    rating: float
    mos: float


def quality(stats: TransportStats, codec: Codec) -> Quality | None:
    """None when nothing was heard. `delay_ms` of the stats counts as that of the whole time."""
    if not stats.due or not stats.packets_in:
        return None
    loss = min(1.0, max(0, stats.missed) / stats.due)
    burst = burst_ratio(stats.missed, stats.missed_runs, stats.due)
    delay_ms = stats.delay_ms + PACING_MS
    coding = CODINGS[codec]
    rating = transmission_rating(loss, delay_ms, burst, coding)
    return Quality(loss, burst, delay_ms, rating, mean_opinion_score(rating / coding.scale))


def burst_ratio(missed: int, runs: int, due: int) -> float:
    """BurstR: how long the runs of missing ones were on average, over how long they would be by chance, which is
    1 / (1 - loss). Never below 1: the few losses of a good call say nothing about being spread.
    """
    if missed <= 0 or runs <= 0 or missed >= due:
        return 1.0
    return max(1.0, missed / runs * (1 - missed / due))


def transmission_rating(
    loss: float, delay_ms: float, burst_ratio: float = 1.0, coding: Coding = _NARROW
) -> float:
    """R = (Ro - Is) - Id - Ie,eff + A of clause 7.1, with A = 0. `loss` 0 to 1; `delay_ms` one way."""
    return coding.best - delay_impairment(delay_ms) - loss_impairment(loss, burst_ratio, coding)


def loss_impairment(loss: float, burst_ratio: float = 1.0, coding: Coding = _NARROW) -> float:
    """Ie,eff of clause 7.5."""
    percent = 100 * loss
    if not percent:
        return coding.impairment
    return coding.impairment + (95 - coding.impairment) * percent / (
        percent / burst_ratio + coding.robustness
    )


def delay_impairment(delay_ms: float) -> float:
    """Id of clause 7.4 without echo: Idd."""
    if delay_ms <= _LEAST_DELAY_MS:
        return 0.0
    x = log2(delay_ms / _LEAST_DELAY_MS)
    return 25 * (float((1 + x**6) ** (1 / 6)) - 3 * float((1 + (x / 3) ** 6) ** (1 / 6)) + 2)


def mean_opinion_score(rating: float) -> float:
    """MOS of R on the narrowband scale (annex B)."""
    if rating >= 100:
        return 4.5
    rating = max(0.0, rating)
    return max(1.0, 1 + 0.035 * rating + rating * (rating - 60) * (100 - rating) * 7e-6)
