"""The figures of the call process, for Prometheus. One registry per process, made by whoever starts it."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from stasis_app.ari.hub import AriCounts
from stasis_app.record import Sound

_COUNTED = (
    *("packets_in", "packets_out", "lost", "late", "duplicates", "concealed", "underruns"),
    *("send_errors", "receive_errors"),
)
# G.107 annex B: below 2.58 nearly all are dissatisfied, 3.10 many, 3.60 some, 4.03 all satisfied, 4.34 very
_MOS = (1.5, 2.0, 2.58, 3.1, 3.6, 3.8, 4.03, 4.2, 4.34, 4.5)
_LOSS = (0.0, 0.001, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5)
_JITTER_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2)
_SECONDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0)


@dataclass(slots=True)
class TurnTimes:
    """Instants of one answer on one clock (`time.monotonic()` seconds); None: it did not come to that."""

    speech_end: float | None = None
    decision: float | None = None
    stt_done: float | None = None
    first_token: float | None = None
    first_sentence: float | None = None
    first_audio: float | None = None
    first_packet: float | None = None

    def since_speech_end_ms(self) -> dict[str, int]:
        """Each stage that was reached, in ms after the caller's last voiced sample."""
        if self.speech_end is None:
            return {}
        stages = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "speech_end"}
        return {name: round((at - self.speech_end) * 1000) for name, at in stages.items() if at is not None}


class Metrics:
    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.calls = Gauge("voicebot_calls", "Calls running now.", registry=registry)
        self.calls_ended = Counter(
            "voicebot_calls_ended", "Calls ended, by cause.", ["cause"], registry=registry
        )
        self.calls_refused = Counter(
            "voicebot_calls_refused",
            "Calls handed back to the dialplan, by reason.",
            ["reason"],
            registry=registry,
        )
        self.turns = Counter(
            "voicebot_turns",
            "Turns of the bot, by what was said and how it ended.",
            ["saying", "end"],
            registry=registry,
        )
        self.stage = Histogram(
            "voicebot_turn_stage_seconds",
            "Time from the caller's last voiced sample to each stage of the answer.",
            ["stage"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.worker_errors = Counter(
            "voicebot_worker_errors", "Requests to a model worker that failed.", ["worker"], registry=registry
        )
        self.recitals = Counter(
            "voicebot_recitals",
            "Answers that were stopped because they read out the profile's instructions.",
            registry=registry,
        )
        self.interruptions = Counter(
            "voicebot_interruptions",
            "Speech over the bot, by what it was taken for.",
            ["verdict"],
            registry=registry,
        )
        self.transcript_lost = Counter(
            "voicebot_transcript_lost",
            "Turns that were not written to the transcript: its disk is full or too slow.",
            registry=registry,
        )
        self.flight_lost = Counter(
            "voicebot_flight_lost",
            "Lines, seconds of sound and whole flights that were not written: a slow or full disk, or no room.",
            registry=registry,
        )
        self.digits = Counter(
            "voicebot_digits",
            "Keys pressed on callers' phones, by what became of them.",
            ["kind"],
            registry=registry,
        )
        self.tools = Counter(
            "voicebot_tools",
            "Calls of the model for a tool, by name and by what became of them.",
            ["name", "outcome"],
            registry=registry,
        )
        self.rtp = Counter(
            "voicebot_rtp", "RTP packets of ended calls, by what became of them.", ["kind"], registry=registry
        )
        self.rtp_dropped = Counter(
            "voicebot_rtp_dropped",
            "Datagrams of ended calls that were not heard, by reason.",
            ["why"],
            registry=registry,
        )
        self.mos = Histogram(
            "voicebot_call_mos",
            "Estimated mean opinion score (G.107) of the callers' sound, one value a call.",
            buckets=_MOS,
            registry=registry,
        )
        self.worst_mos = Histogram(
            "voicebot_call_worst_mos",
            "The same for the worst 10 s of each call.",
            buckets=_MOS,
            registry=registry,
        )
        self.loss = Histogram(
            "voicebot_call_loss_ratio",
            "Share of a caller's sound that never came or came too late, one value a call.",
            buckets=_LOSS,
            registry=registry,
        )
        self.jitter = Histogram(
            "voicebot_call_jitter_seconds",
            "Mean interarrival jitter (RFC 3550 A.8), one value for each call over RTP.",
            buckets=_JITTER_SECONDS,
            registry=registry,
        )
        self.ari_connected = Gauge(
            "voicebot_ari_connected", "1 while the event socket to Asterisk is up.", registry=registry
        )
        self.loop_lag = Gauge(
            "voicebot_loop_lag_seconds", "Longest the event loop was late in the last 5 s.", registry=registry
        )
        self.media_busy = Gauge(
            "voicebot_media_busy_ratio",
            "Share of the last second that the sound of all calls took.",
            registry=registry,
        )
        self.media_overloaded = Gauge(
            "voicebot_media_overloaded",
            "1 while new calls are refused because the running ones take all the time there is.",
            registry=registry,
        )
        self.defects = Counter(
            "voicebot_defects",
            "Errors that are our own fault, by where they were caught.",
            ["fence"],
            registry=registry,
        )

    def count_ari(self, counts: AriCounts) -> None:
        """Show `counts`, as they are whenever somebody asks."""
        self.registry.register(_AriCollector(counts))

    def observe(self, times: TurnTimes) -> None:
        for stage, ms in times.since_speech_end_ms().items():
            self.stage.labels(stage).observe(max(0, ms) / 1000)

    def observe_sound(self, sound: Sound) -> None:
        """The packets and the quality of a call that is over."""
        for kind in _COUNTED:
            self.rtp.labels(kind).inc(getattr(sound.stats, kind))
        for why, count in sound.stats.dropped.items():
            self.rtp_dropped.labels(why).inc(count)
        if sound.quality is None:
            return
        self.mos.observe(sound.quality.whole.mos)
        self.worst_mos.observe(sound.quality.worst.mos)
        self.loss.observe(sound.quality.whole.loss)
        if sound.transport == "rtp":
            self.jitter.observe(sound.quality.jitter_ms / 1000)


class _AriCollector(Collector):
    def __init__(self, counts: AriCounts) -> None:
        self._counts = counts

    def collect(self) -> Iterator[CounterMetricFamily]:
        family = CounterMetricFamily(
            "voicebot_ari", "Events and connections of Asterisk's event socket, by kind.", labels=["kind"]
        )
        for kind, count in asdict(self._counts).items():
            family.add_metric([kind], count)
        yield family
