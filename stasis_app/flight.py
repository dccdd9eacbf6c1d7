"""What a call's conversation was told and what it decided, as lines of text, and the same talk once more. Pure.

A flight is a head and one line a step:

    {"flight": 1, "call": "5f0c2a91", "state": {"max_prompts": 2}}
    {"t": 1.52, "event": {"SpeechStarted": {}}, "phase": "HEARING", "commands": []}

Sound stands for itself: of an utterance its number, times and length are kept.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, get_args

from media_bridge.events import Utterance
from stasis_app.conversation import Command, Event, State, step

VERSION = 1
_EVENTS: Mapping[str, type] = {kind.__name__: kind for kind in get_args(Event)}


class FlightError(Exception):
    """A file is no flight, or not of this version."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """One step of a replay. `recorded` is what the call did then, `now` what this version does: (phase, commands)."""

    t: float
    event: str
    recorded: tuple[str, tuple[str, ...]]
    now: tuple[str, tuple[str, ...]]

    @property
    def same(self) -> bool:
        return self.recorded == self.now


def head_line(call_id: str, state: State) -> str:
    return json.dumps({"flight": VERSION, "call": call_id, "state": {"max_prompts": state.max_prompts}})


def step_line(t: float, event: Event, state: State, commands: Iterable[Command]) -> str:
    """`t`: seconds since the call began; `state` and `commands`: what the step gave."""
    said = {
        "t": round(t, 3),
        "event": _plain(event),
        "phase": state.phase.name,
        "commands": [_plain(command) for command in commands],
    }
    return json.dumps(said, ensure_ascii=False)


def replay(lines: Iterable[str]) -> Iterator[Replayed]:
    """Run the conversation on what the recorded one was told, each step at its own time.

    Raises FlightError, and nothing else, for what is no flight.
    """
    numbered = enumerate(lines, start=1)
    state = _begin(next(numbered, (1, ""))[1])
    for number, line in numbered:
        try:
            t, name, event, recorded = _step(_object(line, number))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FlightError(f"line {number} is no step of a flight") from error
        state, commands = step(state, event)
        now = state.phase.name, tuple(json.dumps(_plain(command)) for command in commands)
        yield Replayed(t, name, recorded, now)


def _step(said: Mapping[str, Any]) -> tuple[float, str, Event, tuple[str, tuple[str, ...]]]:
    ((name, given),) = said["event"].items()
    recorded = str(said["phase"]), tuple(json.dumps(command) for command in said["commands"])
    return float(said["t"]), name, _event(name, given), recorded


def _begin(line: str) -> State:
    head = _object(line, 1)
    if head.get("flight") != VERSION:
        raise FlightError(f"no flight of version {VERSION}: its first line must say so")
    known = head.get("state")
    prompts = known.get("max_prompts") if isinstance(known, dict) else None
    if not isinstance(prompts, int):
        raise FlightError("line 1 is no head of a flight")
    return State(max_prompts=prompts)


def _object(line: str, number: int) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FlightError(f"line {number} is not JSON") from error
    if not isinstance(said, dict):
        raise FlightError(f"line {number} is no object")
    return said


def _event(name: str, given: Mapping[str, object]) -> Event:
    known = {key: _utterance(value) if key == "utterance" else value for key, value in given.items()}
    event: Event = _EVENTS[name](**known)
    return event


def _utterance(given: object) -> Utterance:
    if not isinstance(given, dict):
        raise TypeError("no utterance")
    return Utterance(pcm=b"", **given)


def _plain(one: Event | Command) -> dict[str, dict[str, object]]:
    return {type(one).__name__: {field.name: _value(getattr(one, field.name)) for field in fields(one)}}


def _value(value: object) -> object:
    if isinstance(value, Utterance):
        return {field.name: getattr(value, field.name) for field in fields(value) if field.name != "pcm"}
    return value.name if isinstance(value, Enum) else value
