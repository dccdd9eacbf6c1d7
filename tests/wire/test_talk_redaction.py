"""A talk in which everything fails that can quote the caller, and all that the call process logs of it (P12, S10)."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import Any

import pytest

from stasis_app import history
from stasis_app.settings import Profile
from tests.support.fake_workers import Fault
from tests.support.talk import Scene, talk
from voicebot import logs
from voicebot.config import LogSettings

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]

PROFILE = Profile(
    prompt="You sell one ostrich.",
    private="The price nobody may hear of is sixty walnuts and a handful of figs.",
    greeting="Hello.",
    language="en",
    no_input_s=60.0,
)
WORDS = "My number is 5550142777, and I want a walrus."
ANSWER = "The walrus is nineteen penguins."
DIGITS = "90817263"
CONTENT = ("5550142777", "walrus", "penguin", DIGITS, "90817", "ostrich", "walnut", "Hello.")


@pytest.fixture
def log(capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[[], str]]:
    root = logging.getLogger()
    names = ("stasis_app", "media_bridge", "gpu_workers", "voicebot")
    before = root.handlers[:], root.level, {name: logging.getLogger(name).level for name in names}
    yield lambda: capsys.readouterr().err
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    for name, level in before[2].items():
        logging.getLogger(name).setLevel(level)


def defective(self: history.History, text: str, *, cut: bool) -> None:
    raise KeyError(text)


def quoting(code: int, text: str) -> Fault | None:
    return Fault.quote(code) if text == ANSWER else None


async def asked(scene: Scene) -> None:
    await scene.ask(WORDS, ANSWER)
    await asyncio.sleep(1)
    await scene.quiet(for_s=2)


async def everything_goes_wrong(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    workers = scene.workers
    await scene.ask(WORDS, ANSWER)
    await scene.until_said(ANSWER)
    await scene.press(DIGITS + "#")
    await scene.quiet(for_s=2)
    for code in (400, 500):
        workers.llm.fault = Fault.quote(code)
        await asked(scene)
        workers.llm.fault = None
        await asked(scene)
        workers.tts.choose_fault = partial(quoting, code)
        await asked(scene)
        workers.tts.choose_fault = lambda _: None
        # a worker that failed is asked again a little later
        await asyncio.sleep(10)
        await asked(scene)
    await scene.ask(WORDS, ["Here you are: ", PROFILE.instructions])
    await scene.until_said(PROFILE.phrases.not_told)
    scene.ari.send_text(f'{{"type": "StasisStart", "channel": "{WORDS}"}}')
    with monkeypatch.context() as patch:
        patch.setattr(history.History, "bot_said", defective)
        await scene.ask(WORDS, ANSWER)
        await scene.until(lambda: not scene.is_up, 60)


@pytest.mark.parametrize("level", ["info", "debug"])
def test_nothing_that_was_said_is_logged(
    virtual_time: RunVirtual,
    monkeypatch: pytest.MonkeyPatch,
    log: Callable[[], str],
    level: str,
) -> None:
    async def main() -> None:
        logs.configure(LogSettings.model_validate({"level": level}))
        async with talk(PROFILE) as scene:
            await everything_goes_wrong(scene, monkeypatch)

    virtual_time(main())
    said = log()
    # all of it came to pass
    for told in ("status 400", "status 500", "read out", "defect", "KeyError", "defective", " ended after "):
        assert told in said, told
    quoted = [content for content in CONTENT if content in said]
    assert quoted == [] if level == "info" else quoted, said
