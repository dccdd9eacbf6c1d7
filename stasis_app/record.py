"""What is left of a call when it is over: one line for the log, with the figures as fields for a collector. Pure."""

from dataclasses import dataclass

from media_bridge.quality_watch import CallQuality
from media_bridge.settings import TransportName
from media_bridge.stats import MediaStats


@dataclass(frozen=True, slots=True)
class Sound:
    """How the sound of a call was. `quality` is None when nothing was heard."""

    transport: TransportName
    stats: MediaStats
    quality: CallQuality | None


@dataclass(frozen=True, slots=True)
class CallRecord:
    """`channel_id` is Asterisk's own id of the caller's channel, the `uniqueid` of its call detail records. `sound` is
    None when the call had none: it was never given a way for it.
    """

    call_id: str
    channel_id: str
    cause: str
    seconds: float
    sound: Sound | None

    def __str__(self) -> str:
        said = (
            f"call {self.call_id} (channel {self.channel_id}) ended after {self.seconds:.0f} s: {self.cause}"
        )
        if self.sound is None:
            return said
        stats, rated = self.sound.stats, self.sound.quality
        if rated is None:
            return f"{said}; nothing was heard of the caller"
        whole, worst = rated.whole, rated.worst
        return (
            f"{said}; heard {stats.packets_in} packets, loss {100 * whole.loss:.2f} % ({stats.lost} lost, {stats.late}"
            f" late, {stats.concealed} frames concealed), jitter {rated.jitter_ms:.1f} ms, delay"
            f" {whole.delay_ms:.0f} ms, MOS {whole.mos:.2f} ({worst.mos:.2f} in the worst 10 s);"
            f" {stats.underruns} underruns of the bot's voice"
        )

    def fields(self) -> dict[str, object]:
        """The same for `log.format: json`."""
        found: dict[str, object] = {
            "call": self.call_id,
            "channel": self.channel_id,
            "cause": self.cause,
            "seconds": round(self.seconds, 1),
        }
        if self.sound is None:
            return found
        stats, rated = self.sound.stats, self.sound.quality
        found |= {
            "transport": self.sound.transport,
            "packets_in": stats.packets_in,
            "packets_out": stats.packets_out,
            "lost": stats.lost,
            "late": stats.late,
            "concealed": stats.concealed,
            "underruns": stats.underruns,
        }
        if rated is not None:
            whole, worst = rated.whole, rated.worst
            found |= {
                "jitter_ms": round(rated.jitter_ms, 1),
                "most_jitter_ms": round(rated.most_jitter_ms, 1),
                "loss_percent": round(100 * whole.loss, 2),
                "burst_ratio": round(whole.burst_ratio, 2),
                "delay_ms": round(whole.delay_ms),
                "rating": round(whole.rating, 1),
                "mos": round(whole.mos, 2),
                "worst_loss_percent": round(100 * worst.loss, 2),
                "worst_mos": round(worst.mos, 2),
            }
        return found
