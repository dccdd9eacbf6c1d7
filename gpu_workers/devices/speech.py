"""What Whisper and Piper need on a device. Pure. Sizes are bytes.

Whisper's dimensions are OpenAI's (model card and `ModelDimensions`). The working memory is counted for the full window
of 30 s, which is the most an utterance can take. What faster-whisper was measured to take (SYSTRAN/faster-whisper issue
1030, beam 5) is within 2 % of it in float16, and up to 15 % less in int8.
"""

from dataclasses import dataclass
from typing import Final

from gpu_workers.devices.facts import GIB, MIB
from gpu_workers.devices.sums import Sum, Term, total

_FRAMES: Final = 1500  # 30 s after the encoder's convolutions
_TOKENS: Final = 448  # longest text
_MELS: Final = 80
# the CUDA context, cuBLAS and cuDNN with their work spaces
CONTEXT: Final = int(0.7 * GIB)
# an interpreter with its libraries loaded; measured: 250 MB for Piper, 63 of them the voice
PROCESS: Final = 200 * MIB
# onnxruntime on CUDA: context, cuDNN work space and its arena; no measurement of ours
ONNX_CUDA: Final = int(1.0 * GIB)

_BYTES: Final = {"float32": 4.0, "float16": 2.0, "bfloat16": 2.0, "int8": 1.05, "int16": 2.0}


@dataclass(frozen=True)
class WhisperShape:
    width: int
    heads: int
    encoder_layers: int
    decoder_layers: int
    vocabulary: int = 51865
    mels: int = _MELS

    @property
    def parameters(self) -> int:
        d = self.width
        encoder = self.encoder_layers * 12 * d * d + self.mels * d * 3 + d * d * 3 + _FRAMES * d
        decoder = self.decoder_layers * 16 * d * d + self.vocabulary * d + _TOKENS * d
        return encoder + decoder


WHISPER: Final = {
    "tiny": WhisperShape(384, 6, 4, 4),
    "base": WhisperShape(512, 8, 6, 6),
    "small": WhisperShape(768, 12, 12, 12),
    "medium": WhisperShape(1024, 16, 24, 24),
    "large": WhisperShape(1280, 20, 32, 32, 51866, 128),
    "turbo": WhisperShape(1280, 20, 32, 4, 51866, 128),
    "distil-large": WhisperShape(1280, 20, 32, 2, 51866, 128),
}


def whisper_size(name: str, file_size: int = 0) -> str | None:
    """The size that a model's name says; else the one whose float16 file comes closest to `file_size` bytes."""
    lower = name.lower()
    if "distil" in lower and "large" in lower:
        return "distil-large"
    for size in ("turbo", "large", "medium", "small", "base", "tiny"):
        if size in lower:
            return size
    if not file_size:
        return None
    return min(WHISPER, key=lambda size: abs(2 * WHISPER[size].parameters - file_size))


def whisper_need(
    shape: WhisperShape, compute_type: str, *, batch: int, copies: int, on_gpu: bool, beam: int = 1
) -> Sum:
    """`copies` models of one process, each with `batch` utterances at a time, each with `beam` hypotheses."""
    stored, worked = _precision(compute_type, on_gpu)
    weights = int(shape.parameters * stored)
    each = int(_numbers_of_utterance(shape, beam) * worked)
    return total(
        (
            Term("weights", copies * weights, f"{shape.parameters / 1e6:.0f}e6 parameters, {compute_type}"),
            Term("utterances", copies * batch * each, f"{copies * batch} x {each / MIB:.0f} MiB"),
            Term("working memory", CONTEXT if on_gpu else PROCESS, "context and libraries"),
        )
    )


def _numbers_of_utterance(shape: WhisperShape, beam: int) -> int:
    """Keys and values of the decoder over sound and text; the widest layer of the encoder."""
    decoder = shape.decoder_layers * 2 * (_FRAMES + beam * _TOKENS) * shape.width
    encoder = shape.heads * _FRAMES * _FRAMES + 4 * _FRAMES * shape.width
    return decoder + encoder


def _precision(compute_type: str, on_gpu: bool) -> tuple[float, float]:
    """Bytes of a stored weight and of a number that is worked with; `int8_float16` says both."""
    stored, _, worked = compute_type.partition("_")
    if not worked:
        worked = {"int8": "float16" if on_gpu else "float32", "int16": "float32"}.get(stored, stored)
    return _BYTES.get(stored, 4.0), _BYTES.get(worked, 4.0)


def piper_need(voice_size: int, *, parallel: int, on_gpu: bool) -> Sum:
    """One session makes all sentences; each in progress has its own activations (a share of the voice's size)."""
    work = ONNX_CUDA if on_gpu else PROCESS
    return total(
        (
            Term("weights", voice_size, "the voice's file"),
            Term("sentences", parallel * 32 * MIB, f"{parallel} x 32 MiB"),
            Term("working memory", work, "context and libraries"),
        )
    )
