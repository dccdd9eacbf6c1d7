"""Whether one more caller has a place: all that a call needs is reserved at once, or nothing of it. Pure."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Literal

Resource = Literal["calls", "port", "stt", "llm", "tts"]
"""A place among `calls.max_calls`, a UDP port for the sound, a call that each model worker has room for."""

WORKERS: tuple[Literal["stt", "llm", "tts"], ...] = ("stt", "llm", "tts")

DRAINING = "draining"
NO_ROOM: Mapping[Resource, str] = {
    "calls": "full",
    "port": "no_port",
    "stt": "stt_full",
    "llm": "llm_full",
    "tts": "tts_full",
}
"""VOICEBOT_REASON of a call for which one of them is not left."""


class Admission:
    """The books of all places. A reservation is made and released by call id.

    Nothing here waits: between the look at what is left and the taking of it nobody else comes.
    """

    def __init__(self) -> None:
        self._held: dict[str, frozenset[Resource]] = {}
        self._taken: Counter[Resource] = Counter()
        self._closed = False

    def reserve(
        self, call_id: str, needs: Collection[Resource], limits: Mapping[Resource, int | None]
    ) -> str | None:
        """Take one of each of `needs`: None when that is done, else the word for VOICEBOT_REASON and nothing is taken.

        `limits`: how many of each there are in all, as known now; None or missing: as many as one likes. A limit
        that has shrunk below what is taken only keeps newcomers out. Raises ValueError for a call that has a place.
        """
        if call_id in self._held:
            raise ValueError(f"call {call_id!r} has a place already")
        if self._closed:
            return DRAINING
        for resource, reason in NO_ROOM.items():
            limit = limits.get(resource)
            if resource in needs and limit is not None and self._taken[resource] >= limit:
                return reason
        self._held[call_id] = frozenset(needs)
        self._taken.update(self._held[call_id])
        return None

    def release(self, call_id: str) -> None:
        """Give back all that the call holds. Raises KeyError if it holds nothing."""
        self._taken.subtract(self._held.pop(call_id))

    def close(self) -> None:
        """From now on nobody gets a place."""
        self._closed = True

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def taken(self) -> Mapping[Resource, int]:
        """How many of each are in use."""
        return {resource: self._taken[resource] for resource in NO_ROOM}


def share(limit: int | None, processes: int) -> int | None:
    """One process' part of what a worker has room for, when `processes` of them use it: at least one call."""
    return None if limit is None else max(1, limit // processes)
