"""Silero VAD for 8 kHz (https://github.com/snakers4/silero-vad, MIT), for all calls of the process at once.

The network is small: a short-time Fourier transform, four convolutions, an LSTM of 128 cells and one output. Run for
each call alone, most of the time goes into starting the run and fetching 1.4 MB of weights. So windows wait for each
other within a tick, and one matrix product serves them all.
"""

import numpy as np
from numpy.typing import NDArray

from media_bridge.silero_weights import Weights

RATE = 8000
WINDOW_SAMPLES = 256
# each window is heard with the end of the one before (4 ms)
CONTEXT_SAMPLES = 32
INPUT_BYTES = 2 * (CONTEXT_SAMPLES + WINDOW_SAMPLES)
CELLS = 128

_INPUT = CONTEXT_SAMPLES + WINDOW_SAMPLES
_REFLECTED = 32
_FILTER = 128
_HOP = 64
_FRAMES = 4
_BINS = 65

_Floats = NDArray[np.float32]


class SileroNetwork:
    """The network itself: `encode` knows nothing of time, `step` goes on from a state."""

    def __init__(self, weights: Weights) -> None:
        self._basis = _matrix(weights["stft.forward_basis_buffer"][:, 0].T)
        # a convolution over time is one product of what lies under the kernel, times before channels
        kernels = [weights[f"encoder.{layer}.reparam_conv.weight"].transpose(2, 1, 0) for layer in range(4)]
        self._biases = [weights[f"encoder.{layer}.reparam_conv.bias"] for layer in range(4)]
        self._kernels = [_matrix(kernel.reshape(-1, kernel.shape[2])) for kernel in kernels]
        # what the last two see of the padding is nothing but zeros
        self._kernels[2] = _matrix(kernels[2][1:].reshape(-1, 64))
        self._kernels[3] = _matrix(kernels[3][1])
        rnn = np.hstack([weights["decoder.rnn.weight_ih"], weights["decoder.rnn.weight_hh"]])
        rnn_bias = weights["decoder.rnn.bias_ih"] + weights["decoder.rnn.bias_hh"]
        # the gates come as input, forget, cell, output: the cell's goes last, as it alone is no sigmoid, and a sigmoid
        # of x is (1 + tanh(x / 2)) / 2, so that one tanh serves all four
        order = np.r_[0 : 2 * CELLS, 3 * CELLS : 4 * CELLS, 2 * CELLS : 3 * CELLS]
        half = np.where(np.arange(4 * CELLS) < 3 * CELLS, np.float32(0.5), np.float32(1.0))
        self._rnn = _matrix((rnn[order] * half[:, None]).T)
        self._rnn_bias = rnn_bias[order] * half
        self._out = weights["decoder.decoder.2.weight"].reshape(CELLS)
        self._out_bias = float(weights["decoder.decoder.2.bias"][0])

    def encode(self, inputs: _Floats) -> _Floats:
        """(windows, 288) samples of -1 to 1, the context first, to (windows, 128) features."""
        count = len(inputs)
        padded = np.empty((count, _INPUT + _REFLECTED), np.float32)
        padded[:, :_INPUT] = inputs
        padded[:, _INPUT:] = inputs[:, -2 : -_REFLECTED - 2 : -1]
        spectrum = _under(padded, _FRAMES, _FILTER, _HOP) @ self._basis
        spectrum *= spectrum
        power = spectrum[:, :_BINS]
        power += spectrum[:, _BINS:]
        magnitude = np.zeros((count, _FRAMES + 2, _BINS), np.float32)
        np.sqrt(power.reshape(count, _FRAMES, _BINS), out=magnitude[:, 1:-1])
        first = np.zeros((count, _FRAMES + 2, 128), np.float32)
        under = self._layer(0, _under(magnitude, _FRAMES, 3 * _BINS, _BINS))
        np.maximum(under.reshape(count, _FRAMES, 128), 0.0, out=first[:, 1:-1])
        second = self._layer(1, _under(first, _FRAMES // 2, 3 * 128, 2 * 128))
        np.maximum(second, 0.0, out=second)
        third = self._layer(2, second.reshape(count, 128))
        np.maximum(third, 0.0, out=third)
        fourth = self._layer(3, third)
        return np.maximum(fourth, 0.0, out=fourth)

    def step(self, features: _Floats, hidden: _Floats, cell: _Floats) -> tuple[_Floats, _Floats, _Floats]:
        """One window further: probabilities, and the new state (each (windows, 128))."""
        gates = np.concatenate([features, hidden], axis=1) @ self._rnn
        gates += self._rnn_bias
        np.tanh(gates, out=gates)
        sigmoids = gates[:, : 3 * CELLS]
        sigmoids += 1.0
        sigmoids *= 0.5
        take, keep, show, new = (gates[:, at : at + CELLS] for at in range(0, 4 * CELLS, CELLS))
        cell = keep * cell
        cell += take * new
        hidden = np.tanh(cell)
        hidden *= show
        score = np.maximum(hidden, 0.0) @ self._out
        return 0.5 + 0.5 * np.tanh(0.5 * (score + self._out_bias)), hidden, cell

    def _layer(self, number: int, under: _Floats) -> _Floats:
        out: _Floats = under @ self._kernels[number]
        out += self._biases[number]
        return out


def _under(sound: _Floats, places: int, width: int, step: int) -> _Floats:
    """What lies under a kernel of `width` numbers at so many places, each `step` further: a row for each place."""
    row, item = sound.strides[0], sound.itemsize
    view: _Floats = np.ndarray((len(sound), places, width), np.float32, sound, 0, (row, step * item, item))
    return view.reshape(len(sound) * places, width)


def _matrix(values: _Floats) -> _Floats:
    return np.ascontiguousarray(values, np.float32)
