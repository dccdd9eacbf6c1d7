"""How good a call's sound was, estimated from what was counted: the E-model of ITU-T G.107 (06/2015). Pure.

It rates the caller's sound as it comes to the bot. Over RTP Asterisk passes on what comes when it comes, so the phone's
own network is in it; its delay is not, which nobody here can tell. All other parameters of G.107 keep their defaults,
and there is no echo, for the bot is digital.
"""

from dataclasses import dataclass
from math import log2

from media_bridge.settings import TransportName
from media_bridge.stats import MediaStats

DEFAULT_RATING = 93.2
"""R with every parameter at its default (G.107 clause 7.7): Ro - Is."""
PACING_MS = 20.0
"""A frame waits for the tick that hears it, one ptime at most."""

# G.113 appendix I, G.711 with the concealment of its own appendix I, random loss. The wideband codecs are rated with
# the same: what is made up is made up on pcm
_IE = 0.0
_BPL = 25.1
# G.107 table 3, the usual sensitivity to delay: mT, with sT = 1
_LEAST_DELAY_MS = 100.0


@dataclass(frozen=True, slots=True)
class Quality:
    """Of the caller's sound as the bot heard it. `loss` is the share of it, 0 to 1, that never came or came too late.

    `mos` is G.107's estimate of the mean opinion score, 1 to 4.5 (4.3: all are satisfied, 3.6: many are not).
    """

    loss: float
    delay_ms: float
    rating: float
    mos: float


def quality(stats: MediaStats, transport: TransportName) -> Quality | None:
    """None when nothing was heard.

    Over RTP the packets that never came and those that came too late are counted, as RFC 3611 has it (lost and
    discarded); on the other transports nothing is numbered, so it is the frames made up.
    """
    if not stats.packets_in:
        return None
    if transport == "rtp":
        missing, expected = stats.lost + stats.late, max(1, stats.expected)
    else:
        missing, expected = stats.concealed, stats.packets_in + stats.concealed
    loss = min(1.0, max(0, missing) / expected)
    delay_ms = stats.delay_ms + PACING_MS
    rating = transmission_rating(loss, delay_ms)
    return Quality(loss, delay_ms, rating, mean_opinion_score(rating))


def transmission_rating(loss: float, delay_ms: float, burst_ratio: float = 1.0) -> float:
    """R = (Ro - Is) - Id - Ie,eff + A of clause 7.1, with A = 0.

    `loss` 0 to 1; `delay_ms` one way; `burst_ratio` 1 for random loss, more when it comes in bursts.
    """
    return DEFAULT_RATING - delay_impairment(delay_ms) - loss_impairment(loss, burst_ratio)


def loss_impairment(loss: float, burst_ratio: float = 1.0) -> float:
    """Ie,eff of clause 7.5 for G.711 with concealment."""
    percent = 100 * loss
    if not percent:
        return _IE
    return _IE + (95 - _IE) * percent / (percent / burst_ratio + _BPL)


def delay_impairment(delay_ms: float) -> float:
    """Id of clause 7.4 without echo: Idd."""
    if delay_ms <= _LEAST_DELAY_MS:
        return 0.0
    x = log2(delay_ms / _LEAST_DELAY_MS)
    return 25 * (float((1 + x**6) ** (1 / 6)) - 3 * float((1 + (x / 3) ** 6) ** (1 / 6)) + 2)


def mean_opinion_score(rating: float) -> float:
    """MOS of R (annex B)."""
    if rating >= 100:
        return 4.5
    rating = max(0.0, rating)
    return max(1.0, 1 + 0.035 * rating + rating * (rating - 60) * (100 - rating) * 7e-6)
