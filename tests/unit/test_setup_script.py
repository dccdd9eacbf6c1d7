"""scripts/setup.sh, with a stand-in for Python that notes what pip is asked."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "setup.sh"

# Answers what the script asks of a Python; `-m venv` copies itself, `-m pip` notes its arguments.
STAND_IN = """\
#!/bin/bash
write_pip() {
    case "$1" in
        # the kernel takes no spaces in the first line: pip has a shell look at the second
        *" "*) echo '#!/bin/sh'; echo "'''exec' \\"$1/python\\" \\"\\$0\\" \\"\\$@\\"" ;;
        *) echo "#!$1/python" ;;
    esac > "$1/pip"
}
case "$1 $2" in
    "-c "*ensurepip*) exit ${NO_ENSUREPIP:-0} ;;
    "-c "*sys.exit*) exit ${UNSUPPORTED:-0} ;;
    "-c "*) echo "${VERSION:-3.11}" ;;
    "--version "*) echo "Python ${VERSION:-3.11}" ;;
    "-m venv") mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; write_pip "$(pwd -P)/$3/bin" ;;
    "-m pip")
        echo "${@:3}" >> "$PIP_CALLS"
        echo "Downloading a/big-1.0-py3-none-any.whl (42 MB)"
        exit ${PIP_STATUS:-0} ;;
esac
"""


class Checkout:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "checkout"
        self.calls = folder / "pip-calls"
        self.python = folder / "python3.11"
        self.python.write_text(STAND_IN)
        self.python.chmod(0o755)
        (self.folder / "scripts").mkdir(parents=True)
        shutil.copy(SCRIPT, self.folder / "scripts")
        (self.folder / "requirements").mkdir()
        for kind in ("call", "run", "dev"):
            (self.folder / "requirements" / f"{kind}.txt").write_text(f"{kind}==1\n")
        (self.folder / "pyproject.toml").write_text("[project]\n")

    def setup(self, *arguments: str, **environ: str) -> "subprocess.CompletedProcess[str]":
        env = {
            "PATH": os.environ["PATH"],
            "PYTHON": str(self.python),
            "PIP_CALLS": str(self.calls),
            **environ,
        }
        self.calls.write_text("")
        command = [str(self.folder / "scripts" / "setup.sh"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=60)

    def pip_calls(self) -> list[str]:
        return self.calls.read_text().splitlines()


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_the_first_run_installs_what_is_pinned_then_the_project(checkout: Checkout) -> None:
    result = checkout.setup()
    assert (result.returncode, result.stderr) == (0, "")
    assert checkout.pip_calls() == [
        "install --require-hashes -r requirements/run.txt",
        "install --no-deps --no-build-isolation --quiet -e .",
    ]
    assert "  big-1.0-py3-none-any.whl (42 MB)\n" in result.stdout


def test_the_second_run_does_and_says_nothing(checkout: Checkout) -> None:
    checkout.setup("dev")
    for kind in ("dev", "run", "call"):  # dev has all that the others have
        result = checkout.setup(kind)
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
        assert checkout.pip_calls() == []


def test_more_is_installed_when_more_is_asked_for(checkout: Checkout) -> None:
    checkout.setup("run")
    checkout.setup("dev")
    assert "install --require-hashes -r requirements/dev.txt" in checkout.pip_calls()


@pytest.mark.parametrize("file", ["requirements/run.txt", "pyproject.toml"])
def test_a_change_of_what_is_needed_is_noticed(checkout: Checkout, file: str) -> None:
    checkout.setup()
    (checkout.folder / file).write_text("changed==2\n")
    checkout.setup()
    assert len(checkout.pip_calls()) == 2


def test_a_path_with_spaces_is_no_other_folder(tmp_path: Path) -> None:
    (tmp_path / "my folder").mkdir()
    checkout = Checkout(tmp_path / "my folder")
    checkout.setup()
    (checkout.folder / ".venv" / "kept").touch()
    (checkout.folder / "pyproject.toml").write_text("changed==2\n")
    assert "making it anew" not in checkout.setup().stdout
    assert (checkout.folder / ".venv" / "kept").exists()
    assert len(checkout.pip_calls()) == 2


def test_a_run_that_failed_is_not_taken_for_done(checkout: Checkout) -> None:
    failed = checkout.setup(PIP_STATUS="1")
    assert failed.returncode == 2
    assert "setup: The packages could not be installed." in failed.stderr
    assert "PIP_INDEX_URL" in failed.stderr
    assert checkout.setup().returncode == 0
    assert len(checkout.pip_calls()) == 2


def test_another_python_or_folder_makes_it_anew(checkout: Checkout, tmp_path: Path) -> None:
    checkout.setup()
    (checkout.folder / ".venv" / "kept").touch()
    moved = tmp_path / "moved"
    checkout.folder.rename(moved)
    checkout.folder = moved
    assert "making it anew" in checkout.setup().stdout
    assert not (moved / ".venv" / "kept").exists()


def test_a_python_that_is_too_old(checkout: Checkout) -> None:
    result = checkout.setup(UNSUPPORTED="1", VERSION="3.9")
    assert result.returncode == 2
    assert (
        f"PYTHON={checkout.python} is no Python 3.11, 3.12 or 3.13 but: {checkout.python} (3.9)"
        in result.stderr
    )
    assert checkout.pip_calls() == []


def test_a_python_that_cannot_make_environments(checkout: Checkout) -> None:
    result = checkout.setup(NO_ENSUREPIP="1")
    assert result.returncode == 2
    assert "sudo apt install python3.11-venv" in result.stderr


def test_an_unknown_kind(checkout: Checkout) -> None:
    result = checkout.setup("everything")
    assert (result.returncode, result.stderr) == (
        2,
        "setup: there is no requirements/everything.txt: the argument is run, dev or call\n",
    )
