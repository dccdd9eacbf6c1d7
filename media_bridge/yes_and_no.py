"""Words for yes and for no, by language: the one list behind the end of a turn, speech over the bot and consent.

Each of the three adds what only it takes for an answer ("of course" in two words, "right", "exactly"). Data only.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

OKAY: Final = frozenset({"ok", "okay"})
"""In every language: agrees to what was asked, and hums under what is told."""


@dataclass(frozen=True)
class YesAndNo:
    """Lower-case words. Behind a `yes` or a `no` alone a reason often follows; a `firm` yes needs none."""

    yes: frozenset[str]
    firm: frozenset[str]
    no: frozenset[str]

    @property
    def plain(self) -> frozenset[str]:
        """Each of them alone says yes to whatever was asked."""
        return self.yes | self.firm

    @property
    def bare(self) -> frozenset[str]:
        """Alone, one of them is an answer that often goes on."""
        return self.yes | self.no | OKAY

    @property
    def answers(self) -> frozenset[str]:
        """Alone, one of them answers a question for yes or no."""
        return self.plain | self.no | OKAY

    @classmethod
    def of(cls, yes: str, firm: str = "", no: str = "") -> "YesAndNo":
        """From words with blanks between them."""
        return cls(frozenset(yes.split()), frozenset(firm.split()), frozenset(no.split()))


YES_AND_NO: Final = {
    "en": YesAndNo.of("yes yeah yep yup sure", "certainly definitely absolutely", "no nope nah"),
    "de": YesAndNo.of(
        "ja jo jup", "jawohl gerne gern klar natürlich sicher selbstverständlich", "nein nee ne"
    ),
    "fr": YesAndNo.of("oui ouais", "volontiers certainement absolument", "non"),
    "es": YesAndNo.of("sí si claro vale", no="no"),
    "it": YesAndNo.of("sì si", "certo va volentieri", "no"),
    "nl": YesAndNo.of("ja", "graag zeker prima", "nee"),
    "pt": YesAndNo.of("sim", "claro", "não"),
    "pl": YesAndNo.of("tak", "jasne oczywiście", "nie"),
    "sv": YesAndNo.of("ja jo", "gärna visst", "nej"),
    "da": YesAndNo.of("ja", "gerne", "nej"),
}
"""Of the last six only `plain` is used today: they have no rules for the end of a turn."""


def one_of(words: Iterable[str]) -> str:
    """An alternative of a regular expression for these words, the longest first."""
    return "|".join(sorted(words, key=lambda word: (-len(word), word)))
