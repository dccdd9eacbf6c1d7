"""Lost packets, both ways, between a real Asterisk and the bot (docs/media-faults.md, M1 and M2).

All calls of the page are made at once, each over a network of its own: the bot says one long tone, the caller another
one and then a question.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import numpy as np
import pytest
import pytest_asyncio

from media_bridge.events import SpeechEnded
from tests.support.media_call import silence, speech, tone
from tests.support.media_scene import Line, stage
from tests.support.relay import Impairment
from tests.support.tones import heard_by_phone, tone_energy, tone_levels
from voicebot.asterisk import AsteriskProcess

pytestmark = pytest.mark.asyncio(loop_scope="session")

CALLERS_TONE_HZ, FULL = 700, 8191
TONE_S = 8.5
LOSSES = [("1 %", 0.95), ("5 %", 0.90), ("10 %", 0.80), ("20 %", 0.65)]
"""A share of the packets, and how much of a tone's energy has to be left."""
# 6 s after the leg is there, in the middle of the tones
BURST = range(300, 310)
TRIES = 3


@dataclass
class Heard:
    """One call: what the bot heard of the caller, what the phone heard of the bot."""

    line: Line
    by_bot: bytes
    by_phone: bytes
    bots_hz: int
    decided_s: float
    """From the caller's last voiced sample to the decision that the question is over."""

    @property
    def late_s(self) -> float:
        """How late the machine let a tick of this call be: no instant is known better."""
        return self.line.observed.stats().max_late_ms / 1000


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def calls(
    asterisk: AsteriskProcess, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[dict[str, Heard]]:
    networks = {
        "clean": Impairment(),
        "1 %": Impairment(loss=0.01),
        "5 %": Impairment(loss=0.05),
        "10 %": Impairment(loss=0.10),
        "20 %": Impairment(loss=0.20),
        "burst": Impairment(lost=BURST),
    }
    decided: dict[int, float] = {}

    async def talk(line: Line) -> None:
        await line.phone.say(silence(0.5) + tone(TONE_S, CALLERS_TONE_HZ, 0.25) + silence(0.3))
        # the bot has to be silent before the question
        await line.phone.sleep(1.2)
        asked = await line.phone.say(speech("price01.wav"))
        await line.phone.wait_for_bot_speech(10, since_s=asked.last_voiced_s)
        (end,) = [event for event in line.observed.events if isinstance(event, SpeechEnded)]
        decided[id(line)] = end.at - asked.last_voiced_s

    async with stage(asterisk, tmp_path_factory.mktemp("loss"), greeting="m" * 160) as scene:
        scene.workers.stt.answers = ["How much does the monthly plan cost?"]
        for _ in range(TRIES):
            lines = await scene.play({name: (it, it) for name, it in networks.items()}, talk)
            # a machine that stood still so long that a call without a fault was hurt tells nothing of the faults
            if lines["clean"].observed.stats().concealed <= 1:
                break
        (bots_hz,) = {spoken.hz for spoken in scene.workers.tts.spoken if spoken.text == "m" * 160}
    yield {
        name: Heard(line, line.observed.pcm, heard_by_phone(line.recording), bots_hz, decided[id(line)])
        for name, line in lines.items()
    }


def callers_tone(heard: Heard) -> tuple[int, int]:
    """The first frame of the caller's tone and the one after its last, in what the bot heard."""
    loud = np.flatnonzero(tone_levels(heard.by_bot, CALLERS_TONE_HZ) > FULL / 4)
    first = int(loud[0])
    # the question comes later and may hold this pitch for a moment
    last = int(loud[loud < first + (TONE_S + 1.0) * 50][-1])
    return first, last + 1


@pytest.mark.parametrize(("loss", "kept"), LOSSES)
async def test_the_bot_hears_the_callers_tone(calls: dict[str, Heard], loss: str, kept: float) -> None:
    clean, lossy = (tone_energy(calls[name].by_bot, CALLERS_TONE_HZ) for name in ("clean", loss))
    assert lossy >= kept * clean


@pytest.mark.parametrize(("loss", "kept"), LOSSES)
async def test_the_phone_hears_the_bots_tone(calls: dict[str, Heard], loss: str, kept: float) -> None:
    """A phone that conceals nothing: all that is lost on that way is the phone's to make good."""
    clean, lossy = (tone_energy(calls[name].by_phone, calls[name].bots_hz) for name in ("clean", loss))
    assert clean > 0
    assert lossy >= kept * clean


@pytest.mark.parametrize("loss", [loss for loss, _ in LOSSES])
async def test_every_lost_frame_is_concealed_and_none_is_added(calls: dict[str, Heard], loss: str) -> None:
    stats, clean = calls[loss].line.observed.stats(), calls["clean"].line.observed.stats()
    assert stats.lost > 0
    # the last ones lost had no turn yet; what came too late is concealed too, and a machine that stood still makes
    # some of those
    assert stats.lost - 4 <= stats.concealed <= stats.lost + stats.late + 2 * clean.concealed + 3


@pytest.mark.parametrize("loss", [*(loss for loss, _ in LOSSES), "burst"])
async def test_the_delay_does_not_grow(calls: dict[str, Heard], loss: str) -> None:
    first, end = callers_tone(calls[loss])
    # concealment may cut or lengthen the last frame, a machine that stood still slips one
    assert end - first == pytest.approx(TONE_S * 50, abs=4)
    clean, lossy = (calls[name].line.observed.stats() for name in ("clean", loss))
    assert lossy.target_ms <= clean.target_ms + 20
    assert lossy.delay_ms <= lossy.target_ms + 30


@pytest.mark.parametrize("loss", ["1 %", "5 %", "10 %"])
async def test_the_decision_that_the_question_is_over_hardly_moves(
    calls: dict[str, Heard], loss: str
) -> None:
    lossy, clean = calls[loss], calls["clean"]
    assert abs(lossy.decided_s - clean.decided_s) <= 0.06 + lossy.late_s + clean.late_s


async def test_a_burst_fades_within_60_ms_and_is_over_with_its_last_packet(calls: dict[str, Heard]) -> None:
    first, end = callers_tone(calls["burst"])
    levels = tone_levels(calls["burst"].by_bot, CALLERS_TONE_HZ)[first:end]
    silent = np.flatnonzero(levels < 0.05 * FULL)
    # of ten lost frames three hold the fading tone
    assert len(silent) == pytest.approx(len(BURST) - 3, abs=1)
    assert silent[-1] - silent[0] == len(silent) - 1
    fading = levels[silent[0] - 3 : silent[0]]
    assert fading[0] > 0.8 * FULL
    assert list(fading) == sorted(fading, reverse=True)
    back = levels[silent[-1] + 1 :]
    assert back[0] > 0.5 * FULL
    assert back[1] > 0.95 * FULL
