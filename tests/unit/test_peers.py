"""The peers of the benchmarks: what their callers send and read, which Python they get, which one is named."""

import asyncio
import itertools
import json
import struct
from pathlib import Path
from uuid import UUID

import pytest

from benchmarks.peers import environment, framing
from benchmarks.peers.catalogue import MEDIA_PEERS
from benchmarks.peers.environment import commands, downloading, find_python
from benchmarks.peers.framing import FramingError
from benchmarks.peers.seam import VOICE_RATE, Answered, seconds, turns, voice
from benchmarks.peers.verdict import cheapest

SOUND = bytes(range(256)) + bytes(64)


def server_message(first: int, payload: bytes) -> bytes:
    """RFC 6455 section 5.2, as a server sends it: no mask."""
    if len(payload) < 126:
        return bytes([first, len(payload)]) + payload
    if len(payload) < 2**16:
        return struct.pack("!BBH", first, 126, len(payload)) + payload
    return struct.pack("!BBQ", first, 127, len(payload)) + payload


# --- AudioSocket ----------------------------------------------------------------------------------------------------


def test_audiosocket_call_begins_with_its_uuid() -> None:
    assert framing.audiosocket_greeting(4) == b"\x01\x00\x10" + UUID(int=5).bytes


def test_audiosocket_sound_there_and_back_however_it_is_cut() -> None:
    stream = framing.audiosocket_pack(SOUND) * 3
    assert stream[:3] == b"\x10\x01\x40"
    for cut in range(len(stream)):
        first = framing.audiosocket_unpack(stream[:cut])
        rest = framing.audiosocket_unpack(stream[first.used :])
        assert first.sound + rest.sound == [SOUND] * 3
        assert first.used + rest.used == len(stream)


def test_audiosocket_hang_up_of_the_bot_is_an_error() -> None:
    with pytest.raises(FramingError, match="0x00"):
        framing.audiosocket_unpack(b"\x00\x00\x00")


# --- chan_websocket -------------------------------------------------------------------------------------------------


def test_websocket_messages_of_a_client_are_masked() -> None:
    message = framing.websocket_pack(SOUND)
    assert message == b"\x82\xfe\x01\x40" + bytes(4) + SOUND


def test_websocket_call_begins_with_media_start() -> None:
    greeting = framing.websocket_greeting(7)
    assert greeting[:2] == b"\x81\xfe"
    start = json.loads(greeting[8:])
    assert (start["event"], start["format"], start["optimal_frame_size"], start["ptime"]) == (
        "MEDIA_START",
        "slin",
        320,
        20,
    )


@pytest.mark.parametrize("length", [0, 125, 126, 320, 65_535, 65_536])
def test_websocket_sound_of_any_length(length: int) -> None:
    stream = server_message(0x82, bytes(length)) + server_message(0x82, SOUND)
    unpacked = framing.websocket_unpack(stream)
    assert unpacked.sound == [bytes(length), SOUND]
    assert unpacked.used == len(stream)


def test_websocket_sound_however_it_is_cut() -> None:
    stream = server_message(0x82, SOUND) + server_message(0x81, b'{"command": "START_MEDIA_BUFFERING"}')
    for cut in range(len(stream)):
        first = framing.websocket_unpack(stream[:cut])
        rest = framing.websocket_unpack(stream[first.used :])
        assert first.sound + rest.sound == [SOUND]


def test_websocket_ping_is_answered_with_what_it_brought() -> None:
    unpacked = framing.websocket_unpack(server_message(0x89, b"are you there"))
    assert unpacked.answer == b"\x8a\x8d" + bytes(4) + b"are you there"


@pytest.mark.parametrize("first", [0x88, 0x02, 0x80, 0xC2])
def test_websocket_close_and_pieces_are_errors(first: int) -> None:
    with pytest.raises(FramingError):
        framing.websocket_unpack(server_message(first, b""))


def test_websocket_upgrade_is_checked() -> None:
    request = framing.websocket_upgrade(3, "127.0.0.1:80")
    assert request.startswith(b"GET /call/3 HTTP/1.1\r\n")
    assert request.endswith(b"\r\n\r\n")
    # the key is sixteen zeros; the answer to it, after RFC 6455 section 4.2.2
    accept = b"ICX+Yqv66kxgM0FcWaLWlFLwTAI="
    assert b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n" in request
    good = b"HTTP/1.1 101 Switching Protocols\r\nsec-websocket-accept: " + accept + b"\r\n\r\n"
    framing.check_upgrade(good)
    for bad in (good.replace(b"101", b"403"), good.replace(accept, accept[::-1])):
        with pytest.raises(FramingError, match="refused"):
            framing.check_upgrade(bad)


