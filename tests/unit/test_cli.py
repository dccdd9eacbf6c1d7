"""The voicebot command: help everywhere, exit codes, one line for what the user can mend."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from caller_phone.errors import CallFailed
from gpu_workers.errors import ModelError
from media_bridge.errors import MediaError
from stasis_app.ari.errors import AppReplaced, AriRefused, AsteriskTooOld
from stasis_app.web import WebPortError
from voicebot.cli import commands, main
from voicebot.errors import ConfigError, PartError, PortTakenError
from voicebot.output_file import check_output

ROOT = Path(__file__).parents[2]
COMMANDS = ["up", "demo", "run", "worker", "plan", "call", "fetch", "check-config", "version"]


def voicebot(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run it where there is no voicebot.yaml."""
    command = [sys.executable, "-m", "voicebot", *arguments]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT / "tests", env=env, check=False, timeout=60
    )


class TestHelp:
    @pytest.mark.parametrize("command", COMMANDS)
    def test_every_command_has_help_with_an_example(
        self, command: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit) as caught:
            main([command, "--help"])
        assert caught.value.code == 0
        assert f"  voicebot {command}" in capsys.readouterr().out.partition("examples:")[2].replace(
            "ARI_PASSWORD=... ", ""
        )

    def test_it_names_every_command(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit):
            main(["--help"])
        out = capsys.readouterr().out
        assert all(f"\n    {command}" in out for command in COMMANDS)

    def test_it_loads_nothing_heavy(self) -> None:
        code = (
            "import sys\nfrom voicebot.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
            "heavy = {'pydantic', 'yaml', 'aiohttp', 'numpy', 'asyncio'} & set(sys.modules)\n"
            "sys.exit(str(heavy) if heavy else 0)"
        )
        result = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
        )
        assert result.returncode == 0, result.stderr


