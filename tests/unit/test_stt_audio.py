"""The sound of a request."""

import io
import wave

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_workers.errors import RequestError
from gpu_workers.stt.audio import loudness_dbfs, samples_of


def wav(pcm: bytes, rate: int = 8000, channels: int = 1, width: int = 2) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(pcm)
    return out.getvalue()


def tone(hz: float, seconds: float, rate: int) -> bytes:
    samples = 10000 * np.sin(2 * np.pi * hz * np.arange(int(seconds * rate)) / rate)
    return samples.astype("<i2").tobytes()


@pytest.mark.parametrize("rate", [8000, 16000])
def test_pitch_and_length_are_kept(rate: int) -> None:
    samples = samples_of(wav(tone(1000, 1.0, rate), rate))
    assert samples.dtype == np.float32
    assert len(samples) == 16000
    spectrum = np.abs(np.fft.rfft(samples))
    assert int(np.argmax(spectrum)) == 1000
    assert loudness_dbfs(samples) == pytest.approx(20 * np.log10(10000 / 32768 / np.sqrt(2)), abs=0.3)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not a PCM WAV file"),
        (b"RIFF", "not a PCM WAV file: it ends too early"),
        (b"ID3 and more", "not a PCM WAV file"),
        (wav(b""), "holds no sound"),
        (wav(b"\0" * 400, channels=2), "2 channels; send mono"),
        (wav(b"\0" * 400, width=1), "8 bits a sample; send 16"),
        (wav(b"\0" * 400, rate=44100), "44100 samples a second; send 8000 or 16000"),
    ],
)
def test_what_cannot_be_used_is_named(body: bytes, message: str) -> None:
    with pytest.raises(RequestError, match=message) as caught:
        samples_of(body)
    assert caught.value.status == 400
    assert caught.value.param == "file"


def test_too_long() -> None:
    with pytest.raises(RequestError) as caught:
        samples_of(wav(b"\0\0" * 8000 * 121))
    assert caught.value.status == 413


@given(st.binary(max_size=300))
def test_any_bytes_are_sound_or_a_request_error(body: bytes) -> None:
    for given_body in (body, wav(b"\1\0" * 50)[: len(body)] + body):
        try:
            samples_of(given_body)
        except RequestError as error:
            assert error.status in {400, 413}


def test_one_word_in_a_long_silence_is_loud() -> None:
    samples = np.zeros(16000 * 8, np.float32)
    samples[16000:17600] = 0.1
    assert loudness_dbfs(samples) == pytest.approx(-20, abs=0.1)
    assert loudness_dbfs(np.zeros(1600, np.float32)) == -120
