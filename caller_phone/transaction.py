"""The four transaction machines of SIP over UDP, as one table (RFC 3261 section 17, corrected by RFC 6026). Pure.

Everything about which message is sent again, for how long, and who is told lives here and nowhere else. A message or
timer with no entry in the table is discarded, as the RFC asks for stray ones.
"""

from dataclasses import dataclass, field
from enum import Enum, auto


class Kind(Enum):
    INVITE_CLIENT = auto()
    CLIENT = auto()
    INVITE_SERVER = auto()
    SERVER = auto()


class State(Enum):
    CALLING = auto()
    TRYING = auto()
    PROCEEDING = auto()
    COMPLETED = auto()
    ACCEPTED = auto()
    CONFIRMED = auto()
    TERMINATED = auto()


class Event(Enum):
    """What happens to a transaction. For a server the three answers are our own, for a client the peer's."""

    PROVISIONAL = auto()
    SUCCESS = auto()
    FAILURE = auto()
    REQUEST = auto()
    """A retransmission of the request (server)."""
    ACK = auto()
    UNREACHABLE = auto()
    """The network says that nobody listens there."""
    RESEND = auto()
    """Timers A, E, G."""
    END = auto()
    """Timers B, D, F, H, I, J, K, L, M: the state's time is over."""


class Action(Enum):
    SEND = auto()
    """Send `message` (again)."""
    SEND_ACK = auto()
    """Send `ack`, once there is one."""
    DELIVER = auto()
    """Hand the answer to the caller of the transaction."""
    TIMED_OUT = auto()
    UNREACHABLE = auto()


@dataclass(frozen=True, slots=True)
class Timers:
    """The base values of RFC 3261 table 4, in seconds."""

    t1: float = 0.5
    t2: float = 4.0
    t4: float = 5.0

    @property
    def give_up_s(self) -> float:
        """64*T1: timers B, F, H, J, L and M."""
        return 64 * self.t1


class _Growth(Enum):
    """How the wait between two retransmissions grows."""

    DOUBLE = auto()
    DOUBLE_TO_T2 = auto()
    AT_T2 = auto()


class _Life(Enum):
    """How long a state lasts at most."""

    GIVE_UP = auto()
    GOES_ON = auto()
    """The time limit of the state before goes on (timer F in PROCEEDING)."""
    D = auto()
    T4 = auto()


_Step = tuple[State, tuple[Action, ...]]
_OVER = State.TERMINATED

TABLE: dict[tuple[Kind, State], dict[Event, _Step]] = {
    (Kind.INVITE_CLIENT, State.CALLING): {
        Event.RESEND: (State.CALLING, (Action.SEND,)),
        Event.END: (_OVER, (Action.TIMED_OUT,)),
        Event.UNREACHABLE: (_OVER, (Action.UNREACHABLE,)),
        Event.PROVISIONAL: (State.PROCEEDING, (Action.DELIVER,)),
        Event.SUCCESS: (State.ACCEPTED, (Action.DELIVER,)),
        Event.FAILURE: (State.COMPLETED, (Action.SEND_ACK, Action.DELIVER)),
    },
    (Kind.INVITE_CLIENT, State.PROCEEDING): {
        Event.PROVISIONAL: (State.PROCEEDING, (Action.DELIVER,)),
        Event.SUCCESS: (State.ACCEPTED, (Action.DELIVER,)),
        Event.FAILURE: (State.COMPLETED, (Action.SEND_ACK, Action.DELIVER)),
    },
    (Kind.INVITE_CLIENT, State.COMPLETED): {
        Event.FAILURE: (State.COMPLETED, (Action.SEND_ACK,)),
        Event.END: (_OVER, ()),
    },
    (Kind.INVITE_CLIENT, State.ACCEPTED): {
        Event.SUCCESS: (State.ACCEPTED, (Action.SEND_ACK,)),
        Event.END: (_OVER, ()),
    },
    (Kind.CLIENT, State.TRYING): {
        Event.RESEND: (State.TRYING, (Action.SEND,)),
        Event.END: (_OVER, (Action.TIMED_OUT,)),
        Event.UNREACHABLE: (_OVER, (Action.UNREACHABLE,)),
        Event.PROVISIONAL: (State.PROCEEDING, (Action.DELIVER,)),
        Event.SUCCESS: (State.COMPLETED, (Action.DELIVER,)),
        Event.FAILURE: (State.COMPLETED, (Action.DELIVER,)),
    },
    (Kind.CLIENT, State.PROCEEDING): {
        Event.RESEND: (State.PROCEEDING, (Action.SEND,)),
        Event.END: (_OVER, (Action.TIMED_OUT,)),
        Event.UNREACHABLE: (_OVER, (Action.UNREACHABLE,)),
        Event.PROVISIONAL: (State.PROCEEDING, (Action.DELIVER,)),
        Event.SUCCESS: (State.COMPLETED, (Action.DELIVER,)),
        Event.FAILURE: (State.COMPLETED, (Action.DELIVER,)),
    },
    (Kind.CLIENT, State.COMPLETED): {Event.END: (_OVER, ())},
    (Kind.INVITE_SERVER, State.PROCEEDING): {
        Event.REQUEST: (State.PROCEEDING, (Action.SEND,)),
        Event.PROVISIONAL: (State.PROCEEDING, (Action.SEND,)),
        Event.SUCCESS: (State.ACCEPTED, (Action.SEND,)),
        Event.FAILURE: (State.COMPLETED, (Action.SEND,)),
    },
    # The RFC lets the user agent core send a 2xx again until the ACK (section 13.3.1.4); the machine can as well.
    (Kind.INVITE_SERVER, State.ACCEPTED): {
        Event.REQUEST: (State.ACCEPTED, (Action.SEND,)),
        Event.RESEND: (State.ACCEPTED, (Action.SEND,)),
        Event.ACK: (State.CONFIRMED, (Action.DELIVER,)),
        Event.END: (_OVER, (Action.TIMED_OUT,)),
    },
    (Kind.INVITE_SERVER, State.COMPLETED): {
        Event.REQUEST: (State.COMPLETED, (Action.SEND,)),
        Event.RESEND: (State.COMPLETED, (Action.SEND,)),
        Event.ACK: (State.CONFIRMED, ()),
        Event.END: (_OVER, (Action.TIMED_OUT,)),
    },
    (Kind.INVITE_SERVER, State.CONFIRMED): {Event.END: (_OVER, ())},
    (Kind.SERVER, State.TRYING): {
        Event.PROVISIONAL: (State.PROCEEDING, (Action.SEND,)),
        Event.SUCCESS: (State.COMPLETED, (Action.SEND,)),
        Event.FAILURE: (State.COMPLETED, (Action.SEND,)),
    },
    (Kind.SERVER, State.PROCEEDING): {
        Event.REQUEST: (State.PROCEEDING, (Action.SEND,)),
        Event.PROVISIONAL: (State.PROCEEDING, (Action.SEND,)),
        Event.SUCCESS: (State.COMPLETED, (Action.SEND,)),
        Event.FAILURE: (State.COMPLETED, (Action.SEND,)),
    },
    (Kind.SERVER, State.COMPLETED): {
        Event.REQUEST: (State.COMPLETED, (Action.SEND,)),
        Event.END: (_OVER, ()),
    },
}

