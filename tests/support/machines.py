"""Recorded machines (tests/data/devices); what each is composed of stands in its note."""

from pathlib import Path

from gpu_workers.devices.facts import Machine

FOLDER = Path(__file__).parents[1] / "data" / "devices"
NAMES = tuple(sorted(file.stem for file in FOLDER.glob("*.json")))


def machine(name: str) -> Machine:
    return Machine.model_validate_json((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
