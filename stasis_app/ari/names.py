"""How the bot names what it makes in Asterisk, so that a later process knows its leftovers. Pure."""

import re
from dataclasses import dataclass

_INSTANCE = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_CALL_ID = re.compile(r"[A-Za-z0-9_.]{1,48}")
_BRIDGE = re.compile(r"vb-(?P<instance>.+)-(?P<call_id>[^-]+)")
_MEDIA = re.compile(r"vb-(?P<instance>.+)-(?P<call_id>[^-]+)-media")


@dataclass(frozen=True, slots=True)
class LegNames:
    """The ids of the bridges and media channels of one bot process.

    `instance` must stay the same over restarts and be unlike that of every other process on this Asterisk:
    what carries it and belongs to no live call is deleted. A call id has no '-', so that an instance may.
    Raises ValueError for other characters or for more than Asterisk's 149 of an id.
    """

    instance: str

    def __post_init__(self) -> None:
        if not _INSTANCE.fullmatch(self.instance):
            raise ValueError(f"instance {self.instance!r}: only 1 to 64 letters, digits and '_' '.' '-'")

    def bridge_id(self, call_id: str) -> str:
        if not _CALL_ID.fullmatch(call_id):
            raise ValueError(f"call id {call_id!r}: only 1 to 48 letters, digits and '_' '.'")
        return f"vb-{self.instance}-{call_id}"

    def media_channel_id(self, call_id: str) -> str:
        return f"{self.bridge_id(call_id)}-media"

    def call_of_bridge(self, bridge_id: str) -> str | None:
        """The call id, or None when this process' kind did not make the bridge."""
        return self._call_of(_BRIDGE.fullmatch(bridge_id))

    def call_of_channel(self, channel_id: str) -> str | None:
        """The call id, or None when this process' kind did not make the channel."""
        return self._call_of(_MEDIA.fullmatch(channel_id))

    def _call_of(self, found: re.Match[str] | None) -> str | None:
        return found["call_id"] if found and found["instance"] == self.instance else None


def is_media_channel(channel_id: str) -> bool:
    """Whether some bot process, this or another, made the channel."""
    return _MEDIA.fullmatch(channel_id) is not None


def is_call_bridge(bridge_id: str) -> bool:
    """Whether some bot process, this or another, made the bridge."""
    return _BRIDGE.fullmatch(bridge_id) is not None
