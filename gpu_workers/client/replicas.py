"""Which of several equal workers gets the next request, and which get none for a while.

A circuit breaker for each (M. Nygard, "Release It!", ch. 5): closed; open after `FAILURES` in `WINDOW_S`, or when its
health probe fails; after a good probe on trial, where one request at a time shows whether it closes or opens again.
Pure: `now` is seconds of one clock.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

REST_S: Final = 5.0  # a worker that failed or was slow is tried last for this long
FAILURES: Final = 3
WINDOW_S: Final = 30.0
_LONGEST_REST_S: Final = 60.0


class Breaker(Enum):
    CLOSED = auto()
    OPEN = auto()
    ON_TRIAL = auto()
    TRYING = auto()  # on trial, and the request that shows it is on its way


@dataclass
class _Replica:
    url: str
    breaker: Breaker = Breaker.CLOSED
    failures: deque[float] = field(default_factory=lambda: deque(maxlen=FAILURES))
    last_of_all_until: float = 0.0
    asked_to_wait_until: float = 0.0

    @property
    def takes_requests(self) -> bool:
        return self.breaker in {Breaker.CLOSED, Breaker.ON_TRIAL}


@dataclass(frozen=True)
class Choice:
    """Ask `url` after `wait_s`, which is 0 unless every replica asked for time."""

    url: str
    wait_s: float


class Replicas:
    """Round robin over base URLs. One that failed a moment ago comes last, one whose breaker is open not at all."""

    def __init__(self, urls: Sequence[str]) -> None:
        if not urls:
            raise ValueError("a worker client needs at least one base URL")
        self._all = {url: _Replica(url) for url in (url.rstrip("/").removesuffix("/v1") for url in urls)}
        self._next = 0

    def choose(self, now: float, but: str | None = None) -> Choice | None:
        """The replica to ask next; None while no breaker lets a request through.

        `but`: one that has just failed this very request, for which any other will do better.
        """
        turn = self._next % len(self._all)
        self._next += but is None
        listed = list(self._all.values())
        there = [one for one in listed[turn:] + listed[:turn] if one.takes_requests]
        if not there:
            return None
        best = min(
            there,
            key=lambda one: (
                max(0.0, one.asked_to_wait_until - now),
                one.url == but,
                one.last_of_all_until > now,
            ),
        )
        if best.breaker is Breaker.ON_TRIAL:
            best.breaker = Breaker.TRYING
        return Choice(best.url, max(0.0, best.asked_to_wait_until - now))

    def has_another(self, url: str, now: float) -> bool:
        """Whether a request that `url` is slow to answer may go to one that is well."""
        return any(
            one.url != url
            and one.takes_requests
            and max(one.asked_to_wait_until, one.last_of_all_until) <= now
            for one in self._all.values()
        )

    # --- how a request went ---

    def failed(self, url: str, now: float, begun: float | None = None) -> bool:
        """It broke, fell silent, or answered with a fault of its own. True when that opens its breaker.

        `begun`: when this request began. What was on its way when another one failed fails with it, and is counted with
        it: behind one address may be many workers, of which one has died with all it had in hand.
        """
        one = self._all[url]
        one.last_of_all_until = now + REST_S
        if begun is not None and one.failures and begun < one.failures[-1] and one.breaker is Breaker.CLOSED:
            return False
        one.failures.append(now)
        recent = sum(now - at <= WINDOW_S for at in one.failures)
        if one.breaker is Breaker.OPEN or (one.breaker is Breaker.CLOSED and recent < FAILURES):
            return False
        one.breaker = Breaker.OPEN
        return True

    def slow(self, url: str, now: float) -> None:
        """Another one was asked instead. No failure: where all are slow, all would be left without a request."""
        self._all[url].last_of_all_until = now + REST_S
        self.undecided(url)

    def busy(self, url: str, now: float, retry_after_s: float) -> None:
        """It is full, loading or draining, and well: it gets nothing before that time."""
        self._all[url].asked_to_wait_until = now + min(retry_after_s, _LONGEST_REST_S)
        self.undecided(url)

    def undecided(self, url: str) -> None:
        """The request ended without a verdict, as one that its caller has cancelled."""
        one = self._all[url]
        if one.breaker is Breaker.TRYING:
            one.breaker = Breaker.ON_TRIAL

    def began(self, url: str, now: float, *, slow: bool = False) -> None:
        """The first byte of an answer is there; `slow`: another one would have been asked by then."""
        one = self._all[url]
        one.last_of_all_until = now + REST_S if slow else 0.0
        if one.breaker is Breaker.TRYING:
            one.breaker = Breaker.CLOSED

    def answered(self, url: str) -> None:
        """To its end, or as far as it was wanted; a refusal of what is wrong with the request is an answer, too."""
        one = self._all[url]
        one.failures.clear()
        if one.breaker is Breaker.TRYING:
            one.breaker = Breaker.CLOSED

    # --- how its health probe went ---

    def dead(self, url: str) -> bool:
        """True when that opens its breaker."""
        one = self._all[url]
        opens, one.breaker = one.breaker is not Breaker.OPEN, Breaker.OPEN
        return opens

    def well(self, url: str) -> bool:
        """True when that lets requests through again, one at first."""
        one = self._all[url]
        if one.breaker is not Breaker.OPEN:
            return False
        one.breaker = Breaker.ON_TRIAL
        return True

    def is_open(self, url: str) -> bool:
        return self._all[url].breaker is Breaker.OPEN
