"""A need for memory as a list of what it is made of, so that it can be shown. Pure. Sizes are bytes."""

from collections.abc import Iterable
from dataclasses import dataclass

from gpu_workers.devices.facts import GIB


@dataclass(frozen=True)
class Term:
    """One summand. `how` is the product it comes from, for people."""

    what: str
    size: int
    how: str = ""


@dataclass(frozen=True)
class Sum:
    terms: tuple[Term, ...]

    @property
    def size(self) -> int:
        return sum(term.size for term in self.terms)

    @property
    def shown_gib(self) -> str:
        """The total in GiB, of the terms as they are shown, so that whoever adds them up finds it."""
        return f"{sum(round(term.size / GIB, 2) for term in self.terms):.2f}"

    def __str__(self) -> str:
        parts = " + ".join(f"{term.what} {term.size / GIB:.2f}" for term in self.terms)
        return f"{parts} = {self.shown_gib} GiB"


def total(terms: Iterable[Term]) -> Sum:
    return Sum(tuple(terms))
