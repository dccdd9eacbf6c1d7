"""64 callers at one recogniser, in virtual time: who is decoded when. Decoding takes time that grows with the batch."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Unpack, cast

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from gpu_workers.errors import RequestError
from gpu_workers.stt.line import Priority
from gpu_workers.stt.scheduler import Scheduler, Transcript, Utterance
from tests.support.virtual_time import Args, T, VirtualTimeLoop, run_virtual

CALLERS = 64
FINAL, EAGER, PARTIAL = Priority


@dataclass(frozen=True)
class Asked:
    """A request as it is drawn; it hangs up after `patience_s`."""

    caller: int
    at_s: float
    priority: Priority
    length_s: float
    deadline_s: float
    patience_s: float


REQUESTS = st.lists(
    st.builds(
        Asked,
        caller=st.integers(1, CALLERS),
        at_s=st.integers(0, 100).map(lambda step: step / 100),
        priority=st.sampled_from(Priority),
        length_s=st.sampled_from([1.0, 4.0, 9.0]),
        # no two moments of any request are the same: what happens first is never left to the loop
        deadline_s=st.integers(0, 300).map(lambda step: step / 100 + 0.0013),
        patience_s=st.integers(5, 2000).map(lambda step: step / 100 + 0.0007),
    ),
    min_size=10,
    max_size=120,
)


@dataclass(eq=False)
class Waiting:
    number: int
    asked: Asked
    deadline: float
    outcome: str = ""

    @property
    def order(self) -> tuple[Priority, float, int]:
        return self.asked.priority, self.deadline, self.number


class Model:
    """Its answer is there at once; `DecodingLoop` gives it out when the batch would be decoded."""

    def __init__(self, batch_limit: int) -> None:
        self.batch_limit = batch_limit

    def window_s(self, length_s: float) -> float:
        return length_s + 3

    def transcribe(self, batch: Sequence[Utterance]) -> list[Transcript]:
        return [Transcript(one.prompt, "en", one.length_s, 0, 0) for one in batch]


class DecodingLoop(VirtualTimeLoop):
    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Args]], T], *args: *Args
    ) -> asyncio.Future[T]:
        """Only the scheduler asks for it, and only for a batch."""
        (batch,) = cast("tuple[list[Utterance]]", args)
        return self.create_task(self._decode(batch, lambda: func(*args)))

    async def _decode(self, batch: list[Utterance], decode: Callable[[], T]) -> T:
        await asyncio.sleep(0.0501 + 0.0303 * sum(1 + one.length_s / 10 for one in batch))
        return decode()


@dataclass
class Room:
    """What the rule says of everybody: `here` waits; `wrong` is told of each batch as it begins."""

    batch_limit: int
    here: dict[int, Waiting] = field(default_factory=dict)
    batch: list[Waiting] = field(default_factory=list)
    everybody: list[Waiting] = field(default_factory=list)
    late: list[Waiting] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def comes(self, asked: Asked, now: float) -> Waiting:
        newcomer = Waiting(len(self.everybody), asked, now + asked.deadline_s)
        self.everybody.append(newcomer)
        for old in [one for one in self.here.values() if one.asked.caller == asked.caller]:
            if old.asked.priority is PARTIAL:
                del self.here[old.number]
        self.here[newcomer.number] = newcomer
        return newcomer

    def batch_begins(self, size: int) -> None:
        now = asyncio.get_running_loop().time()
        batch, self.batch = self.batch, []
        in_time = [one for one in self.here.values() if one.asked.priority is FINAL or one.deadline >= now]
        self.late += [one for one in self.here.values() if one not in in_time]
        left = [one for one in in_time if one not in batch]
        better = [one.asked.priority for one in left]
        alike = [one.order for one in left if _kind(one) == _kind(batch[0])]
        rules = {
            "more than the model wants": len(batch) == size <= self.batch_limit,
            "late, replaced or gone": all(one in in_time for one in batch),
            "not of one kind": len({_kind(one) for one in batch}) == 1,
            "not in order": batch == sorted(batch, key=lambda one: one.order),
            "not the next": all(batch[0].order < one.order for one in left),
            "before a better priority": all(
                one.asked.priority <= min(better, default=PARTIAL) for one in batch
            ),
            "out of turn": all(one.order < min(alike, default=(*one.order, 0)) for one in batch),
        }
        self.wrong += [rule for rule, holds in rules.items() if not holds]
        self.here = {one.number: one for one in left}


def _kind(one: Waiting) -> tuple[float, bool]:
    return one.asked.length_s, one.asked.priority is PARTIAL


async def _call(scheduler: Scheduler, room: Room, asked: Asked) -> None:
    loop = asyncio.get_running_loop()
    await asyncio.sleep(asked.at_s)
    me = room.comes(asked, loop.time())
    sound = Utterance(np.zeros(int(asked.length_s * 16000), np.float32), "en", str(me.number))
    try:
        async with asyncio.timeout(asked.patience_s):
            heard = await scheduler.submit(
                sound, asked.priority, asked.deadline_s, str(asked.caller), lambda: room.batch.append(me)
            )
        assert heard.text == str(me.number)
        me.outcome = "heard"
    except RequestError as error:
        me.outcome = error.code
    except TimeoutError:
        me.outcome = "left"
        room.here.pop(me.number, None)


async def _all_call(requests: Sequence[Asked], batch_limit: int, copies: int) -> Room:
    room = Room(batch_limit)
    scheduler = Scheduler(len(requests), room.batch_begins)
    async with scheduler.running(Model(batch_limit), copies), asyncio.TaskGroup() as group:
        for asked in requests:
            group.create_task(_call(scheduler, room, asked))
    assert scheduler.waiting == 0
    return room


# a hundred requests shrink for minutes; the broken rule's name says enough
@settings(max_examples=40, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(REQUESTS, st.sampled_from([1, 2, 8]), st.sampled_from([1, 2]))
def test_finals_before_eager_before_partials_and_nobody_is_forgotten(
    requests: list[Asked], batch_limit: int, copies: int
) -> None:
    room = run_virtual(_all_call(requests, batch_limit, copies), DecodingLoop)
    assert not room.wrong
    assert {one.outcome for one in room.late} <= {"deadline_passed"}
    for one in room.everybody:
        assert one.outcome in {"heard", "left", "superseded", "deadline_passed"}
        if one.asked.priority is FINAL:
            assert one.outcome in {"heard", "left"}
        if one.outcome == "superseded":
            assert one.asked.priority is PARTIAL


def test_64_callers_are_all_heard_in_the_order_of_their_deadlines() -> None:
    requests = [Asked(n, 0.0, FINAL, 4.0, 1.0 + (n * 37 % CALLERS), 1000.0) for n in range(1, CALLERS + 1)]
    requests += [Asked(n, 0.0, EAGER, 4.0, 100.0, 1000.0) for n in range(CALLERS + 1, 2 * CALLERS)]
    room = run_virtual(_all_call(requests, 2, 1), DecodingLoop)
    assert not room.wrong
    assert [one.outcome for one in room.everybody] == ["heard"] * len(requests)
