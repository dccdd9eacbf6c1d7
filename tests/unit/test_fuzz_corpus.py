"""Every input of the fuzz corpora, those that once failed among them, on any Python and without the fuzzer."""

import importlib.util
from pathlib import Path

import pytest

from tests.fuzz.__main__ import main as fuzz_main
from tests.fuzz.hunt import Limits, hunt
from tests.fuzz.target import CORPUS, NAMES, ROOT, Target, has_fuzzer_wheel, inputs, load, module_of, try_one

TARGETS = ROOT / "tests" / "fuzz" / "targets"
TRAP = "tests.support.fuzz_trap"


@pytest.fixture(scope="module")
def targets() -> dict[str, Target]:
    return {name: load(module_of(name)) for name in NAMES}


@pytest.mark.parametrize(
    ("name", "path"), list(inputs(NAMES)), ids=lambda value: getattr(value, "name", value)
)
def test_an_input_of_the_corpus_fails_nothing(name: str, path: Path, targets: dict[str, Target]) -> None:
    assert try_one(targets[name].one_input, path.read_bytes()) is None


def test_every_target_has_a_corpus_and_every_corpus_a_target() -> None:
    assert {path.stem for path in TARGETS.glob("[!_]*.py")} == set(NAMES)
    assert {path.name for path in CORPUS.iterdir()} == set(NAMES)


def test_the_fuzzer_is_here_where_it_has_a_package() -> None:
    assert importlib.util.find_spec("atheris") is not None or not has_fuzzer_wheel()


def test_a_finding_can_be_tried_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz_main(["websocket", "--input", "007b7d"]) == 0
    assert fuzz_main(["rtp", "--file", str(CORPUS / "rtp" / "wrap")]) == 0
    for wrong, said in ((["rtp", "--input", "0g"], "--input"), (["rtp", "--file", "none"], "No such file")):
        with pytest.raises(SystemExit, match="2"):
            fuzz_main(wrong)
        assert said in capsys.readouterr().err


def test_without_the_fuzzer_only_a_machine_that_has_no_package_of_it_passes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("tests.fuzz.__main__.has_fuzzer_wheel", lambda: True)
    assert fuzz_main(["websocket"]) == 2
    assert "run scripts/setup.sh dev" in capsys.readouterr().err
    monkeypatch.setattr("tests.fuzz.__main__.has_fuzzer_wheel", lambda: False)
    assert fuzz_main(["websocket"]) == 0
    assert "only the corpus is replayed" in capsys.readouterr().out


@pytest.mark.skipif(not has_fuzzer_wheel(), reason="the fuzzer has no package for this machine")
@pytest.mark.parametrize(
    ("data", "kind", "limits"),
    [
        (b"raise", "crash", Limits(seconds=20, seed=1)),
        (b"hang", "timeout", Limits(seconds=20, seed=1, timeout_s=2)),
        (b"grow", "oom", Limits(seconds=20, seed=1, timeout_s=15, memory_mib=512)),
    ],
    ids=["raise", "hang", "grow"],
)
def test_a_hunt_tells_what_it_found(data: bytes, kind: str, limits: Limits, tmp_path: Path) -> None:
    """Each way to fail stands in the corpus: a hunt that misses that finds nothing at all."""
    seeds = tmp_path / "seeds"
    seeds.mkdir()
    (seeds / "seed").write_bytes(data)
    result = hunt(TRAP, load(TRAP), seeds, tmp_path / "out", limits)
    assert [(path.name.partition("-")[0], path.read_bytes()) for path in result.found] == [(kind, data)]
