"""docs/gpus.md says what the planner says."""

from gpu_workers.devices.facts import GIB
from gpu_workers.devices.planner import make_plan
from tests.support.gpus_doc import BLOCKS, MEASURED_GIB, PAGE, names, rendered
from tests.support.machines import machine
from voicebot.config import Config
from voicebot.planning import demand_of


def test_its_tables_and_sums_are_the_planners() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert names(page) == BLOCKS
    assert rendered(page) == page, "python -m tests.support.gpus_doc writes them anew"


def test_the_plan_for_the_cpu_covers_what_was_measured() -> None:
    plan = make_plan(machine("none"), demand_of(Config()))
    for one in plan.placed:
        assert one.need is not None
        assert MEASURED_GIB[one.worker] <= one.need.size / GIB < MEASURED_GIB[one.worker] + 0.2


def test_a_stale_figure_is_noticed() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert rendered(page.replace("| 24 GB |", "| 25 GB |", 1)) == page
