"""Speech in pieces, judged late and in any order, over turns with passages: what was said and meant is answered, the
bot is never left silent with nobody judging, and a passage that has begun is heard whole.

The call around the machine is played here by a few lines: its endpoint, judges, turns, playout and timers.
"""

import random
from dataclasses import dataclass, field
from enum import Enum, auto

from hypothesis import given, settings
from hypothesis import strategies as st

from media_bridge.events import Utterance
from stasis_app import conversation as talk
from stasis_app.conversation import SOUNDING, Phase, Saying, State, step
from stasis_app.passages import is_of_speech, over_passage


class Do(Enum):
    """What may happen next."""

    SPEAK = auto()
    PAUSE = auto()
    END = auto()
    MEANT_FIRST = auto()  # a verdict comes: on what has been asked about first, or last
    MEANT_LAST = auto()
    NOT_MEANT_FIRST = auto()
    NOT_MEANT_LAST = auto()
    WAIT = auto()  # until speech over the bot has lasted
    ONGOING_MEANT = auto()
    ONGOING_NOT_MEANT = auto()
    MAKE = auto()  # a chunk of the bot's turn: plain, a passage, or the two halves of one
    MAKE_PASSAGE = auto()
    MAKE_HALF = auto()
    MAKE_ALL = auto()
    PLAY = auto()  # one chunk begins, or ends
    FAIL = auto()
    KEY = auto()
    KEYED = auto()


class Chunk(Enum):
    PLAIN = auto()
    PASSAGE = auto()
    HEAD = auto()
    TAIL = auto()


@dataclass
class Playout:
    """Of the released turn."""

    queue: list[Chunk] = field(default_factory=list)
    playing: Chunk | None = None
    last: Chunk | None = None
    begun: bool = False
    closed: bool = False
    paused: bool = False

    @property
    def in_passage(self) -> bool:
        """Something that has begun must not be cut short."""
        if self.playing is None:
            return self.last is Chunk.HEAD
        return self.playing is not Chunk.PLAIN

    @property
    def at_passage(self) -> bool:
        """The same, or about to begin."""
        nearest = self.playing or next(iter(self.queue), Chunk.PLAIN)
        return self.in_passage or nearest is not Chunk.PLAIN


@dataclass
class Turn:
    utterances: dict[int, Utterance]
    released: bool = False
    read: bool = False


