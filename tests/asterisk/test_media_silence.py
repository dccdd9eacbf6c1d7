"""Sound that does not come, and sound that cannot go (docs/media-faults.md, M11 and M14)."""

import asyncio
import logging
from pathlib import Path

import numpy as np
import pytest

from media_bridge.events import MediaTimeout, PlayoutFinished
from media_bridge.g711 import CODECS
from tests.support.bot import MEDIA
from tests.support.media_call import tone
from tests.support.media_scene import CLEAN, Line, stage
from tests.support.relay import Impairment
from tests.support.rig import run_sipp
from tests.support.speech import QUESTION
from tests.support.tones import heard_by_phone, tone_levels
from voicebot.asterisk import AsteriskProcess

pytestmark = pytest.mark.asyncio(loop_scope="session")

# the defaults of 10 and 15 s are tried in virtual time
IMPATIENT = MEDIA.model_copy(update={"first_packet_s": 2.0, "media_timeout_s": 2.5})
HOLD_S = 5.0


async def test_a_caller_without_sound_is_told_and_one_whose_sound_stops_is_let_go(
    asterisk: AsteriskProcess, tmp_path: Path
) -> None:
    networks = {
        "never heard": (Impairment(loss=1.0), CLEAN),
        "stops": (Impairment(lost=range(100, 100_000)), CLEAN),
        "goes on": (CLEAN, CLEAN),
    }

    async def stay(line: Line) -> None:
        try:
            await line.phone.wait_for_end(9)
        except TimeoutError:
            await line.phone.hang_up()

    async with stage(asterisk, tmp_path, greeting="Hello.", media=IMPATIENT) as scene:
        lines = await scene.play(networks, stay)
        ended = {
            cause: await scene.bot.metric("voicebot_calls_ended_total", cause=cause)
            for cause in ("media_timeout", "caller_hung_up")
        }
        told = sum(
            [
                await scene.bot.metric("voicebot_turns_total", saying="not_heard", end=end)
                for end in ("played", "cut")
            ]
        )
    kinds = {
        name: [event.kind for event in line.observed.events if isinstance(event, MediaTimeout)]
        for name, line in lines.items()
    }
    assert kinds == {"never heard": ["first_packet"], "stops": ["stopped"], "goes on": []}
    assert lines["never heard"].phone.ended_by_far_end
    assert lines["stops"].phone.ended_by_far_end
    assert told == 1
    assert ended["caller_hung_up"] == 1
    assert ended["media_timeout"] >= 1


async def test_a_caller_on_hold_is_not_let_go(asterisk: AsteriskProcess, tmp_path: Path) -> None:
    """Twice as long as the sound of a call may be away; when it is off hold and still silent, it is."""
    sound = tmp_path / "tone.ulaw"
    sound.write_bytes(CODECS["ulaw"].encode(tone(1.0)))
    async with stage(asterisk, tmp_path, greeting="Hello.", media=IMPATIENT) as scene:
        started = asyncio.get_running_loop().time()
        result = await run_sipp("uac_hold", asterisk, pause_ms=int(HOLD_S * 1000), media=sound, timeout_s=40)
        lasted = asyncio.get_running_loop().time() - started
        await scene.bot.until_idle()
        assert await scene.bot.metric("voicebot_calls_ended_total", cause="media_timeout") == 1
    assert result.exit_code == 0, result.errors
    assert lasted >= 2 + HOLD_S + 2 + IMPATIENT.media_timeout_s
    (call,) = scene.observed
    assert [event.kind for event in call.events if isinstance(event, MediaTimeout)] == ["stopped"]


