"""The tools of one call: which calls of its model are run, when, and what becomes of their results.

What changes something is run only once the turn that wants it is released. What has been begun goes on when that turn
is interrupted: its result is remembered, and given, not made anew, when the model asks for the same again.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from gpu_workers.client import Message, ToolCall
from stasis_app.history import History, ToolUse
from stasis_app.tools.confirming import asked_about, confirmed
from stasis_app.tools.hourly import Hourly
from stasis_app.tools.http import HttpRequests, ToolRequestError
from stasis_app.tools.offered import offered
from stasis_app.tools.request import again, error, shown
from stasis_app.tools.settings import TARGET, TRANSFER, Target, Tools
from stasis_app.tools.wanted import Ask, EndCall, NotOfferedError, PutThrough, Wanted, wanted

if TYPE_CHECKING:
    from stasis_app.metrics import Metrics
    from stasis_app.turn import Turn

log = logging.getLogger(__name__)

_MOST_AT_ONCE: Final = 4  # the others are passed over: a model that misses them calls again
_UNKNOWN: Final = "unknown"
_NOT_ALONE: Final = "this ends the talk: call it alone, when everything else is done"
_NOBODY_THERE: Final = "nobody can be reached there now: tell the caller"
_TOO_MANY: Final = "nobody else can be put through at the moment: tell the caller"
_NO_ANSWER: Final = "no answer could be had: tell the caller that it does not work at the moment"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What calls came to: messages that tell the model, or a way out of the talk, or a question to the caller first.

    `wrong`: one of them was not as it is offered.
    """

    told: tuple[Message, ...] = ()
    leave: PutThrough | EndCall | None = None
    ask: str = ""
    wrong: bool = False


