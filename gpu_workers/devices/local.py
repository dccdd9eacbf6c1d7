"""What is known about a model on this machine before it is loaded: its folder, the hub's cache, or its name."""

import json
import os
from dataclasses import replace
from pathlib import Path

from gpu_workers.devices.language import Shape
from gpu_workers.devices.shapes import KNOWN, UnknownShape, known_shape, shape_of
from gpu_workers.devices.speech import WHISPER, WhisperShape, whisper_size
from gpu_workers.models import MODELS

_LARGEST_CONFIG = 4 << 20


def language_shape(model: str) -> tuple[Shape | None, str]:
    """The dimensions of a language model, and where they are from; None, and why, where they are not known."""
    if (entry := MODELS.get(model)) and entry.kind == "gguf":
        return replace(KNOWN[model], quantization="gguf", file_size=entry.size), "its catalogue entry"
    path = Path(model).expanduser()
    if model.lower().endswith(".gguf"):
        size = path.stat().st_size if path.is_file() else 0
        shape = known_shape(path.stem)
        if shape is None:
            return None, f"{model} is a GGUF of no name the plan knows"
        return replace(shape, quantization="gguf", file_size=size), "its file and its name"
    for folder in (path, *_in_hub_cache(model)):
        if (folder / "config.json").is_file():
            try:
                return _of_folder(folder), f"{folder}/config.json"
            except (UnknownShape, OSError, ValueError) as error:
                return None, f"{folder}/config.json: {error}"
    if shape := known_shape(model):
        return shape, "its name"
    return None, (
        f"{model} is not on this machine yet and no name the plan knows; after a first start, or with the path of a"
        " folder with its config.json, it is counted"
    )


def whisper_shape(model: str) -> WhisperShape | None:
    """Of a known name or a folder with a CTranslate2 Whisper."""
    path = Path(model).expanduser() / "model.bin"
    size = whisper_size(model, path.stat().st_size if path.is_file() else 0)
    return WHISPER[size] if size else None


def voice_size(voice: str) -> int:
    """Bytes of a Piper voice's model; a medium one's where it is not known."""
    if entry := MODELS.get(voice):
        return entry.size
    path = Path(voice).expanduser()
    return path.stat().st_size if path.is_file() else MODELS["joe"].size


def _of_folder(folder: Path) -> Shape:
    file = folder / "config.json"
    if file.stat().st_size > _LARGEST_CONFIG:
        raise UnknownShape("too large to be a model's configuration")
    config = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(config, dict):
        raise UnknownShape("not a model's configuration")
    return shape_of(config, sum(part.stat().st_size for part in folder.glob("*.safetensors")))


def _in_hub_cache(model: str) -> list[Path]:
    """Snapshots of a hub's repository in its cache folder, newest first."""
    if model.count("/") != 1 or model.startswith((".", "/", "~")):
        return []
    home = Path(os.environ.get("HF_HOME", "~/.cache/huggingface")).expanduser()
    hub = Path(os.environ.get("HF_HUB_CACHE", home / "hub"))
    snapshots = (hub / f"models--{model.replace('/', '--')}" / "snapshots").glob("*")
    return sorted(snapshots, key=lambda folder: folder.stat().st_mtime, reverse=True)