async def test_the_bot_stands_still_while_its_caller_is_on_hold(
    asterisk: AsteriskProcess, tmp_path: Path
) -> None:
    """Nothing of a greeting of 4.2 s is lost to a hold of 3 s in its middle."""
    async with stage(asterisk, tmp_path, greeting="m" * 70) as scene:

        async def talk(line: Line) -> None:
            await line.phone.wait_for_bot_speech(5)
            await line.phone.sleep(1.5)
            await line.phone.hold()
            await line.phone.sleep(3.0)
            heard = line.observed.session.heard()
            assert not heard.finished
            assert 1.0 < heard.sentences[0].played_samples / heard.rate < 3.0
            await line.phone.unhold()
            await line.phone.sleep(4.2)

        line = (await scene.play({"": (CLEAN, CLEAN)}, talk))[""]
        (bots_hz,) = {spoken.hz for spoken in scene.workers.tts.spoken if spoken.text == "m" * 70}
    sounding = np.flatnonzero(tone_levels(heard_by_phone(line.recording), bots_hz) > 2000)
    assert len(sounding) == pytest.approx(4.2 * 50, abs=8)
    assert sounding[-1] - sounding[0] > (4.2 + 2.5) * 50
    assert [type(event) for event in line.observed.events if isinstance(event, PlayoutFinished)]


async def test_a_phone_that_sends_nothing_while_it_listens_is_not_let_go(
    asterisk: AsteriskProcess, tmp_path: Path
) -> None:
    """Its user listens for longer than the sound of a call may be away, speaks, and listens again."""
    async with stage(asterisk, tmp_path, greeting="m" * 70, media=IMPATIENT) as scene:
        scene.workers.llm.replies = ["n" * 70]

        async def talk(line: Line) -> None:
            line.phone.suppress_silence()
            await line.phone.wait_for_bot_speech(5)
            await line.phone.wait_for_bot_quiet(500, 10)
            sent = line.observed.stats().packets_in
            await line.phone.say(QUESTION)
            await line.phone.wait_for_bot_speech(5)
            await line.phone.wait_for_bot_quiet(500, 10)
            assert line.phone.is_up
            # Asterisk adds nothing of its own: what the phone suppresses does not come
            assert sent < 50
            assert line.observed.stats().packets_in - sent < 250

        line = (await scene.play({"": (CLEAN, CLEAN)}, talk))[""]
    assert not [event for event in line.observed.events if isinstance(event, MediaTimeout)]
    assert len([event for event in line.observed.events if isinstance(event, PlayoutFinished)]) == 2


async def test_a_way_out_that_is_closed_for_a_while_costs_what_was_sent_meanwhile_and_nothing_else(
    asterisk: AsteriskProcess, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The other end's port is closed for a second: the network answers each packet with "unreachable"."""
    async with stage(asterisk, tmp_path, greeting="m" * 70) as scene:

        async def talk(line: Line) -> None:
            await line.phone.sleep(1.0)
            with caplog.at_level(logging.WARNING, "media_bridge"):
                scene.way.relays.close(line.leg.relay, 1)
                await line.phone.sleep(1.0)
                scene.way.relays.reopen(line.leg.relay, 1)
            await line.phone.sleep(0.3)
            await line.phone.say(tone(1.0, 700))
            await line.phone.sleep(1.5)

        line = (await scene.play({"": (CLEAN, CLEAN)}, talk))[""]
        (bots_hz,) = {spoken.hz for spoken in scene.workers.tts.spoken if spoken.text == "m" * 70}
        errors = await scene.bot.metric("voicebot_rtp_total", kind="send_errors") + await scene.bot.metric(
            "voicebot_rtp_total", kind="receive_errors"
        )
        assert await scene.bot.metric("voicebot_defects_total", fence="media") == 0
    # each is told at the next use of the socket, which sends and receives in turn
    assert errors >= 20
    assert not [record for record in caplog.records if record.name.startswith("media_bridge")]
    levels = tone_levels(heard_by_phone(line.recording), bots_hz)
    # the greeting is 4.2 s long and its clock went on
    assert np.count_nonzero(levels > 2000) == pytest.approx((4.2 - 1.0) * 50, abs=8)
    first, last = np.flatnonzero(levels > 2000)[[0, -1]]
    assert last - first == pytest.approx(4.2 * 50, abs=4)
    assert np.count_nonzero(tone_levels(line.observed.pcm, 700) > 2000) >= 45
