"""What lost packets cost the recogniser, and whether the voice's own echo is taken for a caller (M1 and M15 of
docs/media-faults.md).
"""

import csv
import wave
from pathlib import Path

import numpy as np
import pytest
import soxr  # type: ignore[import-untyped]

from benchmarks.stt_score import word_errors
from gpu_workers.stt.scheduler import Utterance
from gpu_workers.stt.whisper import WhisperRecogniser
from gpu_workers.tts.piper import PiperSpeech
from media_bridge.conceal import Concealer
from media_bridge.g711 import CODECS
from media_bridge.jitter import Frame, Lost
from media_bridge.rtp import RtpPacket, build, parse
from media_bridge.settings import VoiceSettings
from media_bridge.vad import SileroGate
from tests.models.test_whisper import words
from tests.support.listening import levels, listen
from tests.support.network import hear
from tests.support.relay import Impairment, Network
from tests.support.speech import line_noise

pytestmark = pytest.mark.may_leave("the models are loaded once for all tests")

CLIPS = Path(__file__).parents[2] / "benchmarks" / "speech"
MAY_COST = {0.01: 1.0, 0.05: 3.0, 0.10: 8.0}
"""Points of word error above that of the clean line, for each share of the packets."""

BOT_SAYS = [
    f"{opening} {rest}"
    for opening in ("Yes.", "Well,", "Sorry,", "Good morning!", "Fine.")
    for rest in (
        "We are open from nine to six.",
        "Could you tell me your name, please?",
        "It costs nineteen dollars a month.",
        "The next free appointment is on Tuesday at half past three in the afternoon.",
        "Is there anything else I can do for you?",
        "Your bicycle is ready.",
        "You can pay by card or by bank transfer.",
        "I will send you a message when it has arrived.",
        "How many people will there be?",
        "Shall I repeat that?",
    )
]


def pcm_of_clip(name: str) -> bytes:
    with wave.open(str(CLIPS / name)) as file:
        return bytes(file.readframes(file.getnframes()))


def over_the_line(pcm: bytes, network: Network) -> bytes:
    """What a call makes of it: packets, the network, the jitter buffer and concealment."""
    ulaw = CODECS["ulaw"]
    arrivals = []
    for number, at in enumerate(range(0, len(pcm), 320)):
        payload = ulaw.encode(pcm[at : at + 320])
        datagram = build(RtpPacket(0, number, 160 * number, 1, payload))
        arrivals += [(instant, parse(data)) for instant, data in network.carry(datagram, number * 0.02)]
    concealer, out = Concealer(), []
    for taken in hear(arrivals, len(pcm) / 16_000 + 0.1).heard:
        if isinstance(taken, Lost):
            out.append(concealer.lost())
        else:
            out.append(concealer.good(ulaw.decode(taken.payload) if isinstance(taken, Frame) else bytes(320)))
    return b"".join(out)


def test_lost_packets_cost_the_recogniser_little(whisper: WhisperRecogniser) -> None:
    with (CLIPS / "transcripts.tsv").open(newline="") as table:
        said = [(row["file"], words(row["text"])) for row in csv.DictReader(table, delimiter="\t")]

    def errors(loss: float) -> float:
        wrong = total = 0
        for number, (name, right) in enumerate(said):
            heard = over_the_line(pcm_of_clip(name), Network(Impairment(loss=loss), 100 + number))
            samples = np.frombuffer(heard, "<i2").astype(np.float32) / np.float32(32768)
            wide = soxr.resample(samples, 8000, 16000).astype(np.float32)
            wrong += word_errors(words(whisper.transcribe([Utterance(wide, "en")])[0].text), right)
            total += len(right)
        return 100 * wrong / total

    clean = errors(0.0)
    cost = {loss: errors(loss) - clean for loss in MAY_COST}
    assert clean < 15
    assert all(cost[loss] <= most for loss, most in MAY_COST.items()), cost


def test_the_voices_own_echo_is_no_caller(piper: PiperSpeech) -> None:
    """Fifty sentences, 20 dB down and 50 to 200 ms late, at the level the voice has; none is an interruption."""
    gate = SileroGate(VoiceSettings())
    begun = []
    for number, text in enumerate(BOT_SAYS):
        pcm = b"".join(piper.sentences(text, 1.3))
        voice = soxr.resample(np.frombuffer(pcm, "<i2").astype(float), piper.rate, 8000)
        bot = np.concatenate([voice, np.zeros(4000)])
        late = np.zeros(8 * (50, 90, 130, 170, 200)[number % 5])
        heard = np.concatenate([late, bot])[: len(bot)] * 0.1 + line_noise(len(bot) / 8000)[: len(bot)]
        if listen(gate, heard, levels(bot)):
            begun.append(text)
    assert len(BOT_SAYS) == 50
    assert begun == []