class Call:
    def __init__(self) -> None:
        self.state = State()
        self.playout = Playout()
        self.turns: dict[int, Turn] = {}
        self.unanswered: dict[int, Utterance] = {}
        self.answered: dict[int, Utterance] = {}
        self.asked: list[talk.Judge] = []
        self.ongoing: talk.JudgeOngoing | None = None
        self.watching: int | None = None
        self.reciting: int | None = None
        self.keyed = False
        self.clock = 0.0
        self.speech: Utterance | None = None  # the newest piece of what is being said
        self.speaking = False
        self.said = 0
        self.refused: list[Utterance] = []
        self.newest: dict[int, Utterance] = {}
        self.wanted: dict[int, Utterance] = {}  # what has to be answered in the end
        self.post(talk.MediaReady())

    # --- what happens

    def can(self, one: Do) -> bool:
        match one:
            case Do.SPEAK | Do.PAUSE:
                return self.speaking is (one is Do.PAUSE)
            case Do.END:
                return self.speech is not None and not self.speaking
            case Do.MEANT_FIRST | Do.NOT_MEANT_FIRST:
                return bool(self.asked)
            case Do.MEANT_LAST | Do.NOT_MEANT_LAST:
                return len(self.asked) > 1
            case Do.WAIT:
                return self.watching is not None
            case Do.ONGOING_MEANT | Do.ONGOING_NOT_MEANT:
                return self.ongoing is not None
            case Do.PLAY:
                return self.live and not self.playout.paused
            case Do.FAIL:
                return self.live
            case Do.KEY:
                return not self.passage_left
            case Do.KEYED:
                return self.keyed and not self.passage_left
            case _:
                return self.live and not self.playout.closed

    def do(self, one: Do) -> None:
        if not self.can(one):
            return
        self.clock += 1.0
        match one:
            case Do.SPEAK | Do.PAUSE | Do.END:
                self.speak(one)
            case Do.MEANT_FIRST | Do.NOT_MEANT_FIRST:
                self.judge(self.asked.pop(0), meant=one is Do.MEANT_FIRST)
            case Do.MEANT_LAST | Do.NOT_MEANT_LAST:
                self.judge(self.asked.pop(), meant=one is Do.MEANT_LAST)
            case Do.WAIT if self.watching is not None:
                turn, self.watching = self.watching, None
                self.post(talk.InterruptionLasts(turn))
            case Do.ONGOING_MEANT | Do.ONGOING_NOT_MEANT if self.ongoing:
                turn, self.ongoing = self.ongoing.turn, None
                self.post(talk.OngoingJudged(turn, meant=one is Do.ONGOING_MEANT))
            case Do.PLAY:
                self.play()
            case Do.FAIL:
                self.post(talk.TurnFailed(self.state.turn))
            case Do.KEY:
                self.keyed = True
                self.post(talk.DigitPressed())
            case Do.KEYED:
                self.keyed = False
                self.post(talk.DigitsEntered("1"))
            case _:
                self.make(one)
        self.check()

    def speak(self, one: Do) -> None:
        self.speaking = one is Do.SPEAK
        if self.speech is None:
            self.said += 1
            self.speech = Utterance(self.said, b"", self.clock, self.clock, 500)
            self.post(talk.SpeechStarted())
        elif one is Do.SPEAK:
            self.post(talk.SpeechResumed())
        elif one is Do.PAUSE:
            self.speech = Utterance(self.said, b"", self.speech.started, self.clock, 500)
            self.newest[self.said] = self.speech
            self.post(talk.SpeechPaused(self.speech))
        else:
            ended, self.speech = self.speech, None
            if self.state.phase is Phase.HEARING and ended not in self.refused:
                self.wanted[ended.number] = ended
            self.post(talk.SpeechEnded(ended))

    def judge(self, asked: talk.Judge, meant: bool) -> None:
        if meant and self.newest[asked.utterance.number] == asked.utterance:
            self.wanted[asked.utterance.number] = asked.utterance
        if not meant:
            self.refused.append(asked.utterance)
        self.post(talk.InterruptionJudged(asked.turn, asked.utterance, meant))

    def make(self, one: Do) -> None:
        playout = self.playout
        self.turns[self.state.turn].read = True
        newest = playout.queue[-1] if playout.queue else playout.playing or playout.last
        if newest is Chunk.HEAD:
            playout.queue.append(Chunk.TAIL)
        elif one is not Do.MAKE_ALL:
            made = {Do.MAKE: Chunk.PLAIN, Do.MAKE_PASSAGE: Chunk.PASSAGE, Do.MAKE_HALF: Chunk.HEAD}
            playout.queue.append(made[one])
        playout.closed = one is Do.MAKE_ALL and bool(playout.queue or playout.begun)

    def play(self) -> None:
        playout, turn = self.playout, self.state.turn
        if playout.playing:
            playout.last, playout.playing = playout.playing, None
        elif playout.queue:
            playout.playing = playout.queue.pop(0)
            if not playout.begun:
                playout.begun = True
                self.post(talk.PlayoutStarted(turn))
        elif playout.closed:
            playout.last = None
            self.post(talk.PlayoutFinished(turn))
        if self.reciting is not None and not self.passage_left:
            turn, self.reciting = self.reciting, None
            self.post(talk.PassageEnded(turn))

    # --- the call

    @property
    def live(self) -> bool:
        return self.state.turn in self.turns and self.turns[self.state.turn].released

    @property
    def passage_left(self) -> bool:
        return self.state.phase in SOUNDING and self.playout.at_passage

    def post(self, event: talk.Event) -> None:
        told: tuple[talk.Event, ...] = (event,)
        if is_of_speech(event) and self.passage_left:
            told = over_passage(event, self.state.phase)
        for one in told:
            self.state, commands = step(self.state, one)
            for command in commands:
                self.obey(command, one)

    def obey(self, command: talk.Command, event: talk.Event) -> None:
        match command:
            case talk.Say(turn=turn):
                self.turns[turn] = Turn({}, released=True, read=True)
                self.playout = Playout([Chunk.PLAIN], closed=True)
                if command.saying is Saying.GREETING:
                    self.playout.queue.insert(0, Chunk.PASSAGE)
            case talk.Prepare(turn=turn, utterance=utterance):
                self.turns[turn] = Turn({**self.unanswered, utterance.number: utterance})
            case talk.Release(turn=turn):
                self.turns[turn].released = True
                self.playout = Playout()
                self.answered |= self.turns[turn].utterances
            case talk.AnswerDigits(turn=turn):
                self.turns[turn] = Turn({**self.unanswered}, released=True)
                self.playout = Playout()
                self.answered |= self.unanswered
            case talk.Keep(utterance=utterance):
                self.unanswered[utterance.number] = utterance
            case talk.Discard(turn=turn):
                self.turns.pop(turn, None)
            case talk.Cancel(turn=turn):
                assert isinstance(event, talk.TurnFailed) or not self.playout.in_passage, "cut short"
                self.playout = Playout()
                self.end(turn)
            case talk.Remember(turn=turn):
                self.end(turn)
            case _:
                self.obey_aside(command)

    def obey_aside(self, command: talk.Command) -> None:
        match command:
            case talk.PausePlayout():
                assert not self.playout.in_passage, "interrupted"
                self.playout.paused = True
            case talk.ResumePlayout():
                self.playout.paused = False
            case talk.Judge():
                self.ongoing = None
                self.asked.append(command)
                self.wanted.pop(command.utterance.number, None)  # judged once more
            case talk.JudgeOngoing(turn=turn):
                if self.passage_left:
                    self.watching = turn
                else:
                    self.ongoing = command if self.speaking else None
            case talk.WatchInterruption(turn=turn):
                self.watching = turn
            case talk.WatchPassage(turn=turn):
                self.reciting = turn

    def end(self, number: int) -> None:
        turn = self.turns.pop(number, None)
        if turn is None:
            return
        if turn.released and not turn.read:
            self.unanswered |= turn.utterances
            for heard in turn.utterances:
                self.answered.pop(heard, None)
        else:
            for heard in turn.utterances:
                self.unanswered.pop(heard, None)

    # --- what always holds

    def check(self) -> None:
        phase = self.state.phase
        asked = [one.utterance for one in self.asked if one.turn == self.state.turn]
        if phase in (Phase.JUDGING, Phase.JUDGING_LATE):
            assert self.state.unjudged and set(self.state.unjudged) <= set(asked), "nobody judges"
        elif phase is Phase.CHECKING:
            listens = self.watching is not None or self.ongoing is not None
            heard = not self.speaking or listens or (self.state.lasts and asked)
            assert heard and self.speech is not None, "nobody listens"
        else:
            assert not self.playout.paused, "paused for nothing"
        if phase in (Phase.THINKING, Phase.SPEAKING, Phase.LISTENING, Phase.HEARING, Phase.KEYING):
            assert not self.state.unjudged

    def come_to_rest(self, last: Do) -> None:
        """Nobody says anything more, and all that was begun comes to its end."""
        for one in (Do.PAUSE, Do.END, Do.KEYED):
            self.do(one)
        for _ in range(60):
            for one in (last, Do.MAKE, Do.MAKE_ALL, Do.MAKE_ALL, Do.PLAY, Do.KEYED):
                self.do(one)


