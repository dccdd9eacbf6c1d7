"""docs/gpus.md says what the planner says."""

from tests.support.gpus_doc import BLOCKS, PAGE, names, rendered


def test_its_tables_and_sums_are_the_planners() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert names(page) == BLOCKS
    assert rendered(page) == page, "python -m tests.support.gpus_doc writes them anew"


def test_a_stale_figure_is_noticed() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert rendered(page.replace("| 24 GB |", "| 25 GB |", 1)) == page
