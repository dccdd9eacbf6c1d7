"""The transaction machines in virtual time (RFC 3261 section 17, RFC 6026)."""

import pytest

from caller_phone.transaction import TABLE, Action, Event, Kind, State, Timers, Transaction

RFC = Timers()


def run(transaction: Transaction, until_s: float) -> list[tuple[float, Action]]:
    """Let the timers ring at their instants; what they asked for, with the instant."""
    seen = []
    while (due := transaction.due()) is not None and due <= until_s:
        seen += [(due, action) for action in transaction.expire(due)]
    return seen


def times(seen: list[tuple[float, Action]], action: Action) -> list[float]:
    return [round(at, 6) for at, one in seen if one is action]


def in_state(kind: Kind, *events: Event, at_s: float = 0.0) -> Transaction:
    transaction = Transaction(kind, RFC, at_s)
    for event in events:
        transaction.step(event, at_s)
    return transaction


class TestInviteClient:
    def test_timer_a_doubles_and_timer_b_gives_up(self) -> None:
        transaction = in_state(Kind.INVITE_CLIENT)
        seen = run(transaction, 100)
        assert times(seen, Action.SEND) == [0.5, 1.5, 3.5, 7.5, 15.5, 31.5]
        assert times(seen, Action.TIMED_OUT) == [32.0]
        assert transaction.state is State.TERMINATED

    def test_a_provisional_answer_stops_the_repetition_for_as_long_as_it_rings(self) -> None:
        transaction = in_state(Kind.INVITE_CLIENT)
        assert transaction.step(Event.PROVISIONAL, 0.1) == (Action.DELIVER,)
        assert transaction.due() is None

    def test_a_failure_is_acknowledged_each_time_and_told_once(self) -> None:
        transaction = in_state(Kind.INVITE_CLIENT, Event.PROVISIONAL)
        assert transaction.step(Event.FAILURE, 1.0) == (Action.SEND_ACK, Action.DELIVER)
        assert transaction.step(Event.FAILURE, 2.0) == (Action.SEND_ACK,)
        assert transaction.due() == 33.0
        assert run(transaction, 100) == []
        assert transaction.state is State.TERMINATED

    def test_a_repeated_2xx_is_acknowledged_again(self) -> None:
        transaction = in_state(Kind.INVITE_CLIENT)
        assert transaction.step(Event.SUCCESS, 1.0) == (Action.DELIVER,)
        assert transaction.step(Event.SUCCESS, 1.5) == (Action.SEND_ACK,)
        assert transaction.step(Event.FAILURE, 1.6) == ()
        assert transaction.due() == 33.0

    def test_an_unreachable_address_ends_it_at_once_but_not_after_an_answer(self) -> None:
        assert in_state(Kind.INVITE_CLIENT).step(Event.UNREACHABLE, 0.1) == (Action.UNREACHABLE,)
        assert in_state(Kind.INVITE_CLIENT, Event.PROVISIONAL).step(Event.UNREACHABLE, 0.1) == ()


class TestClient:
    def test_timer_e_grows_to_t2_and_timer_f_gives_up(self) -> None:
        seen = run(in_state(Kind.CLIENT), 100)
        assert times(seen, Action.SEND) == [0.5, 1.5, 3.5, 7.5, 11.5, 15.5, 19.5, 23.5, 27.5, 31.5]
        assert times(seen, Action.TIMED_OUT) == [32.0]

    def test_a_provisional_answer_slows_it_to_t2_and_timer_f_goes_on(self) -> None:
        transaction = in_state(Kind.CLIENT)
        transaction.step(Event.PROVISIONAL, 1.0)
        seen = run(transaction, 100)
        assert times(seen, Action.SEND) == [5.0, 9.0, 13.0, 17.0, 21.0, 25.0, 29.0]
        assert times(seen, Action.TIMED_OUT) == [32.0]

    def test_a_repeated_answer_is_swallowed_for_t4(self) -> None:
        transaction = in_state(Kind.CLIENT)
        assert transaction.step(Event.SUCCESS, 1.0) == (Action.DELIVER,)
        assert transaction.step(Event.SUCCESS, 2.0) == ()
        assert transaction.due() == 6.0


class TestInviteServer:
    def test_a_2xx_is_sent_again_until_its_ack(self) -> None:
        transaction = in_state(Kind.INVITE_SERVER)
        assert transaction.step(Event.SUCCESS, 0.0) == (Action.SEND,)
        assert times(run(transaction, 8.0), Action.SEND) == [0.5, 1.5, 3.5, 7.5]
        assert transaction.step(Event.ACK, 8.0) == (Action.DELIVER,)
        assert transaction.step(Event.ACK, 8.1) == ()
        assert transaction.due() == 13.0

    def test_a_failure_nobody_acknowledges_is_given_up(self) -> None:
        seen = run(in_state(Kind.INVITE_SERVER, Event.FAILURE), 100)
        assert times(seen, Action.TIMED_OUT) == [32.0]
        assert times(seen, Action.SEND)[-1] == 31.5

    def test_a_repeated_invite_gets_the_last_answer_again(self) -> None:
        assert in_state(Kind.INVITE_SERVER, Event.PROVISIONAL).step(Event.REQUEST, 0.2) == (Action.SEND,)

    def test_the_ack_of_a_failure_is_nobody_elses_business(self) -> None:
        assert in_state(Kind.INVITE_SERVER, Event.FAILURE).step(Event.ACK, 0.2) == ()


class TestServer:
    def test_the_answer_is_repeated_for_repeated_requests_only(self) -> None:
        transaction = in_state(Kind.SERVER)
        assert transaction.step(Event.REQUEST, 0.0) == ()
        assert transaction.step(Event.SUCCESS, 0.1) == (Action.SEND,)
        assert transaction.step(Event.REQUEST, 0.6) == (Action.SEND,)
        assert run(transaction, 100) == []
        assert transaction.state is State.TERMINATED


@pytest.mark.parametrize("kind", list(Kind))
def test_every_state_of_the_table_can_be_left(kind: Kind) -> None:
    states = [state for owner, state in TABLE if owner is kind]
    for state in states:
        targets = {target for target, _ in TABLE[kind, state].values()}
        assert targets - {state}, state
        assert targets <= {*states, State.TERMINATED}
