"""What a call of the model asks for, if it may ask for it: the allow-list. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from stasis_app.tools.arguments import ArgumentError, Value, checked
from stasis_app.tools.offered import transfer_parameters
from stasis_app.tools.settings import HANG_UP, TARGET, TRANSFER, HttpRequest, Tools


class NotOfferedError(ValueError):
    """The call is of no tool of this profile, or not as that was offered; says how, for the model."""


@dataclass(frozen=True, slots=True)
class PutThrough:
    """The caller to one of the listed targets."""

    target: str


@dataclass(frozen=True, slots=True)
class EndCall:
    pass


@dataclass(frozen=True, slots=True)
class Ask:
    """One of the profile's requests, with arguments that passed."""

    name: str
    request: HttpRequest = field(repr=False)
    arguments: Mapping[str, Value] = field(repr=False)

    @property
    def written(self) -> str:
        """The arguments as JSON, the same for the same values."""
        return json.dumps(self.arguments, ensure_ascii=False)

    @property
    def key(self) -> tuple[str, str]:
        return self.name, self.written


Wanted = PutThrough | EndCall | Ask


def wanted(name: str, arguments: str, tools: Tools) -> Wanted:
    """Raises NotOfferedError."""
    try:
        if name == TRANSFER and tools.transfer is not None:
            return PutThrough(str(checked(arguments, transfer_parameters(tools.transfer))[TARGET]))
        if name == HANG_UP and tools.hang_up:
            checked(arguments, {})
            return EndCall()
        if request := tools.http.get(name):
            return Ask(name, request, checked(arguments, request.parameters))
    except ArgumentError as error:
        raise NotOfferedError(f"wrong arguments: {error}") from None
    raise NotOfferedError(f"there is no such tool; there are: {', '.join(tools.names())}")
