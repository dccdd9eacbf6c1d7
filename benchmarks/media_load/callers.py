"""The callers: N streams of 20 ms G.711 from one process, and what came back on each.

    python -m benchmarks.media_load.callers

Lines of JSON, as in `subject`: it writes `ready`; on `{"streams": N}` it opens N sockets and writes their addresses as
`listening`; on `{"send_to": [...], "seconds": S, "skip": K}` it sends for S seconds, writes `sent` with the figures of
all streams, and ends. Arrivals are stamped by the kernel, so that this process may read them late; what it sends late
it says itself. Of what arrives the first `skip` seconds do not count.
"""

import json
import random
import socket
import struct
import sys
import time
from array import array
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from benchmarks.media_load.talk import FRAME_SAMPLES, conversation
from media_bridge.g711 import pcm_to_ulaw

PTIME_S = 0.020
# all streams of a slot are sent in one go; a slot each millisecond
SLOTS = 20
# sockets are read every so many rounds: fewer empty reads
_READ_EVERY = 5
_SILENCE = b"\xff" * FRAME_SAMPLES
_HEADER = struct.Struct("!BBHII")
_SO_TIMESTAMPNS = 35
_TIMESPEC = struct.Struct("@qq")
_ANCILLARY = socket.CMSG_SPACE(_TIMESPEC.size)

Seconds = NDArray[np.float64]


@dataclass(slots=True)
class _Stream:
    sock: socket.socket
    ssrc: int
    sequence: int
    timestamp: int
    position: int
    arrivals: "array[float]" = field(default_factory=lambda: array("d"))
    sequences: "array[int]" = field(default_factory=lambda: array("H"))
    timestamps: "array[int]" = field(default_factory=lambda: array("I"))
    spoken: int = 0


@dataclass
class Heard:
    """Packets of all streams together. `missing` are those that others were numbered around, and those due before a
    stream began and after it ended, which is a gap of that length. `unsteady` are those whose timestamp is not that of
    a later frame: 160 on, or more where the sender left some out; `mute` are the streams that were never heard.
    """

    gaps: list[Seconds] = field(default_factory=list)
    missing: int = 0
    doubled: int = 0
    unsteady: int = 0
    received: int = 0
    mute: int = 0

    def add(
        self,
        stamps: Seconds,
        sequences: NDArray[np.uint16],
        timestamps: NDArray[np.uint32],
        since: float | None = None,
        until: float | None = None,
    ) -> None:
        """One stream, in the order of arrival, due from `since`, unless it had begun before, to `until`."""
        self.received += len(stamps)
        if len(stamps) < 2:
            self.mute += 1
            return
        self.gaps.append(np.diff(stamps))
        self._add_silence(0.0 if since is None else stamps[0] - since)
        self._add_silence(0.0 if until is None else until - stamps[-1])
        # a 16-bit difference with its sign, and a 32-bit one
        steps = np.diff(sequences).astype(np.int16).astype(np.int64)
        different = len(set(np.cumsum(steps).tolist()) | {0})
        self.missing += int(steps.sum()) + 1 - different
        self.doubled += len(stamps) - different
        frames, rest = np.divmod(np.diff(timestamps).astype(np.int32), FRAME_SAMPLES)
        self.unsteady += int(np.count_nonzero((rest != 0) | (frames < 1)))

    def _add_silence(self, seconds: float) -> None:
        """At one end of a stream."""
        due = int(seconds / PTIME_S)
        if due > 0:
            self.missing += due
            self.gaps.append(np.array([seconds]))

    def report(self) -> dict[str, object]:
        gaps = np.concatenate(self.gaps or [np.zeros(0)])
        return {
            "gap_ms": milliseconds(gaps),
            "over_25_ms": int(np.count_nonzero(gaps > 0.025)),
            "missing": self.missing,
            "doubled": self.doubled,
            "unsteady": self.unsteady,
            "received": self.received,
            "mute": self.mute,
        }


def milliseconds(values: Seconds) -> dict[str, float]:
    """p50, p99 and max; 0 of nothing."""
    if not len(values):
        return {"p50": 0.0, "p99": 0.0, "max": 0.0}
    p50, p99, most = np.percentile(values, [50, 99, 100]) * 1000
    return {"p50": round(p50, 2), "p99": round(p99, 2), "max": round(most, 2)}