_FIRST = {
    Kind.INVITE_CLIENT: State.CALLING,
    Kind.CLIENT: State.TRYING,
    Kind.INVITE_SERVER: State.PROCEEDING,
    Kind.SERVER: State.TRYING,
}
_RESENDING = {
    (Kind.INVITE_CLIENT, State.CALLING): _Growth.DOUBLE,
    (Kind.CLIENT, State.TRYING): _Growth.DOUBLE_TO_T2,
    (Kind.CLIENT, State.PROCEEDING): _Growth.AT_T2,
    (Kind.INVITE_SERVER, State.ACCEPTED): _Growth.DOUBLE_TO_T2,
    (Kind.INVITE_SERVER, State.COMPLETED): _Growth.DOUBLE_TO_T2,
}
_LIVES = {
    (Kind.INVITE_CLIENT, State.CALLING): _Life.GIVE_UP,
    (Kind.INVITE_CLIENT, State.COMPLETED): _Life.D,
    (Kind.INVITE_CLIENT, State.ACCEPTED): _Life.GIVE_UP,
    (Kind.CLIENT, State.TRYING): _Life.GIVE_UP,
    (Kind.CLIENT, State.PROCEEDING): _Life.GOES_ON,
    (Kind.CLIENT, State.COMPLETED): _Life.T4,
    (Kind.INVITE_SERVER, State.ACCEPTED): _Life.GIVE_UP,
    (Kind.INVITE_SERVER, State.COMPLETED): _Life.GIVE_UP,
    (Kind.INVITE_SERVER, State.CONFIRMED): _Life.T4,
    (Kind.SERVER, State.COMPLETED): _Life.GIVE_UP,
}
# RFC 3261 section 17.1.1.2: timer D is at least 32 s for UDP, whatever T1 is; tests with a small T1 want it small.
_D_IN_T1 = 64


@dataclass(slots=True)
class Transaction:
    """One transaction. The owner sends what `step` and `expire` ask for and calls `expire` at `due()`.

    A client starts by sending `message` itself; a server sets `message` to each answer before the step.
    """

    kind: Kind
    timers: Timers
    now: float
    message: bytes = b""
    ack: bytes = b""
    state: State = field(init=False)
    _resend_at: float | None = field(init=False, default=None)
    _resend_wait: float = field(init=False, default=0.0)
    _end_at: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.state = _FIRST[self.kind]
        self._enter(self.now)

    def step(self, event: Event, now: float) -> tuple[Action, ...]:
        entry = TABLE.get((self.kind, self.state), {}).get(event)
        if entry is None:
            return ()
        before, (self.state, actions) = self.state, entry
        if self.state is not before:
            self._enter(now)
        return actions

    def due(self) -> float | None:
        """The instant at which `expire` has something to do; None when nothing runs."""
        waits = [at for at in (self._resend_at, self._end_at) if at is not None]
        return min(waits, default=None)

    def expire(self, now: float) -> tuple[Action, ...]:
        if self._end_at is not None and now >= self._end_at:
            self._end_at = None
            return self.step(Event.END, now)
        if self._resend_at is not None and now >= self._resend_at:
            self._grow()
            self._resend_at = now + self._resend_wait
            return self.step(Event.RESEND, now)
        return ()

    def _enter(self, now: float) -> None:
        key = (self.kind, self.state)
        growth = _RESENDING.get(key)
        self._resend_at = None
        if growth is not None:
            self._resend_wait = self.timers.t2 if growth is _Growth.AT_T2 else self.timers.t1
            self._resend_at = now + self._resend_wait
        life = _LIVES.get(key)
        if life is not _Life.GOES_ON:
            self._end_at = None if life is None else now + self._seconds(life)

    def _grow(self) -> None:
        growth = _RESENDING[self.kind, self.state]
        if growth is not _Growth.AT_T2:
            self._resend_wait *= 2
        if growth is _Growth.DOUBLE_TO_T2:
            self._resend_wait = min(self._resend_wait, self.timers.t2)

    def _seconds(self, life: _Life) -> float:
        if life is _Life.T4:
            return self.timers.t4
        return _D_IN_T1 * self.timers.t1 if life is _Life.D else self.timers.give_up_s
