"""What a call's conversation and ear were told and what they decided, as lines of text. Pure.

A flight is a head, one line for each step of the conversation and each thing the ear was told or said, and an end:

    {"flight": 2, "call": "5f0c2a91", "state": {"max_prompts": 2},
     "ear": {"rate": 8000, "endpoint": {...}, "voice": {...}}}
    {"ear": {"Started": {"sample": 12160}}}
    {"t": 1.52, "event": {"SpeechStarted": {}}, "phase": "HEARING", "commands": []}
    {"t": 31.2, "end": {"samples": 249600, "whole": true}}

Version 1 had no `ear` and no end. The sound itself is in the wav beside it: the caller left, the bot right, as media
heard and sent them.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from math import isfinite
from typing import Any, get_args, get_type_hints

from pydantic import ValidationError

from media_bridge.events import Utterance
from media_bridge.settings import EndpointSettings, MediaSettings, VoiceSettings
from stasis_app.conversation import Command, Event, State
from stasis_app.flight.ear_lines import EarLine, from_plain, plain

VERSION = 2
_WITHOUT_EAR = 1
RATES = (8000, 16_000)
_EVENTS: Mapping[str, type] = {kind.__name__: kind for kind in get_args(Event)}


class FlightError(Exception):
    """A file is no flight, or not of a version that is known."""


@dataclass(frozen=True, slots=True)
class Step:
    """`t`: seconds since the flight began. `recorded`: the phase and the commands it gave then, as JSON."""

    t: float
    event: Event
    recorded: tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class EarHead:
    """How the call's ear was made. `forgotten`: settings of then that are none any more."""

    rate: int
    endpoint: EndpointSettings
    voice: VoiceSettings
    forgotten: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class End:
    """The wav has `samples`. Not `whole`: lines are missing before this one."""

    t: float
    samples: int
    whole: bool


@dataclass(frozen=True, slots=True)
class Flight:
    """`ear_head` None: of version 1. `end` None: the process or the disk ended before the call did."""

    version: int
    state: State
    ear_head: EarHead | None
    steps: tuple[Step, ...]
    ear: tuple[EarLine, ...]
    end: End | None


# --- writing


def head_line(call_id: str, state: State, rate: int, settings: MediaSettings) -> str:
    ear = {
        "rate": rate,
        "endpoint": settings.endpoint.model_dump(),
        "voice": settings.voice.model_dump(),
    }
    return json.dumps(
        {"flight": VERSION, "call": call_id, "state": {"max_prompts": state.max_prompts}, "ear": ear}
    )


def step_line(t: float, event: Event, state: State, commands: Iterable[Command]) -> str:
    """`t`: seconds since the flight began; `state` and `commands`: what the step gave."""
    said = {
        "t": round(t, 3),
        "event": _plain(event),
        "phase": state.phase.name,
        "commands": [_plain(command) for command in commands],
    }
    return json.dumps(said, ensure_ascii=False)


def ear_line(line: EarLine) -> str:
    return json.dumps({"ear": plain(line)})


def end_line(end: End) -> str:
    return json.dumps({"t": round(end.t, 3), "end": {"samples": end.samples, "whole": end.whole}})


def given(state: State, commands: Iterable[Command]) -> tuple[str, tuple[str, ...]]:
    """What a step gave, to be compared with `Step.recorded`."""
    return state.phase.name, tuple(json.dumps(_plain(command)) for command in commands)


# --- reading


def read(text: str) -> Flight:
    """Raises FlightError, and nothing else, for what is no flight.

    A last line that was not written to its end is left out: the process or the disk ended with it.
    """
    lines = text.split("\n")
    cut = lines.pop()
    if not lines:
        raise FlightError("no flight: its first line must say so")
    version, state, ear_head = _head(_object(lines[0], 1))
    steps: list[Step] = []
    ear: list[EarLine] = []
    end: End | None = None
    for number, line in enumerate(lines[1:], start=2):
        if end is not None:
            raise FlightError(f"line {number} comes after the end of the flight")
        match _body(_object(line, number), number):
            case Step() as step:
                steps.append(step)
            case End() as end:
                pass
            case one:
                ear.append(one)
    if cut and end is not None:
        raise FlightError(f"line {len(lines) + 1} comes after the end of the flight")
    return Flight(version, state, ear_head, tuple(steps), tuple(ear), end)


