"""What a test over every transport says when it fails over one of them."""

import inspect
from pathlib import Path
from typing import Any, cast

import pytest

from tests.support.every_transport import TRANSPORTS, Line, over_every_transport

NO_ASTERISK = cast("Any", None)


@over_every_transport
async def fails_over_one(line: Line, seen: list[str]) -> None:
    """Words."""
    seen.append(line.transport)
    assert line.folder.is_dir()
    assert line.transport != "websocket", "no sound"
    # the one that failed does not come: the others do not wait for it
    await line.meet()
    seen.append("met")


async def test_a_failure_names_its_transport_and_the_others_are_played_out(tmp_path: Path) -> None:
    seen: list[str] = []
    with pytest.raises(ExceptionGroup) as caught:
        await fails_over_one(asterisk=NO_ASTERISK, tmp_path=tmp_path, seen=seen)
    assert caught.value.message == "over websocket"
    (error,) = caught.value.exceptions
    assert error.__notes__ == ["over websocket"]
    assert sorted(seen) == sorted(TRANSPORTS)


def test_it_asks_for_its_fixtures_under_its_own_name() -> None:
    assert list(inspect.signature(fails_over_one).parameters) == ["asterisk", "tmp_path", "seen"]
    assert (fails_over_one.__name__, fails_over_one.__doc__) == ("fails_over_one", "Words.")