_TROUBLE = [Do.FAIL, Do.KEY, Do.KEYED]
_SPEECH = [one for one in Do if one not in _TROUBLE]
_STEPS = 150
walk = st.integers(0, 2**32)
verdict = st.sampled_from([Do.MEANT_FIRST, Do.NOT_MEANT_FIRST])


def at_rest_after(walk: int, happens: list[Do], last: Do) -> Call:
    """Many steps at random among those that are possible: what goes wrong takes ten in the right order."""
    call, choose = Call(), random.Random(walk)
    for _ in range(_STEPS):
        call.do(choose.choice([one for one in happens if call.can(one)]))
    call.come_to_rest(last)
    assert call.state.phase in {Phase.LISTENING, Phase.ENDED}
    return call


def has_it_all(call: Call, there: dict[int, Utterance]) -> None:
    for number, utterance in call.wanted.items():
        assert number in there, "lost"
        assert there[number].ended >= utterance.ended, "only its beginning"


@given(walk, verdict)
@settings(max_examples=400)
def test_what_was_meant_is_answered_and_the_bot_is_never_left_silent(walk: int, last: Do) -> None:
    call = at_rest_after(walk, _SPEECH, last)
    has_it_all(call, call.answered)


@given(walk, verdict)
@settings(max_examples=200)
def test_with_keys_and_failures_it_is_at_least_kept_for_the_next_answer(walk: int, last: Do) -> None:
    call = at_rest_after(walk, [*_SPEECH, *_SPEECH, *_SPEECH, *_TROUBLE], last)
    has_it_all(call, call.answered | call.unanswered)
