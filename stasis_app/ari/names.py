"""How the bot names what it makes in Asterisk, so that a later process knows its leftovers. Pure."""

import re
from dataclasses import dataclass

MOST_INSTANCE_CHARS = 64

_INSTANCE = re.compile(rf"[A-Za-z0-9_.-]{{1,{MOST_INSTANCE_CHARS}}}")
_RUN = re.compile(r"[A-Za-z0-9]{0,16}")
_CALL_ID = re.compile(r"[A-Za-z0-9_]{1,48}")
_BRIDGE = re.compile(r"vb-(?P<instance>.+)-(?:(?P<run>[^-.]+)\.)?(?P<call_id>[^-.]+)")
_MEDIA = re.compile(_BRIDGE.pattern + "-media")


@dataclass(frozen=True, slots=True)
class LegNames:
    """The ids of the bridges and media channels of one bot process.

    `instance` must stay the same over restarts and be unlike that of every other bot on this Asterisk: what carries it
    and belongs to no live call is deleted. `run` tells this process from those before and beside it under the same
    instance. A call id has no '-' and no '.', so that an instance may. Raises ValueError for other characters or for
    more than Asterisk's 149 of an id.
    """

    instance: str
    run: str = ""

    def __post_init__(self) -> None:
        if not _INSTANCE.fullmatch(self.instance):
            raise ValueError(f"instance {self.instance!r}: only 1 to 64 letters, digits and '_' '.' '-'")
        if not _RUN.fullmatch(self.run):
            raise ValueError(f"run {self.run!r}: at most 16 letters and digits")

    def bridge_id(self, call_id: str) -> str:
        if not _CALL_ID.fullmatch(call_id):
            raise ValueError(f"call id {call_id!r}: only 1 to 48 letters, digits and '_'")
        return f"vb-{self.instance}-{self.run}{'.' if self.run else ''}{call_id}"

    def media_channel_id(self, call_id: str) -> str:
        return f"{self.bridge_id(call_id)}-media"

    def run_of(self, name: str) -> str | None:
        """Which run of this instance made the bridge or media channel; None when none did."""
        found = _MEDIA.fullmatch(name) or _BRIDGE.fullmatch(name)
        return (found["run"] or "") if found and found["instance"] == self.instance else None

    def call_of_bridge(self, bridge_id: str) -> str | None:
        """The call id, or None when this run did not make the bridge."""
        return self._call_of(_BRIDGE.fullmatch(bridge_id))

    def call_of_channel(self, channel_id: str) -> str | None:
        """The call id, or None when this run did not make the channel."""
        return self._call_of(_MEDIA.fullmatch(channel_id))

    def _call_of(self, found: re.Match[str] | None) -> str | None:
        ours = found and (found["instance"], found["run"] or "") == (self.instance, self.run)
        return found["call_id"] if found and ours else None


def beat_variable(run: str) -> str:
    """The global variable of Asterisk in which a replaced run shows that it lives (docs/decisions/0018)."""
    return f"VOICEBOT_RUN_{run}"


def is_media_channel(channel_id: str) -> bool:
    """Whether some bot process, this or another, made the channel."""
    return _MEDIA.fullmatch(channel_id) is not None


def is_call_bridge(bridge_id: str) -> bool:
    """Whether some bot process, this or another, made the bridge."""
    return _BRIDGE.fullmatch(bridge_id) is not None
