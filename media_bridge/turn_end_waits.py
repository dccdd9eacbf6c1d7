"""How finished words may sound, and how much silence each kind of ending is given. Pure."""

from dataclasses import astuple, dataclass
from enum import Enum


class Ending(Enum):
    """How finished the words sound."""

    ANSWERED = "answered"  # all that the bot has asked for
    FINISHED = "finished"  # a question, a short answer, a goodbye
    COMPLETE = "complete"  # a whole statement; more may follow
    AGREED = "agreed"  # a bare "yes" or "no" to a question that asks for one; a reason often follows
    PAUSING = "pausing"  # one that often goes on: a bare "yes", a date without its time
    NEUTRAL = "neutral"  # nothing known
    HANGING = "hanging"  # could stand, and hardly ever does: "I want to return", "could you send me"
    LISTING = "listing"  # in the middle of digits, letters, an address or a date
    TRAILING = "trailing"  # cannot stand as it is: "my number is", "and", "um"


@dataclass(frozen=True)
class EndWaits:
    """Silence, in all, that ends the turn after each kind of ending."""

    answered_ms: int = 280
    finished_ms: int = 330
    agreed_ms: int = 420
    complete_ms: int = 500
    neutral_ms: int = 700
    unsure_ms: int = 760
    doubtful_ms: int = 900
    hanging_ms: int = 1000
    # while the words are still being recognised: without them there is no answer anyway
    wordless_ms: int = 1000
    listing_ms: int = 1600
    trailing_ms: int = 1900

    @classmethod
    def around(cls, end_ms: int) -> "EndWaits":
        """The same proportions around `end_ms`, the wait when nothing is known of the words."""
        usual = cls()
        return cls(*(ms * end_ms // usual.neutral_ms for ms in astuple(usual)))

    @property
    def by_words(self) -> dict[Ending, int]:
        """Where nobody listened to the sound, or its vote does not count."""
        return {
            Ending.ANSWERED: self.answered_ms,
            Ending.FINISHED: self.finished_ms,
            Ending.AGREED: self.agreed_ms,
            Ending.COMPLETE: self.complete_ms,
            Ending.PAUSING: self.complete_ms,
            Ending.NEUTRAL: self.neutral_ms,
            Ending.HANGING: self.hanging_ms,
            Ending.LISTING: self.listing_ms,
            Ending.TRAILING: self.trailing_ms,
        }

    @property
    def by_vote(self) -> dict[Ending, tuple[int, int, int]]:
        """Where the sound has a vote: surely finished, unsure, rather not."""
        return {
            Ending.AGREED: (self.agreed_ms, self.complete_ms, self.neutral_ms),
            Ending.FINISHED: (self.finished_ms, self.complete_ms, self.doubtful_ms),
            Ending.COMPLETE: (self.finished_ms, self.unsure_ms, self.doubtful_ms),
            Ending.PAUSING: (self.complete_ms, self.unsure_ms, self.doubtful_ms),
            Ending.NEUTRAL: (self.complete_ms, self.unsure_ms, self.doubtful_ms),
            Ending.HANGING: (self.hanging_ms, self.hanging_ms, self.hanging_ms),
        }
