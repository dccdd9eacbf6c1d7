"""Where a talk stands, and what the bot says in it."""

from enum import Enum, auto


class Phase(Enum):
    CONNECTING = auto()
    LISTENING = auto()
    HEARING = auto()  # the caller speaks, or pauses within a turn
    KEYING = auto()  # the caller presses keys of the phone
    THINKING = auto()  # a turn of the bot is released and not heard yet
    SPEAKING = auto()
    CHECKING = auto()  # the caller speaks over the bot, whose playout is paused
    JUDGING = auto()  # that speech paused: was it meant for the bot?
    JUDGING_LATE = auto()  # and its turn has ended before the verdict
    TALKING_ON = auto()  # that speech goes on and has no words: the bot goes on, too
    RECITING = auto()  # the caller speaks over a passage that has to be heard to its end
    RECITING_ON = auto()  # they have finished, the passage has not
    CLOSING = auto()
    ENDED = auto()


SOUNDING = frozenset(
    {Phase.THINKING, Phase.SPEAKING, Phase.TALKING_ON, Phase.RECITING, Phase.RECITING_ON, Phase.CLOSING}
)
"""What the bot has queued is played. In all others it is paused, or thrown away."""


class Saying(Enum):
    """What a turn of the bot is made of."""

    GREETING = auto()
    ANSWER = auto()
    STILL_THERE = auto()
    APOLOGY = auto()
    GOODBYE = auto()
    TROUBLE = auto()
    NOT_HEARD = auto()