# --- what the bot says ----------------------------------------------------------------------------------------------


def test_bot_speaks_two_fifths_of_the_time_each_call_at_its_own_times() -> None:
    sentences = [bytes(2 * VOICE_RATE * length) for length in (2, 5, 8)]
    firsts = set()
    spoken = silent = 0.0
    for number in range(50):
        said = list(itertools.islice(turns(number, sentences), 40))
        firsts.add(said[0][0])
        assert 0 <= said[0][0] <= 8
        spoken += sum(seconds(sentence) for _, sentence in said)
        silent += sum(silence for silence, _ in said[1:])
    assert len(firsts) == 50
    assert spoken / (spoken + silent) == pytest.approx(0.4, abs=0.02)


async def test_all_calls_are_answered_once_the_last_is() -> None:
    answered = Answered()
    waiting = asyncio.create_task(answered.wait(2))
    await answered.add()
    await asyncio.sleep(0)
    assert not waiting.done()
    await answered.add()
    await waiting
    await answered.wait(2)


def test_bot_voice_is_the_recorded_sentences_at_the_voice_rate() -> None:
    found = voice()
    folder = Path(__file__).parents[2] / "benchmarks" / "speech"
    assert len(found) == len(list(folder.glob("*.wav")))
    assert all(1 < seconds(sentence) < 12 for sentence in found)


# --- the environment ------------------------------------------------------------------------------------------------


def test_python_of_a_peer_is_the_first_that_really_runs() -> None:
    installed = {"python3.12": (3, 12), "python3.13": (3, 13)}
    assert find_python([(3, 13), (3, 12)], installed.get) == ((3, 13), "python3.13")
    assert find_python([(3, 11), (3, 12)], installed.get) == ((3, 12), "python3.12")
    assert find_python([(3, 11)], installed.get) is None
    # what answers with another version is not it
    assert find_python([(3, 12)], {"python3.12": (3, 11)}.get) is None


def test_python_of_pyenv_is_found_behind_its_shims(tmp_path: Path) -> None:
    interpreter = tmp_path / "versions" / "3.12.1" / "bin" / "python3.12"
    interpreter.parent.mkdir(parents=True)
    interpreter.touch()
    found = list(commands((3, 12), {"PYENV_ROOT": str(tmp_path)}))
    assert found == ["python3.12", str(interpreter)]


def test_a_peer_without_its_python_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_asked", lambda _command: None)
    peer = MEDIA_PEERS[1]
    with pytest.raises(environment.PeerMissingError, match=r"^needs Python 3.12, 3.13, which is not here$"):
        environment.environment(peer.packages, peer.pythons, print)


@pytest.mark.parametrize(
    ("line", "file"),
    [
        (
            "  Downloading https://index.invalid/a/numpy-2.5.5-cp312.whl (15.7 MB)\n",
            "numpy-2.5.5-cp312.whl (15.7 MB)",
        ),
        ("Downloading yarl-1.25.1.whl (117 kB)\n", "yarl-1.25.1.whl (117 kB)"),
        ("  Using cached idna-3.20.whl (71 kB)\n", None),
        ("Collecting numpy==2.5.5\n", None),
    ],
)
def test_downloads_are_read_off_pip(line: str, file: str | None) -> None:
    assert downloading(line) == file


def test_every_peer_has_its_pinned_packages_and_its_program() -> None:
    for peer in MEDIA_PEERS:
        pinned = peer.packages.requirements.read_text(encoding="utf-8")
        assert "--hash=sha256:" in pinned
        assert "://" not in pinned
        assert (Path(environment.__file__).parent / f"{peer.program}.py").is_file()
        assert peer.medium in framing.MEDIA
        assert " " not in peer.name


# --- the verdict ----------------------------------------------------------------------------------------------------


def test_cheapest_peer_at_the_most_calls_it_carried() -> None:
    costs = {"full": {1: 0.1, 20: 5.0}, "light": {1: 0.9, 200: 0.3}, "dead": {}}
    assert cheapest(costs) == ("light", 0.3)
    assert cheapest({"full": {1: 0.1, 20: 5.0}}) == ("full", 5.0)
    assert cheapest({"dead": {}}) is None
    assert cheapest({}) is None
