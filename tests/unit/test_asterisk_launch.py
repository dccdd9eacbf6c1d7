"""Choosing and fetching an Asterisk, and what AsteriskProcess refuses before it starts anything."""

import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from pydantic import SecretStr

from gpu_workers.leash import leashed
from voicebot import programs, unpacked
from voicebot.asterisk import AsteriskError, AsteriskInstall, AsteriskProcess, find_or_fetch
from voicebot.cache import default_cache_dir
from voicebot.errors import PortTakenError
from voicebot.programs import SippInstall, fetch_sipp
from voicebot.run_folder import run_folder
from voicebot.unpacked import FetchError, Unpacked, debian_mirrors, fetch

NOWHERE = AsteriskInstall(("/nonexistent/asterisk",), "22.10.1")


def program(path: Path, says: str, status: int = 0) -> Path:
    """A program that prints one line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\nexit {status}\n")
    path.chmod(0o755)
    return path


def process(
    install: AsteriskInstall = NOWHERE, password: str = "secret-word", **settings: int | str
) -> AsteriskProcess:
    return AsteriskProcess(install, ari_password=SecretStr(password), **settings)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def only_our_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The host's own Asterisk, caches and mirror play no part; tools of the system still do."""
    for name in ("VOICEBOT_ASTERISK", "VOICEBOT_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("voicebot.programs.EXTRA_PATH", str(tmp_path / "sbin"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("VOICEBOT_DEBIAN_MIRROR", "http://127.0.0.1:9/debian")  # discard: refused at once


@pytest.fixture
def said() -> list[str]:
    return []


class TestCacheDir:
    def test_is_under_home(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", "/home/anna")
        assert default_cache_dir() == Path("/home/anna/.cache/voicebot")

    def test_follows_xdg(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", "/big/cache")
        assert default_cache_dir() == Path("/big/cache/voicebot")

    def test_ignores_a_relative_xdg(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", "/home/anna")
        monkeypatch.setenv("XDG_CACHE_HOME", "cache")
        assert default_cache_dir() == Path("/home/anna/.cache/voicebot")

    def test_our_own_variable_goes_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", "/big/cache")
        monkeypatch.setenv("VOICEBOT_CACHE", "/srv/voicebot")
        assert default_cache_dir() == Path("/srv/voicebot")


class TestChoice:
    @pytest.mark.parametrize(
        ("says", "version", "words"),
        [
            ("Asterisk 22.10.1+dfsg+~cs6.17.60671434-1", "22.10.1", 0),
            ("Asterisk certified/22.8-cert1", "22.8", 0),
            ("Asterisk GIT-23-1234abc", "23", 0),
            ("Asterisk 20.6.0~dfsg+~cs6.13", "20.6.0", 1),
        ],
    )
    def test_the_installed_one_is_taken(
        self, tmp_path: Path, says: str, version: str, words: int, said: list[str]
    ) -> None:
        path = program(tmp_path / "sbin/asterisk", says)
        assert find_or_fetch(tmp_path / "cache", said.append) == AsteriskInstall((str(path),), version)
        assert len(said) == words, "an old one is recommended against, a new one is not talked about"

    @pytest.mark.parametrize(("version", "safe"), [("22.9.0", False), ("22.10.0", False), ("22.10.1", True)])
    def test_of_those_that_we_fetch_only_a_safe_one_is_taken(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, safe: bool, said: list[str]
    ) -> None:
        modules = tmp_path / "asterisk/usr/lib/any/asterisk/modules"
        sounds = tmp_path / "asterisk/usr/share/asterisk/sounds/en"
        for needed in (
            modules / "chan_websocket.so",
            sounds / "ss-noservice.gsm",
            modules.parents[1] / "libc.so.6",
            modules.parents[1] / "ld-linux.so.2",
        ):
            needed.parent.mkdir(parents=True, exist_ok=True)
            needed.touch()
        monkeypatch.setattr(programs, "_version", lambda _: version)
        with nullcontext() if safe else pytest.raises(FetchError, match=f"holds Asterisk {version}, older"):
            programs._accept(Unpacked(tmp_path / "asterisk"))
        # one of years ago is in the cache
        assert find_or_fetch(tmp_path, said.append).version == version
        assert any("closes security holes: remove" in line for line in said) is not safe

    def test_an_old_installed_one_is_passed_over_and_named_when_nothing_else_is_had(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
    ) -> None:
        monkeypatch.setattr(unpacked, "KEYRING", tmp_path / "none")
        program(tmp_path / "sbin/asterisk", "Asterisk 16.28.0~dfsg-0+deb11u4")
        with pytest.raises(AsteriskError, match=r"Asterisk 16\.28\.0, too old.*VOICEBOT_ASTERISK="):
            find_or_fetch(tmp_path / "cache", said.append)
        assert "16.28.0" in said[0]

    def test_a_broken_installed_one_is_passed_over(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
    ) -> None:
        monkeypatch.setattr(unpacked, "KEYRING", tmp_path / "none")
        program(tmp_path / "sbin/asterisk", "error while loading shared libraries", status=127)
        with pytest.raises(AsteriskError, match=r"names no version.*Could not fetch"):
            find_or_fetch(tmp_path / "cache", said.append)

    def test_the_variable_goes_first(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
    ) -> None:
        program(tmp_path / "sbin/asterisk", "Asterisk 22.10.1")
        named = program(tmp_path / "mine/asterisk", "Asterisk 18.26.4")
        monkeypatch.setenv("VOICEBOT_ASTERISK", str(named))
        install = find_or_fetch(tmp_path / "cache", said.append, tmp_path / "another")
        assert install == AsteriskInstall((str(named),), "18.26.4")

    def test_it_may_be_in_the_home_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
    ) -> None:
        """systemd sets it as it is written."""
        named = program(tmp_path / "mine/asterisk", "Asterisk 22.10.1")
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("VOICEBOT_ASTERISK", "~/mine/asterisk")
        assert find_or_fetch(tmp_path / "cache", said.append).command == (str(named),)
        monkeypatch.setenv("VOICEBOT_ASTERISK", "~nobody-here/asterisk")
        with pytest.raises(AsteriskError, match="~nobody-here/asterisk is no program that runs"):
            find_or_fetch(tmp_path / "cache", said.append)

    def test_a_named_one_that_is_too_old_is_an_error(self, tmp_path: Path, said: list[str]) -> None:
        named = program(tmp_path / "mine/asterisk", "Asterisk 17.9.3")
        with pytest.raises(AsteriskError, match=r"17\.9\.3, too old: 18 is the oldest.*Upgrade"):
            find_or_fetch(tmp_path / "cache", said.append, named)

    def test_a_named_one_that_is_none_is_an_error(self, tmp_path: Path, said: list[str]) -> None:
        with pytest.raises(AsteriskError, match="no program that runs"):
            find_or_fetch(tmp_path / "cache", said.append, tmp_path / "nothing")

    def test_an_installed_sipp_is_taken(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = program(tmp_path / "bin/sipp", "SIPp v3.6.1")
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
        assert fetch_sipp(tmp_path / "cache", print) == SippInstall((str(path),))


class TestFetch:
    def test_offline_is_told_with_the_mend_and_leaves_nothing(self, tmp_path: Path, said: list[str]) -> None:
        with pytest.raises(
            AsteriskError, match=r"forky: .*Connection refused.*sid: .*online.*install Asterisk 20"
        ):
            find_or_fetch(tmp_path, said.append)
        assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []

    def test_a_cache_that_cannot_be_made_is_told(self, tmp_path: Path, said: list[str]) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(AsteriskError, match="VOICEBOT_CACHE"):
            find_or_fetch(tmp_path / "file" / "cache", said.append)

    def test_what_is_there_needs_no_lock(self, tmp_path: Path) -> None:
        """A read-only folder has room for none."""
        (tmp_path / "things").mkdir()
        (tmp_path / "things.lock").mkdir()  # so it cannot be opened, whoever asks
        assert (
            unpacked.fetch("things", ["things"], tmp_path, lambda _: None, print).root == tmp_path / "things"
        )

    def test_what_is_there_is_not_fetched_again(self, tmp_path: Path) -> None:
        (tmp_path / "thing").mkdir()
        assert fetch("thing", ("package",), tmp_path, refuse, print) == Unpacked(tmp_path / "thing")

    def test_the_second_suite_is_tried_when_the_first_does_not_do(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
    ) -> None:
        monkeypatch.setattr(unpacked, "_unpack", fake_unpack)
        tree = fetch("thing", ("package",), tmp_path, only_from_sid, said.append)
        assert tree.root == tmp_path / "thing"
        assert (tree.root / "suite").read_text() == "sid"

    def test_what_is_refused_never_appears(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(unpacked, "_unpack", fake_unpack)
        with pytest.raises(FetchError, match="forky: not this; sid: not this"):
            fetch("thing", ("package",), tmp_path, refuse, print)
        assert [path.name for path in tmp_path.iterdir()] == ["thing.lock"]

    def test_what_an_interrupted_run_left_is_removed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(unpacked, "_unpack", fake_unpack)
        (tmp_path / "thing.partial-x" / "root").mkdir(parents=True)
        fetch("thing", ("package",), tmp_path, lambda tree: None, print)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["thing", "thing.lock"]

    def test_a_second_run_waits_for_the_first(self, tmp_path: Path) -> None:
        said: list[str] = []
        with (tmp_path / "thing.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)

            def first_run_ends(line: str) -> None:
                said.append(line)
                (tmp_path / "thing").mkdir()
                fcntl.flock(lock, fcntl.LOCK_UN)

            assert fetch("thing", ("package",), tmp_path, refuse, first_run_ends).root == tmp_path / "thing"
        assert said == ["Another run is fetching thing; waiting for it."]


def refuse(tree: Unpacked) -> None:
    raise FetchError("not this")


def only_from_sid(tree: Unpacked) -> None:
    if (tree.root / "suite").read_text() != "sid":
        raise FetchError("too old")


def fake_unpack(work: Path, suite: str, packages: object, what: str, say: unpacked.Say) -> Unpacked:
    (work / "root").mkdir()
    (work / "root" / "suite").write_text(suite)
    return Unpacked(work / "root")


class TestRefusals:
    @pytest.mark.parametrize("password", ["", "two words", "semi;colon", "line\nbreak", "pässword"])
    def test_a_password_that_ari_conf_cannot_hold(self, password: str) -> None:
        with pytest.raises(AsteriskError, match="ARI password") as caught:
            process(password=password)
        assert not password or password not in str(caught.value)

    def test_a_user_that_ari_conf_cannot_hold(self) -> None:
        with pytest.raises(AsteriskError, match=r"ari\.username"):
            process(ari_user="a]b")

    def test_too_few_rtp_ports(self) -> None:
        with pytest.raises(AsteriskError, match="is not enough for one call"):
            process(rtp_start=20000, rtp_end=20002)

    @pytest.mark.parametrize(
        ("kind", "setting"),
        [(socket.SOCK_DGRAM, "sip_port"), (socket.SOCK_STREAM, "http_port")],
    )
    async def test_a_port_in_use(self, kind: socket.SocketKind, setting: str) -> None:
        with socket.socket(socket.AF_INET, kind) as other:
            other.bind(("127.0.0.1", 0))
            if kind is socket.SOCK_STREAM:
                other.listen()
            port = other.getsockname()[1]
            with pytest.raises(PortTakenError, match=rf"port {port} .*in use.*asterisk\.{setting}"):
                async with process(**{"sip_port": free_udp(), "http_port": free_tcp(), setting: port}):
                    pass

    async def test_an_address_that_is_not_ours(self) -> None:
        with pytest.raises(AsteriskError, match=r"192\.0\.2\.1.*asterisk\.sip_host"):
            async with process(sip_host="192.0.2.1", sip_port=free_udp(), http_port=free_tcp()):
                pass

    async def test_an_asterisk_that_ends_at_once_is_told_with_its_words(self, tmp_path: Path) -> None:
        path = program(tmp_path / "asterisk", "ERROR: no such thing as a free lunch", status=1)
        install = AsteriskInstall((str(path),), "22.10.1")
        with pytest.raises(AsteriskError, match=r"22\.10\.1 did not start.*free lunch"):
            async with process(install, sip_port=free_udp(), http_port=free_tcp()):
                pass


def free_udp() -> int:
    return free_port(socket.SOCK_DGRAM)


def free_tcp() -> int:
    return free_port(socket.SOCK_STREAM)


def free_port(kind: socket.SocketKind) -> int:
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class TestRunFolder:
    def test_is_private_short_and_removed(self) -> None:
        with run_folder() as folder:
            assert folder.stat().st_mode & 0o777 == 0o700
            assert len(str(folder)) <= 60
            (folder / "file").touch()
        assert not folder.exists()

    def test_a_long_temporary_folder_is_not_used(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / ("x" * 80)))
        with run_folder() as folder:
            assert len(str(folder)) <= 60

    def test_what_killed_runs_left_is_removed_and_what_is_in_use_is_not(self, short_tmp: Path) -> None:
        left = short_tmp / f"voicebot-{os.getuid()}-left"
        (left / "etc").mkdir(parents=True)
        (left / "lock").touch()
        with run_folder() as used, run_folder():
            assert used.exists()
            assert not left.exists()


@pytest.fixture
def short_tmp(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with run_folder() as folder:
        monkeypatch.setattr("tempfile.tempdir", str(folder))
        yield folder


class TestGuardedChild:
    def test_ends_when_its_parent_is_killed(self, tmp_path: Path) -> None:
        code = (
            "import subprocess, sys; from gpu_workers.leash import leashed; "
            "child = subprocess.Popen(leashed(['sleep', '60'])); print(child.pid, flush=True); child.wait()"
        )
        root = Path(__file__).parents[2]
        with subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=root
        ) as parent:
            assert parent.stdout is not None
            child = int(parent.stdout.readline())
            wait_until(lambda: command_of(child) == "sleep")
            parent.kill()
        wait_until(lambda: command_of(child) is None)

    def test_keeps_the_process_id_and_the_exit_status(self) -> None:
        result = subprocess.Popen(leashed(["sh", "-c", "exit 7"]))
        assert result.wait() == 7

    def test_takes_the_signals_of_the_command(self) -> None:
        child = subprocess.Popen(leashed(["sleep", "60"]))
        wait_until(lambda: command_of(child.pid) == "sleep")
        child.send_signal(signal.SIGTERM)
        assert child.wait() == -signal.SIGTERM


def command_of(pid: int) -> str | None:
    """The name of a process that runs, None if it has ended (also if nobody has collected it)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return None
    name, state = stat[stat.index("(") + 1 : stat.rindex(")")], stat[stat.rindex(")") + 2]
    return None if state in "ZX" else name


def wait_until(condition: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < give_up_at, "it did not happen"
        time.sleep(0.01)


def test_debians_mirror_is_found_before_apt_has_any_lists() -> None:
    asked = """'http://mirror.example/debian/dists/bookworm/InRelease' mirror.example_debian_dists_bookworm_InRelease 0
'http://mirror.example/debian-security/dists/bookworm-security/InRelease' mirror.example_security 0
'https://packages.example/docker/dists/bookworm/InRelease' packages.example_docker 0
"""
    assert debian_mirrors(asked) == ["http://mirror.example/debian"]
    assert debian_mirrors("") == []