def _head(head: Mapping[str, Any]) -> tuple[int, State, EarHead | None]:
    version = head.get("flight")
    if not isinstance(version, int) or isinstance(version, bool):
        raise FlightError("no flight: its first line must say so")
    if version not in (_WITHOUT_EAR, VERSION):
        raise FlightError(
            f"a flight of version {version}, and this voicebot knows {_WITHOUT_EAR} and {VERSION}: "
            "replay it with the one that wrote it, or a newer one"
        )
    known = head.get("state")
    prompts = known.get("max_prompts") if isinstance(known, dict) else None
    if not isinstance(prompts, int) or isinstance(prompts, bool):
        raise FlightError("line 1 is no head of a flight")
    ear = None if version == _WITHOUT_EAR else _ear_head(head.get("ear"))
    return version, State(max_prompts=prompts), ear


def _ear_head(said: object) -> EarHead:
    if not isinstance(said, dict) or not (_is_whole(said.get("rate")) and said["rate"] in RATES):
        raise FlightError("line 1 is no head of a flight")
    forgotten: list[str] = []
    known: dict[str, dict[str, object]] = {}
    for name, kind in (("endpoint", EndpointSettings), ("voice", VoiceSettings)):
        values = said.get(name)
        if not isinstance(values, dict):
            raise FlightError("line 1 is no head of a flight")
        forgotten += [f"media.{name}.{key}" for key in values if key not in kind.model_fields]
        known[name] = {key: value for key, value in values.items() if key in kind.model_fields}
    try:
        endpoint, voice = EndpointSettings(**known["endpoint"]), VoiceSettings(**known["voice"])
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise FlightError(f"line 1: its setting {where} has a value that cannot be") from error
    return EarHead(said["rate"], endpoint, voice, tuple(forgotten))


def _object(line: str, number: int) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FlightError(f"line {number} is not JSON") from error
    if not isinstance(said, dict):
        raise FlightError(f"line {number} is no object")
    return said


def _body(said: Mapping[str, Any], number: int) -> Step | EarLine | End:
    try:
        if "event" in said:
            return _step(said)
        return _end(said) if "end" in said else from_plain(said["ear"])
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise FlightError(f"line {number} is no line of a flight") from error


def _step(said: Mapping[str, Any]) -> Step:
    ((name, values),) = said["event"].items()
    recorded = str(said["phase"]), tuple(json.dumps(command) for command in said["commands"])
    return Step(_seconds(said["t"]), event_of(name, values), recorded)


def _end(said: Mapping[str, Any]) -> End:
    samples, whole = said["end"]["samples"], said["end"]["whole"]
    if not _is_whole(samples) or samples < 0 or not isinstance(whole, bool):
        raise TypeError("no end")
    return End(_seconds(said["t"]), samples, whole)


def event_of(name: str, values: Mapping[str, Any]) -> Event:
    """Raises KeyError, TypeError, ValueError."""
    kind = _EVENTS[name]
    hints = get_type_hints(kind)
    known = {key: _of_type(hints[key], value) for key, value in values.items()}
    event: Event = kind(**known)
    return event


def _of_type(kind: type, value: object) -> object:
    if kind is Utterance:
        return _utterance(value)
    if kind is float and _is_whole(value):
        return value
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"no {kind.__name__}")
    return value


def _utterance(value: object) -> Utterance:
    if not isinstance(value, dict) or "pcm" in value:
        raise TypeError("no utterance")
    hints = get_type_hints(Utterance)
    return Utterance(pcm=b"", **{key: _of_type(hints[key], one) for key, one in value.items()})  # type: ignore[arg-type]


def _seconds(value: object) -> float:
    if not isinstance(value, int | float) or not isfinite(value):
        raise TypeError("no time")
    return float(value)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _plain(one: Event | Command) -> dict[str, dict[str, object]]:
    return {type(one).__name__: {field.name: _value(getattr(one, field.name)) for field in fields(one)}}


def _value(value: object) -> object:
    if isinstance(value, Utterance):
        return {field.name: getattr(value, field.name) for field in fields(value) if field.name != "pcm"}
    return value.name if isinstance(value, Enum) else value
