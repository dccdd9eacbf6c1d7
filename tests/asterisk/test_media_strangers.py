"""Strangers on the network: spoofed streams, a flood, late packets (docs/media-faults.md, M8, M9 and M13)."""

import asyncio
import logging
import sys
import threading
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from caller_phone.ruler import packet_figures
from media_bridge.rtp import build
from tests.support.attacker import HZ as ATTACKERS_HZ
from tests.support.attacker import Attacker, following
from tests.support.bot import MEDIA
from tests.support.detour import Leg
from tests.support.media_call import tone
from tests.support.media_scene import CLEAN, Line, stage
from tests.support.relay import Impairment
from tests.support.rig import free_ports
from tests.support.rtp_rewrite import AmongGarbage
from tests.support.tones import heard_by_phone, tone_levels
from voicebot.asterisk import AsteriskProcess

pytestmark = pytest.mark.asyncio(loop_scope="session")

CALLERS_HZ = 700
FLOOD_RATE, FLOOD_S = 20_000, 3.0
NOTHING = Impairment(loss=1.0)


def frames_with(pcm: bytes, hertz: float) -> int:
    """How many 20 ms hold the tone. All tones here are as loud as 9,800; the edge of another one may look like 300."""
    return int(np.count_nonzero(tone_levels(pcm, hertz) > 1500))


async def test_who_speaks_into_a_call_is_heard_by_neither_side(
    asterisk: AsteriskProcess, tmp_path: Path
) -> None:
    """From before the first packet of either side. The same attack is heard where the bot's own stream is missing."""
    places: dict[str, Literal["port", "host"]] = {
        "another port": "port",
        "another host": "host",
        "mute": "port",
    }
    attackers: list[Attacker] = []

    async def talk(line: Line) -> None:
        await line.phone.say(tone(3.0, CALLERS_HZ))
        await line.phone.sleep(1.0)

    async with stage(asterisk, tmp_path, greeting="m" * 60) as scene:
        with ExitStack() as attacks:
            waiting = iter(places.values())
            scene.way.on_leg = lambda leg: attackers.append(
                attacks.enter_context(Attacker(leg, next(waiting)))
            )
            networks = {name: (CLEAN, NOTHING if name == "mute" else CLEAN) for name in places}
            lines = await scene.play(networks, talk)
        (bots_hz,) = {spoken.hz for spoken in scene.workers.tts.spoken if spoken.text == "m" * 60}
        dropped = await scene.bot.metric("voicebot_rtp_dropped_total", why="wrong_source")
    assert all(attacker.sent > 2 * 150 for attacker in attackers)
    for name in ("another port", "another host"):
        by_bot, by_phone = lines[name].observed.pcm, heard_by_phone(lines[name].recording)
        assert frames_with(by_bot, ATTACKERS_HZ) == 0
        assert frames_with(by_phone, ATTACKERS_HZ) == 0
        assert frames_with(by_bot, CALLERS_HZ) >= 140
        assert frames_with(by_phone, bots_hz) >= 150
    assert dropped > 0
    assert frames_with(lines["mute"].observed.pcm, ATTACKERS_HZ) == 0
    assert frames_with(heard_by_phone(lines["mute"].recording), ATTACKERS_HZ) > 50