class TestExitCodes:
    @pytest.mark.parametrize(
        "arguments", [[], ["wat"], ["worker"], ["worker", "asr"], ["up", "--no-such-option"]]
    )
    def test_a_wrong_command_line(self, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2
        assert "usage: voicebot" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("error", "code"),
        [
            (ConfigError("x"), 2),
            (PortTakenError("x"), 2),
            (WebPortError("x"), 2),
            (PartError("x", 78), 78),
            (PartError("x"), 1),
            (AriRefused(401, "GET", "/events", "voicebot"), 78),
            (AsteriskTooOld("x"), 78),
            (AppReplaced("voicebot"), 75),
            (ModelError("x"), 1),
            (MediaError("x"), 1),
            (CallFailed(404, "Not Found"), 1),
            (KeyboardInterrupt(), 130),
        ],
    )
    def test_what_can_be_mended_is_one_line(
        self,
        error: BaseException,
        code: int,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        def fail(_: object) -> int:
            raise error

        monkeypatch.setattr(commands, "version", fail)
        assert main(["version"]) == code
        expected = "" if isinstance(error, KeyboardInterrupt) else f"voicebot: {error}\n"
        assert capsys.readouterr().err == expected

    def test_it_is_found_inside_groups_and_told_once(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        inner = [PartError("llm ended", 78), PartError("llm ended", 78)]

        def fail(_: object) -> int:
            raise ExceptionGroup("a", [ExceptionGroup("b", inner)])

        monkeypatch.setattr(commands, "version", fail)
        assert main(["version"]) == 78
        assert capsys.readouterr().err == "voicebot: llm ended\n"

    def test_a_defect_keeps_its_traceback(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(_: object) -> int:
            raise ExceptionGroup("a", [PartError("llm ended"), ZeroDivisionError()])

        monkeypatch.setattr(commands, "version", fail)
        with pytest.raises(ExceptionGroup):
            main(["version"])


class TestCommands:
    def test_check_config_lists_everything_wrong(self, tmp_path: Path) -> None:
        (tmp_path / "voicebot.yaml").write_text("web: {port: x}\nmedai: {}\n")
        result = voicebot("check-config", "-c", str(tmp_path / "voicebot.yaml"))
        assert result.returncode == 2
        assert result.stdout == ""
        assert result.stderr.startswith(f"voicebot: {tmp_path / 'voicebot.yaml'}: 2 problems\n")
        assert "Traceback" not in result.stderr

    @pytest.mark.parametrize("command", ["run", "check-config"])
    def test_an_address_of_no_machine_here_is_told_before_the_first_call(
        self, tmp_path: Path, command: str
    ) -> None:
        file = tmp_path / "voicebot.yaml"
        file.write_text("ari: {password: x}\nmedia: {bind_host: 192.0.2.7}\n")
        result = voicebot(command, "-c", str(file))
        assert (result.returncode, result.stdout) == (2, "")
        assert "line 2: media.bind_host: 192.0.2.7 is no address of this machine" in result.stderr

    def test_check_config_of_the_defaults(self) -> None:
        result = voicebot("check-config")
        assert (result.returncode, result.stderr) == (0, "")
        assert "Nothing is wrong" in result.stdout

    def test_show_masks_secrets_and_reads_back(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = tmp_path / "voicebot.yaml"
        file.write_text("ari: {password: hunter2}\n")
        assert main(["check-config", "--show", "-c", str(file)]) == 0
        shown = capsys.readouterr().out
        assert "hunter2" not in shown
        file.write_text(shown)
        assert main(["check-config", "-c", str(file)]) == 0

    @pytest.mark.parametrize("command", ["up", "demo", "run", "worker stt", "call", "fetch", "check-config"])
    def test_a_file_that_is_not_there(self, command: str) -> None:
        result = voicebot(*command.split(), "-c", "/nowhere/voicebot.yaml")
        assert result.returncode == 2
        assert result.stderr.startswith("voicebot: /nowhere/voicebot.yaml: No such file")

    def test_run_without_a_password(self, tmp_path: Path) -> None:
        (tmp_path / "voicebot.yaml").write_text("")
        result = voicebot("run", "-c", str(tmp_path / "voicebot.yaml"))
        assert result.returncode == 2
        assert result.stderr.startswith("voicebot: ari.password is missing")

    def test_call_with_a_question_that_is_not_there(self) -> None:
        result = voicebot("call", "--wav", "price99")
        assert result.returncode == 2
        assert result.stderr == (
            "voicebot: no file price99: name a WAV file (8 kHz mono), or one of ours:"
            " cough01, hum01, pause01, pay01, price01, repeat01, short02\n"
        )

    def test_version(self) -> None:
        assert voicebot("version").stdout.startswith("voicebot ")


OWN_ASTERISK = """\
asterisk: {start: false}
ari: {url: "http://127.0.0.1:1", password: "${PASSWORD}"}
profiles:
  default: {prompt: x, tools: {http: {t: {description: x, reads: true, url: "https://h.example/x?key=${KEY}"}}}}
"""


@pytest.fixture
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PASSWORD", "a-long-random-word")
    monkeypatch.setenv("KEY", "s3cret-0f-the-sh0p")
    file = tmp_path / "voicebot.yaml"
    file.write_text(OWN_ASTERISK)
    return str(file)


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (["run"], "--transcript-file"),
        (["run", "--processes", "2"], "--transcript-file"),
        (["call", "1000"], "--record"),
        (["demo"], "--record"),
    ],
)
@pytest.mark.parametrize("place", ["a-file/x", "."])
def test_a_file_that_cannot_be_written_is_one_line_before_anything_begins(
    command: list[str],
    option: str,
    place: str,
    configuration: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "a-file").touch()
    assert main([*command, "-c", configuration, option, str(tmp_path / place)]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith(f"voicebot: {option} {tmp_path / place}: ")
    assert said.endswith("name a file that can be written here")


def test_looking_at_a_file_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "folder" / "new"
    old.write_text("kept")
    check_output("--record", old)
    check_output("--record", new, makes_folder=True)
    assert old.read_text() == "kept"
    assert new.parent.is_dir()
    assert not new.exists()


def test_a_link_to_a_file_that_is_not_there_yet_stays(tmp_path: Path) -> None:
    link, led_to = tmp_path / "link", tmp_path / "told.jsonl"
    link.symlink_to(led_to)
    check_output("--transcript-file", link)
    assert link.is_symlink()
    assert not led_to.exists()


def test_a_configuration_is_shown_without_secrets(
    configuration: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check-config", "-c", configuration, "--show"]) == 0
    shown = capsys.readouterr().out
    assert "https://h.example/x?key=${KEY}" in shown
    assert "s3cret" not in shown
    assert "a-long-random-word" not in shown
