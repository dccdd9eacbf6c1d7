"""Payload bytes and pcm."""

import struct
import subprocess
import sys

import pytest

from media_bridge.g711 import CODECS
from media_bridge.settings import Codec


def samples(pcm: bytes) -> list[int]:
    return list(struct.unpack(f"<{len(pcm) // 2}h", pcm))


@pytest.mark.parametrize(
    ("codec", "payload", "expected"),
    [
        # ITU-T G.711 tables: silence, full scale of both signs
        ("ulaw", b"\xff\x7f\x80\x00", [0, 0, 32124, -32124]),
        ("alaw", b"\xd5\x55\xaa\x2a", [8, -8, 32256, -32256]),
        ("slin", b"\x01\x02\xff\xfe\x80\x00", [0x0102, -2, -32768]),
    ],
)
def test_a_payload_is_the_sound_the_standard_says(codec: Codec, payload: bytes, expected: list[int]) -> None:
    assert samples(CODECS[codec].decode(payload)) == expected


@pytest.mark.parametrize(
    ("codec", "payload_type", "width"), [("ulaw", 0, 1), ("alaw", 8, 1), ("slin", 10, 2)]
)
def test_each_codec_has_its_static_payload_type(codec: Codec, payload_type: int, width: int) -> None:
    spec = CODECS[codec]
    assert (spec.payload_type, spec.bytes_per_sample) == (payload_type, width)
    assert len(spec.encode(bytes(320))) == 160 * width


@pytest.mark.parametrize("codec", ["ulaw", "alaw", "slin"])
def test_what_was_decoded_is_encoded_without_a_further_loss(codec: Codec) -> None:
    spec = CODECS[codec]
    pcm = spec.decode(bytes(range(256)))
    assert spec.decode(spec.encode(pcm)) == pcm


def test_the_import_is_silent_where_warnings_are_errors() -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", "import media_bridge.g711"], check=True)
