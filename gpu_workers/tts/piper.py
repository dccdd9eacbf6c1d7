"""A Piper voice on ONNX runtime."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import onnxruntime  # type: ignore[import-untyped]
from piper import PiperConfig, PiperVoice, SynthesisConfig

from gpu_workers.errors import ModelError
from gpu_workers.serving import device_index

# a sentence normalised to full scale overshoots when it is resampled for the telephone
_VOLUME: Final = 0.85
_CUDA: Final = "CUDAExecutionProvider"


class PiperSpeech:
    """`model` is the .onnx file; its .onnx.json lies beside it. Raises ModelError."""

    def __init__(self, name: str, model: Path, device: str, threads: int) -> None:
        self.name = name
        config_file = model.with_name(model.name + ".json")
        providers = _providers(device)
        try:
            config = PiperConfig.from_dict(json.loads(config_file.read_text("utf-8")))
            session = onnxruntime.InferenceSession(
                str(model), sess_options=_options(threads), providers=providers
            )
        # ONNX runtime's errors have no base of their own; this is where a file of the user's own is opened
        except Exception as error:
            raise ModelError(
                f"the Piper voice {model} cannot be loaded on {device}: {error}; "
                f"workers.tts.voice names an .onnx file with {config_file.name} beside it"
            ) from error
        self._voice = PiperVoice(config=config, session=session)
        self.rate = int(config.sample_rate)

    def sentences(self, text: str, speed: float) -> Iterator[bytes]:
        settings = SynthesisConfig(length_scale=self._voice.config.length_scale / speed, volume=_VOLUME)
        for chunk in self._voice.synthesize(text, settings):
            yield chunk.audio_int16_bytes


def _options(threads: int) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # a thread that spins for the next sentence takes a core from somebody
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options


def _providers(device: str) -> list[Any]:
    if not device.startswith("cuda"):
        return ["CPUExecutionProvider"]
    if _CUDA not in onnxruntime.get_available_providers():
        raise ModelError(
            "this onnxruntime has no CUDA: run `pip install onnxruntime-gpu` in place of onnxruntime, "
            "or set workers.tts.device to cpu"
        )
    return [(_CUDA, {"device_id": device_index(device), "cudnn_conv_algo_search": "HEURISTIC"})]
