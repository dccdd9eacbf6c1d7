"""Talks whose model has tools: a profile with them, a shop to ask, and what came of it."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from stasis_app.settings import Profile
from stasis_app.tools.settings import Tools
from tests.support.fake_workers import FakeToolCall
from tests.support.shop import Shop, shop
from tests.support.talk import CALLER, TRANSPORT, Scene, talk
from tests.support.talk_lines import LINES

TARGETS = {"front_desk": "2000", "workshop": {"extension": "2001", "context": "phones", "priority": 3}}
FRONT_DESK, WORKSHOP = "voicebot-transfer,2000,1", "phones,2001,3"
TO_WORKSHOP = FakeToolCall("transfer", {"target": "workshop"})
ANNOUNCED = "One moment, I am putting you through."
WANTS_PERSON = "I want to talk to the workshop."
QUESTION = "How much is a tune-up?"
ASKED = "Shall I put you through to the workshop?"
ORDER = {"number": "471108"}
WHERE_IS_IT = "Where is my repair? It is four seven one one zero eight."


def profile(**tools: Any) -> Profile:
    allowed = Tools.model_validate(tools)
    return Profile(prompt="You are a test.", greeting="Hello.", language="en", no_input_s=60, tools=allowed)


def requests(url: str, **changes: Any) -> Mapping[str, Any]:
    number = {"type": "string", "pattern": "[0-9]{6}"}
    status = {
        "description": "How far it is.",
        "url": f"{url}/repairs/{{number}}",
        "parameters": {"number": number},
    }
    return {"repair_status": status | changes}


@asynccontextmanager
async def shop_talk(**changes: Any) -> AsyncIterator[tuple[Scene, Shop]]:
    """A talk whose model may ask a shop."""
    async with shop() as open_shop, talk(profile(http=requests(open_shop.url, **changes))) as scene:
        yield scene, open_shop


@asynccontextmanager
async def another_call(scene: Scene) -> AsyncIterator[Scene]:
    """The same caller once more, when the first call is over."""
    await scene.until(lambda: not scene.ari.channels)
    scene.ari.media_asked.clear()
    line = LINES[TRANSPORT](scene.ari)
    await line.open()
    scene.ari.caller(CALLER)
    await scene.until(lambda: scene.ari.media_asked)
    speaking = asyncio.create_task(line.run())
    try:
        yield replace(scene, line=line)
    finally:
        scene.hang_up()
        speaking.cancel()
        await asyncio.wait({speaking})
        line.close()


def results(scene: Scene) -> list[Mapping[str, Any]]:
    """What the model was told of its tools, in its newest request."""
    return [json.loads(message["content"]) for message in scene.asked() if message["role"] == "tool"]


async def counted(scene: Scene, name: str, outcome: str) -> float:
    return await scene.metric("voicebot_tools_total", name=name, outcome=outcome)
