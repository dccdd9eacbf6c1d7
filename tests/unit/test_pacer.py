"""The 20 ms grid: the core by hand-made instants, the shell in virtual time."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Coroutine
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from media_bridge.pacer import LATER_S, MAX_CATCH_UP, PTIME_S, SLOTS, Due, Member, Pacer, PacerCore

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]


def _ignore_tick(_due: float, _skipped: int) -> None: ...


def _ignore_failure(_due: float, _error: Exception) -> None: ...


class BusyLoop(asyncio.SelectorEventLoop):
    """Its clock is moved on by what runs on it."""

    now = 0.0

    def time(self) -> float:
        return self.now


def add(core: PacerCore, now: float, call_id: str = "a") -> Member:
    return core.add(now, call_id, (_ignore_tick,), _ignore_failure)


def times(dues: list[Due]) -> list[float]:
    return [round(due.at, 9) for due in dues]


class TestCore:
    def test_nothing_is_due_without_calls(self) -> None:
        core = PacerCore(epoch=100.0)
        assert core.next_at() is None
        assert core.due(200.0) == []

    def test_one_call_ticks_each_20_ms_by_absolute_time(self) -> None:
        core = PacerCore(epoch=100.0)
        add(core, 100.0)
        # each wake-up is late by a different amount, and none moves the next instant
        dues = [
            core.due(100.0 + step * PTIME_S + late) for step, late in enumerate((0.0, 0.007, 0.001, 0.019))
        ]
        assert [times(due) for due in dues] == [[100.0], [100.02], [100.04], [100.06]]

    def test_calls_are_spread_evenly_over_the_slots(self) -> None:
        core = PacerCore(epoch=0.0)
        members = [add(core, 0.0) for _ in range(3 * SLOTS)]
        assert set(Counter(member.slot for member in members).values()) == {3}

    def test_slots_tick_at_their_own_phase(self) -> None:
        core = PacerCore(epoch=0.0)
        for _ in range(SLOTS):
            add(core, 0.0)
        assert times(core.due(0.0199)) == [round(index * PTIME_S / SLOTS, 9) for index in range(SLOTS)]

    def test_a_gap_in_the_slots_is_filled_first(self) -> None:
        core = PacerCore(epoch=0.0)
        members = [add(core, 0.0) for _ in range(SLOTS)]
        core.remove(members[1])
        assert add(core, 0.0).slot == 1

    def test_a_call_that_joins_late_starts_within_one_period(self) -> None:
        core = PacerCore(epoch=0.0)
        add(core, 7.0131)
        first = core.next_at()
        assert first is not None
        assert 7.0131 <= first < 7.0131 + PTIME_S

    def test_a_short_stall_is_made_up(self) -> None:
        core = PacerCore(epoch=0.0)
        add(core, 0.0)
        core.due(0.0)
        dues = core.due(MAX_CATCH_UP * PTIME_S + 0.001)
        assert [due.skipped for due in dues] == [0] * MAX_CATCH_UP

    def test_a_long_stall_is_skipped_and_counted(self) -> None:
        core = PacerCore(epoch=0.0)
        add(core, 0.0)
        core.due(0.0)
        (due,) = core.due(8.001)
        assert due.at == pytest.approx(8.0)
        assert due.skipped == 399
        assert core.next_at() == pytest.approx(8.02)

    @given(
        joins=st.lists(st.floats(0, 0.5), min_size=1, max_size=12),
        naps=st.lists(st.floats(0.0005, 0.4), min_size=1, max_size=60),
    )
    def test_no_tick_is_lost_or_run_twice_whatever_the_stalls(
        self, joins: list[float], naps: list[float]
    ) -> None:
        core = PacerCore(epoch=0.0)
        members = {add(core, at, str(n)): at for n, at in enumerate(joins)}
        now, seen = 0.5, dict.fromkeys(members, 0)
        last: dict[Member, float] = {}
        for nap in naps:
            now += nap
            burst: Counter[Member] = Counter()
            for due in core.due(now):
                burst[due.member] += 1
                seen[due.member] += 1 + due.skipped
                if due.member in last:
                    assert due.at - last[due.member] == pytest.approx((1 + due.skipped) * PTIME_S)
                assert now - PTIME_S * MAX_CATCH_UP - 1e-6 <= due.at <= now + 1e-6
                last[due.member] = due.at
            assert all(count <= MAX_CATCH_UP for count in burst.values())
        for member, count in seen.items():
            if member in last:
                # the last tick, plus all the periods before it, back to the first one of its slot
                assert count - 1 <= (last[member] + 1e-6) / PTIME_S


class TestShell:
    def test_ticks_come_each_20_ms(self, virtual_time: RunVirtual) -> None:
        dues: list[float] = []

        async def main() -> None:
            async with Pacer() as pacer:
                pacer.register("a", (lambda due, _skipped: dues.append(due),), _ignore_failure)
                await asyncio.sleep(0.999)

        virtual_time(main())
        assert dues == [pytest.approx(step * PTIME_S) for step in range(50)]

    def test_the_first_steps_of_all_calls_come_before_the_second_of_any(
        self, virtual_time: RunVirtual
    ) -> None:
        steps: list[str] = []

        def note(step: str, _due: float, _skipped: int) -> None:
            steps.append(step)

        async def main() -> None:
            async with Pacer() as pacer:
                for n in range(SLOTS + 1):
                    pacer.register(
                        str(n), (partial(note, f"speak {n}"), partial(note, f"hear {n}")), _ignore_failure
                    )
                await asyncio.sleep(PTIME_S - 0.001)

        virtual_time(main())
        mine = [step for step in steps if step.endswith((" 0", f" {SLOTS}"))]
        assert mine == ["speak 0", f"speak {SLOTS}", "hear 0", f"hear {SLOTS}"]

    def test_the_second_step_comes_half_a_period_later_and_says_so(self, virtual_time: RunVirtual) -> None:
        ran: list[tuple[str, float, float]] = []

        async def main() -> None:
            loop = asyncio.get_running_loop()

            def note(step: str, due: float, _skipped: int) -> None:
                ran.append((step, due, loop.time()))

            async with Pacer() as pacer:
                pacer.register("a", (partial(note, "speak"), partial(note, "hear")), _ignore_failure)
                await asyncio.sleep(2 * PTIME_S - 0.001)

        virtual_time(main())
        assert [step for step, _, _ in ran] == ["speak", "hear", "speak", "hear"]
        began = ran[0][1]
        wanted = [0.0, LATER_S, PTIME_S, PTIME_S + LATER_S]
        assert [due - began for _, due, _ in ran] == [pytest.approx(later) for later in wanted]
        assert [at for _, _, at in ran] == [pytest.approx(due) for _, due, _ in ran]

    def test_a_first_step_waits_for_no_second_step_of_others(self) -> None:
        """However long hearing takes now and then, what is sent is in time, and nobody is starved."""
        calls = 48 * SLOTS
        took_s = 1.9 * PTIME_S / calls
        sent: dict[int, list[float]] = {number: [] for number in range(calls)}
        heard: Counter[int] = Counter()

        async def main() -> int:
            loop = asyncio.get_running_loop()
            assert isinstance(loop, BusyLoop)

            def hear(number: int, _due: float, _skipped: int) -> None:
                heard[number] += 1
                # one slot takes far longer than the other
                # now and then one slot takes nearly a period
                loop.now += took_s if number % SLOTS and heard[number] % 3 == 0 else 0.0

            turns = 0
            async with Pacer() as pacer:
                for number in range(calls):
                    speak = partial(lambda at, _due, _skipped: sent[at].append(loop.now), number)
                    pacer.register(str(number), (speak, partial(hear, number)), _ignore_failure)
                while loop.now < 1.0:
                    turns += 1
                    loop.now += 0.0001
                    await asyncio.sleep(0)
            assert pacer.stats().skipped == 0
            return turns

        with asyncio.Runner(loop_factory=BusyLoop) as runner:
            turns = runner.run(main())
        assert turns > 90
        late = 8 * took_s + 0.0002
        for number, times_sent in sent.items():
            assert len(times_sent) >= 49
            assert heard[number] >= len(times_sent) - 2
            for earlier, later in pairwise(times_sent):
                assert later - earlier == pytest.approx(PTIME_S, abs=late)

    def test_what_cannot_be_heard_in_time_does_not_pile_up(self) -> None:
        """With more to do than there is time for, ticks are skipped, as after a stall."""
        sent: list[int] = []
        heard: list[int] = []

        async def main() -> None:
            loop = asyncio.get_running_loop()
            assert isinstance(loop, BusyLoop)

            def hear(_due: float, _skipped: int) -> None:
                heard.append(1)
                loop.now += 0.004

            async with Pacer() as pacer:
                for _ in range(10 * SLOTS):
                    pacer.register("a", (lambda _due, _skipped: sent.append(1), hear), _ignore_failure)
                turns = 0
                while loop.now < 2.0:
                    turns += 1
                    loop.now += 0.0001
                    await asyncio.sleep(0)
                    # the later steps of at most one period and the round that was begun beside it are owed
                    assert len(sent) - len(heard) <= (SLOTS + 1) * 10 * MAX_CATCH_UP
            assert turns > 10
            assert pacer.stats().skipped > 100

        with asyncio.Runner(loop_factory=BusyLoop) as runner:
            runner.run(main())

    def test_a_step_that_fails_does_not_keep_the_next_one_from_running(
        self, virtual_time: RunVirtual
    ) -> None:
        heard: list[float] = []

        def broken(_due: float, _skipped: int) -> None:
            raise ZeroDivisionError

        async def main() -> None:
            async with Pacer() as pacer:
                pacer.register("a", (broken, lambda due, _skipped: heard.append(due)), _ignore_failure)
                await asyncio.sleep(0.099)

        virtual_time(main())
        assert len(heard) == 5

    def test_an_unregistered_call_gets_no_tick_even_in_the_same_wake_up(
        self, virtual_time: RunVirtual
    ) -> None:
        ticked: list[str] = []

        async def main() -> None:
            async with Pacer() as pacer:
                members: list[Member] = []

                def first(_due: float, _skipped: int) -> None:
                    ticked.append("first")
                    pacer.unregister(members[1])

                members.append(pacer.register("first", (first,), _ignore_failure))
                for _ in range(SLOTS - 1):
                    pacer.register("filler", (_ignore_tick,), _ignore_failure)
                second = pacer.register(
                    "second", (lambda _due, _skipped: ticked.append("second"),), _ignore_failure
                )
                members.append(second)
                assert second.slot == members[0].slot
                await asyncio.sleep(0.019)

        virtual_time(main())
        assert ticked == ["first"]

    def test_one_calls_error_stops_nobody_and_is_logged_once(
        self, virtual_time: RunVirtual, caplog: pytest.LogCaptureFixture
    ) -> None:
        told: list[str] = []
        healthy: list[float] = []

        def broken(_due: float, _skipped: int) -> None:
            raise ZeroDivisionError("bug")

        async def main() -> None:
            async with Pacer() as pacer:
                pacer.register("call-7", (broken,), lambda _due, error: told.append(str(error)))
                pacer.register("call-8", (lambda due, _skipped: healthy.append(due),), _ignore_failure)
                await asyncio.sleep(0.199)
                assert pacer.stats().failed == 10

        with caplog.at_level(logging.ERROR):
            virtual_time(main())
        assert told == ["bug"]
        assert len(healthy) == 10
        assert [record.message for record in caplog.records] == [
            "call call-7: its media tick failed; further failures are only counted"
        ]

    def test_lateness_and_skips_are_counted(self) -> None:
        class StallingLoop(asyncio.SelectorEventLoop):
            ahead = 0.0

            def time(self) -> float:
                return super().time() + self.ahead

        async def main() -> None:
            loop = asyncio.get_running_loop()
            assert isinstance(loop, StallingLoop)
            async with Pacer() as pacer:
                seen: asyncio.Queue[int] = asyncio.Queue()
                pacer.register("a", (lambda _due, skipped: seen.put_nowait(skipped),), _ignore_failure)
                assert await seen.get() == 0
                loop.ahead = 1.0
                skipped = await seen.get()
                stats = pacer.stats()
            assert stats.skipped == skipped >= 49
            assert sum(stats.late_ms) == stats.ticks == 2

        with asyncio.Runner(loop_factory=StallingLoop) as runner:
            runner.run(main())