@dataclass(slots=True)
class _Run:
    id: str
    asked: Ask
    turn: "Turn"
    result: asyncio.Task[str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Outside:
    """What tools reach beyond their call. `is_there`: whether the dialplan has a target for this caller."""

    requests: HttpRequests
    transfers: Hourly
    is_there: Callable[[str, Target], Awaitable[bool]]


class Toolbox:
    def __init__(
        self,
        call_id: str,
        tools: Tools,
        history: History,
        outside: Outside,
        metrics: "Metrics",
    ) -> None:
        self._call_id = call_id
        self._tools = tools
        self._history = history
        self._outside = outside
        self._metrics = metrics
        self.offered: Sequence[Mapping[str, Any]] = offered(tools)
        self._runs: dict[tuple[str, str], _Run] = {}
        self._count = 0
        self._now = asyncio.get_running_loop().time

    # --- what the turns of the call do with it ---

    def agreed(self, turn: "Turn") -> list[ToolCall]:
        """The transfer that the caller's words agree to, if the bot has asked about one: no model is needed for it."""
        target = self._confirmed(turn)
        if target is None:
            return []
        return [ToolCall("", TRANSFER, json.dumps({TARGET: target}))]

    async def run(self, turn: "Turn", calls: Sequence[ToolCall], said: str) -> Outcome:
        """Run what may be run; `said` is what the model wrote before these calls. Raises nothing."""
        asked = [(self._numbered(call), self._judged(call)) for call in calls[:_MOST_AT_ONCE]]
        first = asked[0][1]
        refusal = _NOT_ALONE
        if len(calls) == 1 and isinstance(first, PutThrough | EndCall):
            outcome = await self._leave(turn, first, said)
            if isinstance(outcome, Outcome):
                return outcome
            refusal = outcome
        turn.advanced = self._now()
        for call, one in asked:
            if isinstance(one, Ask) and one.request.reads:
                self._run_of(turn, call.id, one)
        told = [Message("assistant", said, tuple(call for call, _ in asked))]
        for call, one in asked:
            result = await self._result(turn, call.id, one) if isinstance(one, Ask) else None
            told.append(Message("tool", result or _refused(one, refusal), tool_call_id=call.id))
            turn.advanced = self._now()  # the next one is waited for anew
        return Outcome(tuple(told), wrong=any(isinstance(one, NotOfferedError) for _, one in asked))

    def forget(self, turn: int) -> None:
        """The turn has come to its end: a transfer it had in mind and that did not happen counts for nothing."""
        self._outside.transfers.let_go((self._call_id, turn))

    def has_put_through(self, turn: int) -> None:
        """The turn's transfer is what the talk ends with: it is one of this hour's, whatever comes of it."""
        self._outside.transfers.done((self._call_id, turn), self._now())

    def answered(self) -> None:
        """An answer was heard to its end: results it could use are not handed out again."""
        self._runs = {key: run for key, run in self._runs.items() if not run.result.done()}

    def stop(self) -> None:
        """The call is over. What changes something is brought to its end all the same."""
        for run in self._runs.values():
            if run.asked.request.reads:
                run.result.cancel()

    # --- judging ---

    def _numbered(self, call: ToolCall) -> ToolCall:
        """The call as it is shown to the model again: with a number of ours, a known name and JSON for arguments."""
        self._count += 1
        name = call.name if call.name in self._tools.names() else _UNKNOWN
        try:
            given = json.loads(call.arguments, parse_constant=_no_json)
            arguments = call.arguments if isinstance(given, dict) else "{}"
        except (ValueError, RecursionError):
            arguments = "{}"  # servers insist on JSON here
        # nine letters and digits: some models' templates want exactly that
        return ToolCall(f"call{self._count:05d}", name, arguments)

    def _judged(self, call: ToolCall) -> Wanted | NotOfferedError:
        log.debug("call %s: the model calls %r %r", self._call_id, call.name, call.arguments)
        try:
            return wanted(call.name, call.arguments, self._tools)
        except NotOfferedError as wrong:
            log.info("call %s: a call of the model was refused: %s", self._call_id, self._named(call.name))
            self._counted(self._named(call.name), "refused")
            return wrong

    def _named(self, name: str) -> str:
        return name if name in self._tools.names() else _UNKNOWN

    def _counted(self, name: str, outcome: str) -> None:
        self._metrics.tools.labels(name, outcome).inc()

    # --- leaving the talk ---

    def _confirmed(self, turn: "Turn") -> str | None:
        transfer = self._tools.transfer
        if transfer is None or not transfer.confirm or not turn.caller_text:
            return None
        heard = self._history.answered_with(turn.caller_text)
        return confirmed(transfer, heard, turn.caller_text, turn.language)

    async def _leave(self, turn: "Turn", leave: PutThrough | EndCall, said: str) -> Outcome | str:
        """The words for the model where it is not possible."""
        await turn.until_released()
        transfer = self._tools.transfer
        if isinstance(leave, EndCall) or transfer is None:
            return Outcome(leave=leave)
        if transfer.confirm and self._confirmed(turn) != leave.target:
            self._counted(TRANSFER, "asked")
            asked = asked_about(transfer, said, turn.language)
            return Outcome(ask="" if asked == leave.target else transfer.asks(leave.target))
        key = (self._call_id, turn.number)
        if not self._outside.transfers.hold(key, transfer.per_hour, self._now()):
            log.warning(
                "call %s: not put through: tools.transfer.per_hour (%d) is used up",
                self._call_id,
                transfer.per_hour,
            )
            self._counted(TRANSFER, "limited")
            return _TOO_MANY
        if not await self._outside.is_there(leave.target, transfer.targets[leave.target]):
            self._outside.transfers.let_go(key)
            self._counted(TRANSFER, "failed")
            return _NOBODY_THERE
        return Outcome(leave=leave)

    # --- requests ---

    async def _result(self, turn: "Turn", use_id: str, asked: Ask) -> str:
        if not asked.request.reads:
            await turn.until_released()
        run = self._run_of(turn, use_id, asked)
        # the turn may be ended while it waits; what it began goes on
        await asyncio.wait({run.result})
        if run.result.cancelled():
            return error(_NO_ANSWER)
        result = run.result.result()
        if run.id == use_id or run.turn is turn:
            return result
        return again(result, None if run.asked.key == asked.key else run.asked.arguments)

    def _run_of(self, turn: "Turn", use_id: str, asked: Ask) -> _Run:
        """The run of this call, or that of the same call before it which no answer has used yet.

        What changes something and is not done yet stands for every call of its tool: a model that is asked again
        writes the same wish in other words.
        """
        run = self._runs.get(asked.key) or self._unfinished(asked)
        if run is None:
            result = self._outside.requests.begin(self._send(asked))
            run = self._runs[asked.key] = _Run(use_id, asked, turn, result)
            result.add_done_callback(lambda _: self._remember(run))
        elif run.turn is not turn and not run.turn.released:
            # begun for words that were not the last: whoever asks now is given it as its own
            run.turn = turn
            self._remember(run)
        return run

    def _unfinished(self, asked: Ask) -> _Run | None:
        if asked.request.reads:
            return None
        same = (run for run in self._runs.values() if run.asked.name == asked.name)
        return next((run for run in same if not run.result.done()), None)

    def _remember(self, run: _Run) -> None:
        if not run.result.done() or run.result.cancelled() or run.result.exception():
            return  # a defect is told by whoever waits for the result
        use = ToolUse(run.id, run.asked.name, run.asked.written, run.result.result())
        run.turn.uses.append(use)
        run.turn.remember_caller(self._history)

    async def _send(self, asked: Ask) -> str:
        began = self._now()
        try:
            answered = await self._outside.requests.send(asked.request, asked.arguments)
        except NotOfferedError as wrong:
            outcome, why, result = "refused", "", error(str(wrong))
        except ToolRequestError as failed:
            outcome, why, result = "late" if failed.late else "failed", f": {failed}", error(_NO_ANSWER)
        else:
            outcome, why = "ok" if answered.ok else "failed", f": status {answered.status}"
            result = shown(answered, asked.request.max_answer_chars)
        self._counted(asked.name, outcome)
        level = logging.INFO if outcome == "ok" else logging.WARNING
        took_ms = round((self._now() - began) * 1000)
        log.log(level, "call %s: tool %s %s after %d ms%s", self._call_id, asked.name, outcome, took_ms, why)
        return result


def _refused(one: Wanted | NotOfferedError, refusal: str) -> str:
    return error(str(one) if isinstance(one, NotOfferedError) else refusal)


def _no_json(constant: str) -> None:
    """NaN and the infinities, which Python reads and nobody else."""
    raise ValueError(constant)
