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

    def __str__(self) -> str:
        """The total is that of the numbers as they are shown."""
        shown = [round(term.size / GIB, 2) for term in self.terms]
        parts = " + ".join(f"{term.what} {size:.2f}" for term, size in zip(self.terms, shown, strict=True))
        return f"{parts} = {sum(shown):.2f} GiB"


def total(terms: Iterable[Term]) -> Sum:
    return Sum(tuple(terms))