class Callers:
    """`count` sockets on loopback; each stream begins elsewhere in the same conversation."""

    def __init__(self, count: int) -> None:
        pcm = conversation().tobytes()
        ulaw = pcm_to_ulaw(pcm)
        self._payloads = [ulaw[at : at + FRAME_SAMPLES] for at in range(0, len(ulaw), FRAME_SAMPLES)]
        rng = random.Random(1)
        self._streams = [self._stream(rng, index, count) for index in range(count)]
        self.refused = 0

    def _stream(self, rng: random.Random, index: int, count: int) -> _Stream:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.bind(("127.0.0.1", 0))
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        position = index * len(self._payloads) // count
        return _Stream(sock, rng.getrandbits(32), rng.getrandbits(16), rng.getrandbits(32), position)

    @property
    def addresses(self) -> list[tuple[str, int]]:
        return [stream.sock.getsockname() for stream in self._streams]

    @property
    def spoken(self) -> int:
        """Packets with anything but silence in them."""
        return sum(stream.spoken for stream in self._streams)

    def call(self, addresses: list[tuple[str, int]]) -> None:
        for stream, (host, port) in zip(self._streams, addresses, strict=True):
            stream.sock.connect((host, port))

    def talk(self, seconds: float) -> "array[float]":
        """Send on all streams; how late each packet was, in seconds."""
        lateness = array("d")
        slots = [self._streams[slot::SLOTS] for slot in range(SLOTS)]
        begin = time.monotonic() + 0.05
        for tick in range(round(seconds / PTIME_S)):
            for slot, streams in enumerate(slots):
                if not streams:
                    continue
                due = begin + tick * PTIME_S + slot * PTIME_S / SLOTS
                wait = due - time.monotonic()
                if wait > 0:
                    time.sleep(wait)
                for stream in streams:
                    self._send(stream)
                lateness.append(time.monotonic() - due)
                if tick % _READ_EVERY == slot % _READ_EVERY:
                    for stream in streams:
                        self._read(stream)
        return lateness

    def finish(self) -> None:
        """Read what is still there."""
        for stream in self._streams:
            self._read(stream)
            stream.sock.close()

    def heard(self, since: float, until: float) -> "Heard":
        """What came from `since` on, of streams that were due to `until` at least."""
        all_heard = Heard()
        for stream in self._streams:
            stamps = np.frombuffer(stream.arrivals, np.float64)
            counted = stamps >= since
            all_heard.add(
                stamps[counted],
                np.frombuffer(stream.sequences, np.uint16)[counted],
                np.frombuffer(stream.timestamps, np.uint32)[counted],
                None if len(stamps) and stamps[0] < since else since,
                until,
            )
        return all_heard

    def _send(self, stream: _Stream) -> None:
        header = _HEADER.pack(0x80, 0, stream.sequence, stream.timestamp, stream.ssrc)
        try:
            stream.sock.send(header + self._payloads[stream.position])
        except OSError:
            self.refused += 1
        stream.sequence = (stream.sequence + 1) & 0xFFFF
        stream.timestamp = (stream.timestamp + FRAME_SAMPLES) & 0xFFFFFFFF
        stream.position = (stream.position + 1) % len(self._payloads)

    def _read(self, stream: _Stream) -> None:
        receive = stream.sock.recvmsg
        while True:
            try:
                data, ancillary, _flags, _source = receive(2048, _ANCILLARY)
            except BlockingIOError:
                return
            except OSError:
                self.refused += 1
                continue
            seconds, nanoseconds = _TIMESPEC.unpack(ancillary[0][2])
            stream.arrivals.append(seconds + nanoseconds * 1e-9)
            stream.sequences.append(int.from_bytes(data[2:4], "big"))
            stream.timestamps.append(int.from_bytes(data[4:8], "big"))
            stream.spoken += data[_HEADER.size :] != _SILENCE


def _say(message: dict[str, object]) -> None:
    print(json.dumps(message), flush=True)


def main() -> None:
    _say({"ready": True})
    callers = Callers(json.loads(sys.stdin.readline())["streams"])
    _say({"listening": callers.addresses})
    order = json.loads(sys.stdin.readline())
    callers.call(order["send_to"])
    since = time.time() + order["skip"]
    lateness = callers.talk(order["seconds"])
    until = time.time()
    time.sleep(0.1)
    callers.finish()
    _say(
        {
            "sent": round(order["seconds"] / PTIME_S) * len(order["send_to"]),
            "refused": callers.refused,
            "late_ms": milliseconds(np.frombuffer(lateness, np.float64)),
            "spoken": callers.spoken,
            **callers.heard(since, until).report(),
        }
    )


if __name__ == "__main__":
    main()