async def test_a_flood_of_garbage_leaves_every_call_its_sound(
    asterisk: AsteriskProcess, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """From strangers, to a call that is heard and to one that is not yet, and among the packets of a third."""
    networks = {
        "flooded": (CLEAN, CLEAN),
        "flooded, not heard yet": (NOTHING, CLEAN),
        "garbage from the peer's own address": (Impairment(rewrite=AmongGarbage(5)), CLEAN),
        "beside them": (CLEAN, CLEAN),
    }
    async with stage(asterisk, tmp_path, greeting="m" * 80) as scene, AsyncExitStack() as stack:
        lines = {name: await stack.enter_async_context(scene.call(*it)) for name, it in networks.items()}
        await asyncio.sleep(0.5)
        targets = [f"{host}:{port}" for host, port in (line.leg.bot for line in list(lines.values())[:2])]
        caplog.clear()
        with caplog.at_level(logging.DEBUG, "media_bridge"):
            flood = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "tests.support.flood", str(FLOOD_RATE), str(FLOOD_S), *targets,
                stdout=asyncio.subprocess.PIPE,
            )  # fmt: skip
            said = [
                asyncio.create_task(lines[name].phone.say(tone(FLOOD_S, CALLERS_HZ))) for name in networks
            ]
            sent = int((await flood.communicate())[0])
            await asyncio.gather(*said)
            written = [record for record in caplog.records if record.name.startswith("media_bridge")]
        await asyncio.sleep(0.3)
        stats = {name: line.observed.stats() for name, line in lines.items()}
        for line in lines.values():
            await line.phone.hang_up()
        await scene.bot.until_idle()
        dropped = {
            why: await scene.bot.metric("voicebot_rtp_dropped_total", why=why)
            for why in ("wrong_source", "version", "short")
        }
    assert sent > 0.5 * FLOOD_RATE * FLOOD_S
    assert len(written) <= FLOOD_S + 3
    assert all(dropped.values()), dropped
    assert stats["flooded, not heard yet"].packets_in == 0
    clean = stats["beside them"]
    for name, line in lines.items():
        # no packet of ours is missing, whatever pours in; where the machine itself stood still, the timestamps say so
        sent_by_bot = packet_figures(line.recording.received)
        assert sent_by_bot.missing == 0
        assert sent_by_bot.timestamp_steps[160] >= 0.97 * sent_by_bot.packets
        assert {step % 160 for step in sent_by_bot.timestamp_steps} == {0}
        if name != "flooded, not heard yet":
            assert stats[name].lost <= 2
            assert stats[name].concealed <= 5 + 2 * clean.concealed
            assert frames_with(line.observed.pcm, CALLERS_HZ) >= FLOOD_S * 50 - 10


async def test_late_packets_of_a_call_that_is_over_are_not_heard_by_the_next(
    asterisk: AsteriskProcess, tmp_path: Path
) -> None:
    port = next(port for port in free_ports(50) if port % 2 == 0)
    only_one = MEDIA.model_copy(update={"port_start": port, "port_end": port, "port_quarantine_s": 2.0})
    over = threading.Event()
    async with stage(asterisk, tmp_path, greeting="m" * 20, media=only_one) as scene:

        async def talk(line: Line) -> None:
            await line.phone.say(tone(1.5, CALLERS_HZ))
            await line.phone.sleep(0.2)

        first = (await scene.play({"": (CLEAN, CLEAN)}, talk))[""]
        ghost = threading.Thread(target=_go_on, args=(first.leg, over))
        ghost.start()
        try:
            number = f"sip:1000@127.0.0.1:{asterisk.sip_port}"
            async with scene.phone.call(number):
                # the dialplan's own answer: no port is free
                assert await scene.bot.metric("voicebot_calls_refused_total", reason="no_port") == 1
            await scene.bot.until_idle()
            await asyncio.sleep(2.2)
            second = (await scene.play({"": (CLEAN, CLEAN)}, talk))[""]
        finally:
            over.set()
            ghost.join()
    assert second.leg.bot == first.leg.bot == ("127.0.0.1", port)
    assert frames_with(second.observed.pcm, ATTACKERS_HZ) == 0
    assert frames_with(second.observed.pcm, CALLERS_HZ) >= 70
    assert second.observed.stats().dropped["wrong_source"] > 0


def _go_on(leg: Leg, over: threading.Event) -> None:
    """Asterisk's end of a call that is over still sends, from the right address."""
    while not over.wait(0.02):
        leg.relay.deliver(1, build(following(leg.relay, 0)))
