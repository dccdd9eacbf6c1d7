"""Sound over HTTP: the file a caller's words come in to the STT worker, and what a voice server sends back."""

import numpy as np

from gpu_workers.client.pcm import RATES, PcmError, PcmStream
from gpu_workers.errors import RequestError
from gpu_workers.stt.audio import MAX_SECONDS, WHISPER_RATE, loudness_dbfs, samples_of
from tests.fuzz.choices import Choices

TOKENS = (
    b"RIFF", b"WAVE", b"WAVEfmt ", b"fmt ", b"data", b"LIST", b"fact", b"RIFX", b"ID3", b"OggS", b"fLaC", b"\xff\xfb",
    b"\xff\xff\xff\xff", b"\x10\x00\x00\x00", b"\x28\x00\x00\x00", b"\x01\x00\x01\x00\x40\x1f\x00\x00",
    b"\x01\x00\x01\x00\x80\x3e\x00\x00", b"\x03\x00\x02\x00\x80\xbb\x00\x00", b"\xfe\xff", b"\x02\x00\x10\x00",
    b"\x01\x00\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71",
)  # fmt: skip
MAX_LEN = 4096


def one_input(data: bytes) -> None:
    choices = Choices(data)
    channels = 1 + choices.byte() % 2
    choices, file = Choices(choices.take(16)), choices.rest()
    _request(file)
    _answer(file, channels, choices)


def _request(file: bytes) -> None:
    try:
        samples = samples_of(file)
    except RequestError as error:
        assert error.status in {400, 413}
        assert len(str(error)) < 200
        return
    assert samples.dtype == np.float32
    assert 0 < len(samples) <= (MAX_SECONDS + 1) * WHISPER_RATE
    assert np.isfinite(samples).all()
    assert -120 <= loudness_dbfs(samples) < 10


def _answer(sent: bytes, channels: int, choices: Choices) -> None:
    whole = _pcm([sent], channels)
    assert _pcm(choices.pieces(sent), channels) == whole


def _pcm(pieces: list[bytes], channels: int) -> tuple[int, bytes] | None:
    """Rate and sound; None: no sound that can be played."""
    stream = PcmStream(22_050, channels)
    try:
        pcm = b"".join(map(stream.feed, pieces)) + stream.feed(b"", last=True)
    except PcmError:
        return None
    assert stream.rate in RATES
    assert len(pcm) % 2 == 0
    return stream.rate, pcm
