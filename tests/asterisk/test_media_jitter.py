"""Jitter, and the echo of the bot's own voice (docs/media-faults.md, M5 and M15), all calls at once.

The bot speaks recorded sentences for 20 s; some phones give its voice back, some networks make packets late.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

from caller_phone.speech_file import load
from media_bridge.events import PlayoutFinished, SpeechStarted
from tests.support.fake_workers import FakeTts
from tests.support.media_scene import CLEAN, Line, stage
from tests.support.relay import Impairment
from tests.support.rtp_rewrite import EchoPath
from tests.support.tones import heard_by_phone
from voicebot.asterisk import AsteriskProcess

pytestmark = pytest.mark.asyncio(loop_scope="session")

CLIPS = sorted(
    (Path(__file__).parents[2] / "benchmarks" / "speech").glob("*.wav"), key=lambda path: path.stat().st_size
)
SENTENCES_EACH = 6
ECHOES_MS = [50, 80, 120, 160, 200]
# 2 s of calm, 8 s of jitter, then calm; in packets
JITTER = range(100, 500)
CALL_S = 22.0


class Reciter(FakeTts):
    """Says the shortest of the recorded sentences whatever the text is: `SENTENCES_EACH` of them, 300 ms apart."""

    def sound(self, text: str, hz: int, seconds: float) -> bytes:
        pause = np.zeros(self.rate * 3 // 10, np.int16)
        parts = [part for path in CLIPS[:SENTENCES_EACH] for part in (load(path), pause)]
        return bytes(np.concatenate(parts).astype("<i2").tobytes())


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def calls(
    asterisk: AsteriskProcess, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[dict[str, Line]]:
    networks = {
        "clean": (CLEAN, CLEAN),
        "normal": (Impairment(jitter_ms=60, shape="normal", during=JITTER), CLEAN),
        # one packet in fifty beyond 60 ms, none beyond 100
        "pareto": (Impairment(jitter_ms=10, shape="pareto", during=JITTER), CLEAN),
    }
    for delay_ms in ECHOES_MS:
        path = EchoPath(delay_ms, gain_db=-20)
        networks[f"echo {delay_ms}"] = (Impairment(rewrite=path.spoken), Impairment(rewrite=path.heard))

    async def listen(line: Line) -> None:
        await line.phone.sleep(CALL_S)

    folder = tmp_path_factory.mktemp("jitter")
    async with stage(asterisk, folder, greeting="m" * 160, tts=Reciter()) as scene:
        yield await scene.play(networks, listen)


@pytest.mark.parametrize("shape", ["normal", "pareto"])
async def test_the_delay_rises_within_a_second_and_falls_within_ten(
    calls: dict[str, Line], shape: str
) -> None:
    targets = [stats.target_ms for stats in calls[shape].stats]
    begun = next(n for n, stats in enumerate(calls[shape].stats) if stats.packets_in >= JITTER.start)
    over = next(n for n, stats in enumerate(calls[shape].stats) if stats.packets_in >= JITTER.stop)
    # the samples are 100 ms apart; of a heavy tail there may be nothing to see in the first second
    rising = targets[begun : begun + 13] if shape == "normal" else targets[begun:over]
    assert max(rising) >= 60
    # a machine that stands still now and then is jitter too: it is in the call without a fault as well
    calm = max(stats.target_ms for stats in calls["clean"].stats)
    assert min(targets[over : over + 101]) <= calm + 20
    assert max(targets) <= 120


@pytest.mark.parametrize("shape", ["normal", "pareto"])
async def test_hardly_any_packet_comes_too_late(calls: dict[str, Line], shape: str) -> None:
    stats, clean = calls[shape].observed.stats(), calls["clean"].observed.stats()
    settled = [each for each in calls[shape].stats if each.packets_in >= JITTER.start + 50]
    late = stats.late - settled[0].late
    # eight seconds are few for a share of a hundredth: a longer stretch has its own test, in virtual time
    assert late <= 0.02 * len(JITTER) + 2 * clean.late


@pytest.mark.parametrize("delay_ms", ECHOES_MS)
async def test_the_bots_echo_is_no_interruption(calls: dict[str, Line], delay_ms: int) -> None:
    line = calls[f"echo {delay_ms}"]
    kinds = [type(event) for event in line.observed.events]
    assert SpeechStarted not in kinds
    # the whole greeting was said, and its echo came back
    assert PlayoutFinished in kinds
    echo, voice = (
        float(np.square(np.frombuffer(pcm, "<i2").astype(float)).sum())
        for pcm in (line.observed.pcm, heard_by_phone(line.recording))
    )
    assert 0.003 < echo / voice < 0.03
