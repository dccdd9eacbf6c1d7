"""Which of several equal workers gets the next request."""

from collections.abc import Sequence
from typing import Final

REST_S: Final = 5.0  # a worker that failed is tried last for this long


class Replicas:
    """Round robin over base URLs; one that failed a moment ago comes last. Pure: `now` is seconds of one clock."""

    def __init__(self, urls: Sequence[str]) -> None:
        if not urls:
            raise ValueError("a worker client needs at least one base URL")
        self._urls = [url.rstrip("/").removesuffix("/v1") for url in urls]
        self._next = 0
        self._failed_at: dict[str, float] = {}

    def order(self, now: float) -> list[str]:
        """All of them, the one to ask first at the head."""
        turn = self._next % len(self._urls)
        self._next += 1
        turned = self._urls[turn:] + self._urls[:turn]
        return sorted(turned, key=lambda url: now - self._failed_at.get(url, -REST_S + now) < REST_S)

    def failed(self, url: str, now: float) -> None:
        self._failed_at[url] = now

    def answered(self, url: str) -> None:
        self._failed_at.pop(url, None)
