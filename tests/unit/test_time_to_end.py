"""How long a call process is given to end: supervisor and service manager kill it after that."""

import asyncio
from pathlib import Path

import pytest

from stasis_app.closing import longest_goodbye_s
from stasis_app.disk_thread import LAST_WRITES_S
from stasis_app.tools.http import HttpRequests
from voicebot.call_process import call_children
from voicebot.config import Config, parse
from voicebot.time_to_end import drain_within_s

GOODBYE_S = longest_goodbye_s([])
A_REQUEST = """
        {name}: {{description: Does it., url: "http://shop.example/{name}", timeout_s: {timeout_s}, reads: {reads}}}"""


def config(drain_s: float = 60, goodbye: str = "Goodbye.", requests: str = "") -> Config:
    tools = f"\n    tools:\n      http:{requests}" if requests else ""
    return parse(
        f"""
calls: {{drain_s: {drain_s}}}
profiles:
  quick: {{prompt: You sell., greeting: Hello.}}
  default:
    prompt: You sell.
    answer_timeout_s: 40
    greeting: Hello.
    phrases: {{goodbye: "{goodbye}"}}{tools}
""",
        "voicebot.yaml",
        {},
    )


def test_goodbyes_disks_and_the_rest_come_on_top_of_the_drain() -> None:
    beyond_s = drain_within_s(config(drain_s=60)) - 60
    assert beyond_s >= GOODBYE_S + 2 * LAST_WRITES_S
    assert drain_within_s(config(drain_s=600)) - 600 == beyond_s
    assert drain_within_s(Config()) - Config().calls.drain_s == beyond_s


def test_so_does_the_longest_request_of_a_tool() -> None:
    """Begun with the last words of the last call, it may change something: it is waited for."""
    requests = A_REQUEST.format(name="order", timeout_s=25, reads="false") + A_REQUEST.format(
        name="look_up", timeout_s=4, reads="true"
    )
    assert drain_within_s(config(requests=requests)) == drain_within_s(config()) + 25


@pytest.mark.parametrize(("letter", "spoken_s"), [("a", 20), ("\N{CJK UNIFIED IDEOGRAPH-597D}", 60)])
def test_a_long_goodbye_has_its_time(letter: str, spoken_s: float) -> None:
    """300 letters: 20 s in English (15 a second), 60 s in Chinese (5 a second)."""
    more_s = drain_within_s(config(goodbye=letter * 300)) - drain_within_s(config())
    assert more_s + GOODBYE_S >= spoken_s


def test_the_supervisor_gives_as_much() -> None:
    asked = config(requests=A_REQUEST.format(name="order", timeout_s=30, reads="false"))
    for child in call_children(asked, Path("voicebot.yaml"), None, lambda _: None):
        assert child.grace_s == drain_within_s(asked)


async def test_the_end_waits_for_what_a_tool_has_begun() -> None:
    """Whose limit is its own `timeout_s`: the last part of the sum."""
    done = asyncio.Event()

    async def changes_something() -> str:
        await asyncio.sleep(0.2)
        done.set()
        return ""

    async with HttpRequests() as requests:
        requests.begin(changes_something())
    assert done.is_set()
