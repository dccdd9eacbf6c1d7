"""How long the last words of a call may take. Pure."""

from collections.abc import Iterable

from stasis_app.settings import Profile
from stasis_app.speakable import speakable

LIMIT_S = 12.0
"""From the decision to close on; longer only while there is something to hear, and a little more."""

MARGIN_S = 2.0
_HANG_UP_S = 3.0
_BYTES_A_SECOND = 8.0  # of UTF-8: a slow voice. English comes to 15, Chinese (3 bytes each) to the same


def longest_goodbye_s(profiles: Iterable[Profile]) -> float:
    """Until the last call has said its last words and is hung up, at most.

    From their text, so that whoever waits for a call process knows it as well.
    """
    return max([LIMIT_S, *(_lasts_s(profile) + MARGIN_S for profile in profiles)]) + _HANG_UP_S


def _lasts_s(profile: Profile) -> float:
    said = profile.phrases
    texts = (said.goodbye, said.trouble, said.not_heard)
    spoken = (speakable(text, profile.language, profile.pronounced) or text for text in texts)
    return max(len(text.encode()) for text in spoken) / _BYTES_A_SECOND
