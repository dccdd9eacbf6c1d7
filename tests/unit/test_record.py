"""What a call leaves behind: the log line, its fields, and the histograms."""

from media_bridge.quality_watch import QualityWatch
from media_bridge.settings import TransportName
from media_bridge.stats import MediaStats
from stasis_app.metrics import Metrics
from stasis_app.record import CallRecord, Sound

HEARD = MediaStats(
    packets_in=950,
    packets_out=1000,
    expected=990,
    lost=40,
    late=10,
    concealed=52,
    due=990,
    missed=50,
    missed_runs=40,
    jitter_ms=7.26,
    delay_ms=60,
    underruns=3,
)


def sound(stats: MediaStats, transport: TransportName = "rtp") -> Sound:
    return Sound(transport, stats, QualityWatch("ulaw").result(stats))


def record(stats: MediaStats) -> CallRecord:
    return CallRecord("c1", "17.7", "caller_hung_up", 20.04, sound(stats))


def test_the_line_says_how_the_call_was() -> None:
    assert str(record(HEARD)) == (
        "call c1 (channel 17.7) ended after 20 s: caller_hung_up; heard 950 packets, loss 5.05 % (40 lost, 10 late,"
        " 52 frames concealed), jitter 7.3 ms, delay 80 ms, MOS 3.90 (3.90 in the worst 10 s); 3 underruns of the"
        " bot's voice"
    )
    assert str(record(MediaStats(packets_out=100))).endswith("nothing was heard of the caller")
    assert (
        str(CallRecord("c1", "17.7", "media_failed", 0.2, None))
        == "call c1 (channel 17.7) ended after 0 s: media_failed"
    )


def test_a_collector_gets_the_figures_as_fields() -> None:
    assert record(HEARD).fields() == {
        "call": "c1",
        "channel": "17.7",
        "cause": "caller_hung_up",
        "seconds": 20.0,
        "transport": "rtp",
        "packets_in": 950,
        "packets_out": 1000,
        "lost": 40,
        "late": 10,
        "concealed": 52,
        "underruns": 3,
        "jitter_ms": 7.3,
        "most_jitter_ms": 7.3,
        "loss_percent": 5.05,
        "burst_ratio": 1.19,
        "delay_ms": 80,
        "rating": 76.9,
        "mos": 3.9,
        "worst_loss_percent": 5.05,
        "worst_mos": 3.9,
    }
    assert "mos" not in record(MediaStats(packets_out=100)).fields()
    assert CallRecord("c1", "17.7", "defect", 1, None).fields() == {
        "call": "c1",
        "channel": "17.7",
        "cause": "defect",
        "seconds": 1,
    }


def test_the_histograms_take_each_call_once() -> None:
    metrics = Metrics()
    metrics.observe_sound(sound(HEARD))
    metrics.observe_sound(sound(MediaStats(packets_in=9, due=9), "websocket"))
    metrics.observe_sound(sound(MediaStats()))
    value = metrics.registry.get_sample_value
    assert value("voicebot_call_mos_count") == 2
    assert value("voicebot_call_worst_mos_count") == 2
    assert value("voicebot_call_mos_bucket", {"le": "4.03"}) == 1
    assert value("voicebot_call_loss_ratio_bucket", {"le": "0.05"}) == 1
    assert value("voicebot_call_loss_ratio_bucket", {"le": "0.1"}) == 2
    assert value("voicebot_call_jitter_seconds_count") == 1, "only RTP has a jitter of its own"
    assert value("voicebot_rtp_total", {"kind": "lost"}) == 40
