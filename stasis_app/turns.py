"""The turns of one call that are being made or heard, and what is kept of them."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace

from media_bridge.events import Utterance
from media_bridge.heard import Heard
from stasis_app.answering import answer, say_phrases
from stasis_app.conversation import Saying, TurnFailed
from stasis_app.expecting import expecting, keyed_text
from stasis_app.transcript import Transcript
from stasis_app.turn import Parts, Turn
from stasis_app.unspoken import left_out, with_gaps

# begun by the turn's task: one that is stopped before its first step leaves nothing that was never awaited
Work = Callable[[], Coroutine[None, None, None]]

log = logging.getLogger(__name__)


class Turns:
    """Each turn is one task of `group`, from its beginning to `stop`, `cancel` or `remember`."""

    def __init__(self, parts: Parts, transcript: Transcript, group: asyncio.TaskGroup) -> None:
        self._parts = parts
        self._transcript = transcript
        self._group = group
        self._live: dict[int, tuple[Turn, asyncio.Task[None]]] = {}
        self._unanswered: dict[int, Utterance] = {}
        self._keyed = ""  # what was entered on the phone's keys and not answered, as the model is told
        self._clock = asyncio.get_running_loop().time

    def say(self, number: int, saying: Saying, texts: Sequence[str]) -> None:
        """Begin a turn that speaks ready phrases."""
        self._parts.media.start_turn(number)
        turn = Turn(number, saying)
        self._start(turn, lambda: say_phrases(turn, texts, self._parts))

    def prepare(self, number: int, utterance: Utterance) -> None:
        """Begin to answer, together with what was released before and never understood."""
        utterances = {**self._unanswered, utterance.number: utterance}
        turn = Turn(number, Saying.ANSWER, _in_order(utterances), self._keyed)
        self._start(turn, lambda: answer(turn, self._parts, self._clock))

    def release(self, number: int, utterance: Utterance) -> None:
        """The caller has finished: a prepared turn may be heard and remembered."""
        self._parts.media.start_turn(number)
        self._live[number][0].release(utterance.ended, self._clock(), self._parts.history)

    def answer_digits(self, number: int, digits: str) -> None:
        """Begin to answer what was entered, together with what was said before and never understood."""
        self.keep_digits(digits)
        self._parts.media.start_turn(number)
        turn = Turn(number, Saying.ANSWER, _in_order(self._unanswered), self._keyed)
        turn.release(self._clock(), self._clock(), self._parts.history)
        self._start(turn, lambda: answer(turn, self._parts, self._clock))

    def keep_digits(self, digits: str) -> None:
        """These belong to the next answer."""
        history, profile = self._parts.history, self._parts.profile
        text = keyed_text(digits, expecting(history, profile), profile.language)
        self._keyed = f"{self._keyed} {text}".strip()

    def sound_left_s(self) -> float:
        """Until all that was made will have been heard; below 0 when that is over, or nothing was made."""
        return max((turn.sound_until for turn, _ in self._live.values()), default=0.0) - self._clock()

    def keep(self, utterance: Utterance) -> None:
        """Its words belong to the next answer."""
        self._unanswered[utterance.number] = utterance

    async def stop(self, number: int) -> Turn | None:
        """End the turn's task and wait for that; nothing of the turn is remembered."""
        turn, task = self._live.get(number, (None, None))
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))
            # not before: a call that is ended while it waits here still has to write the turn down
            del self._live[number]
        self._parts.tools.forget(number)
        return turn

    async def end(self) -> None:
        """The call ends with them, whatever ends it: what was heard is remembered."""
        for number, (turn, _) in list(self._live.items()):
            await (self.cancel(number) if turn.released else self.stop(number))

    async def cancel(self, number: int) -> None:
        """Silence at the next tick, then stop the turn and remember what was heard of it."""
        media = self._parts.media
        heard = media.flush()
        media.resume()
        turn = await self.stop(number)
        if turn is None:
            return
        if turn.released and turn.caller_text is None:
            self._unanswered.update({utterance.number: utterance for utterance in turn.utterances})
        else:
            self._settle(turn)
        self._write_down(turn, heard, "cut")

    async def remember(self, number: int) -> None:
        """The turn was played to its end."""
        turn = await self.stop(number)
        if turn is None:
            return
        self._settle(turn)
        if turn.saying is Saying.ANSWER:
            self._parts.tools.answered()
        # a turn that leaves the talk has all its words heard and never comes to its end
        self._write_down(turn, replace(self._parts.media.heard(), finished=True), "played")

    def _settle(self, turn: Turn) -> None:
        """What the turn was an answer to has been understood."""
        for utterance in turn.utterances:
            self._unanswered.pop(utterance.number, None)
        self._keyed = self._keyed.removeprefix(turn.keyed).strip()

    def _start(self, turn: Turn, work: Work) -> None:
        self._live[turn.number] = (turn, self._group.create_task(self._fence(turn, work)))

    async def _fence(self, turn: Turn, work: Work) -> None:
        """A defect in a turn costs that turn, not the call."""
        try:
            await work()
        except Exception:  # the turn fence
            log.exception("call %s: turn %d ended by a defect", self._parts.call_id, turn.number)
            self._parts.metrics.defects.labels("turn").inc()
            self._parts.post(TurnFailed(turn.number))

    def _write_down(self, turn: Turn, heard: Heard, end: str) -> None:
        text, cut = with_gaps(heard, turn.broken) if heard.turn == turn.number else ("", True)
        if not text and not turn.caller_text:
            return  # noise, or a phrase nobody heard: nothing was said
        parts = self._parts
        turn.times.first_packet = parts.media.first_packet_at(turn.number)
        parts.history.bot_said(text, cut=cut)
        parts.metrics.turns.labels(turn.saying.name.lower(), end).inc()
        if turn.saying is Saying.ANSWER:
            parts.metrics.observe(turn.times)
            stages = " ".join(f"{name}={ms}" for name, ms in turn.times.since_speech_end_ms().items())
            log.info(
                "call %s turn %d %s, ms after the caller's last sound: %s",
                parts.call_id,
                turn.number,
                end,
                stages,
            )
        unspoken = left_out(heard) if heard.turn == turn.number else ()
        self._transcript.write(parts.call_id, turn, text, cut=cut, unspoken=unspoken)


def _in_order(utterances: Mapping[int, Utterance]) -> tuple[Utterance, ...]:
    """As they were said: what was kept may have been said before what a stopped turn gives back."""
    return tuple(utterances[number] for number in sorted(utterances))
