"""The tools as the model is told of them, in the form of the OpenAI API ("function calling"). Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from stasis_app.tools.settings import HANG_UP, TARGET, TRANSFER, Parameter, Tools, Transfer

_ENDS_THE_CALL = "Ends the call. Call it when the caller has said goodbye and wants nothing more."


def offered(tools: Tools) -> Sequence[Mapping[str, Any]]:
    """Always the same for the same profile: the model's prefix cache lives on that. Empty: nothing is offered."""
    functions = []
    if tools.transfer is not None:
        functions.append(_function(TRANSFER, tools.transfer.description, transfer_parameters(tools.transfer)))
    if tools.hang_up:
        functions.append(_function(HANG_UP, _ENDS_THE_CALL, {}))
    functions += [
        _function(name, request.description, request.parameters) for name, request in tools.http.items()
    ]
    return tuple(functions)


def transfer_parameters(transfer: Transfer) -> Mapping[str, Parameter]:
    """The one argument of a transfer: a listed name."""
    told = [
        f"{name}: {target.description}" for name, target in transfer.targets.items() if target.description
    ]
    return {TARGET: Parameter(description="; ".join(told), choices=tuple(transfer.targets))}


def _function(name: str, description: str, parameters: Mapping[str, Parameter]) -> Mapping[str, Any]:
    schema = {
        "type": "object",
        "properties": {name: _schema(parameter) for name, parameter in parameters.items()},
        "required": [name for name, parameter in parameters.items() if parameter.required],
        "additionalProperties": False,
    }
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": schema},
    }


def _schema(parameter: Parameter) -> Mapping[str, Any]:
    schema: dict[str, Any] = {"type": parameter.type}
    if parameter.description:
        schema["description"] = parameter.description
    if parameter.choices:
        schema["enum"] = list(parameter.choices)
    # no "pattern": engines make a grammar of it, each with its own idea of regular expressions
    for key in ("minimum", "maximum"):
        if (bound := getattr(parameter, key)) is not None:
            schema[key] = int(bound) if bound == int(bound) else bound
    return schema
