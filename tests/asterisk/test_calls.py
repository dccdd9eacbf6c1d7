"""Whole calls: a phone, a real Asterisk, the real call process; only the models are the test's own."""

import asyncio
import json
import random
import wave
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from caller_phone.phone import Phone
from caller_phone.script import HangUp, Interrupt, Pause, Say, Step, WaitAnswer, WaitGreeting, run_script
from media_bridge.settings import MediaOverride, MediaSettings, TransportName
from stasis_app.ari.rest import Ari
from stasis_app.settings import CallSettings
from tests.support.bot import MEDIA, PROFILE, nothing_left, running_bot
from tests.support.fake_workers import FakeWorkers, Fault, fake_workers
from voicebot.asterisk import AsteriskProcess

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.may_leave("the session's Asterisk")]

SPEECH = Path(__file__).parent.parent / "data" / "speech"
QUESTION, SHORT, NO = SPEECH / "price01.wav", SPEECH / "short01.wav", SPEECH / "no01.wav"


every_transport = pytest.mark.parametrize("media", ["rtp", "websocket", "audiosocket"], indirect=True)


@pytest.fixture
def media(request: pytest.FixtureRequest) -> MediaSettings:
    """How the calls of a test go: over RTP, but for those of `every_transport`."""
    transport: TransportName = getattr(request, "param", "rtp")
    return MEDIA.model_copy(update={"transport": transport})


@pytest_asyncio.fixture(loop_scope="session")
async def workers() -> AsyncIterator[FakeWorkers]:
    async with fake_workers() as fakes:
        yield fakes


def number(asterisk: AsteriskProcess, extension: str = "1000") -> str:
    return f"sip:{extension}@127.0.0.1:{asterisk.sip_port}"


def own_tasks() -> int:
    """Tasks running now, but for the fakes' kept-alive connections and what comes and goes while nobody calls."""
    passing = ("RequestHandler", "health", "send_frame")
    return sum(not any(name in repr(task.get_coro()) for name in passing) for task in asyncio.all_tasks())


async def until(holds: Callable[[], bool], within_s: float = 5) -> bool:
    """Whether it came to hold: what ends with a call may need another turn of the loop."""
    for _ in range(int(within_s / 0.05)):
        if holds():
            return True
        await asyncio.sleep(0.05)
    return holds()


async def hears_the_fallback(phone: Phone, asterisk: AsteriskProcess) -> bool:
    """Call 1000; whether the dialplan speaks to the caller and hangs up."""
    async with phone.call(number(asterisk)) as call:
        await call.wait_for_bot_speech(10)
        await call.wait_for_end(30)
        return call.ended_by_far_end


@every_transport
async def test_a_question_is_answered(
    asterisk: AsteriskProcess,
    workers: FakeWorkers,
    tmp_path: Path,
    media: MediaSettings,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "stasis_app.application")
    workers.stt.answers = ["How much does the monthly plan cost?"]
    workers.llm.replies = ["Nineteen dollars a month. Do you want it?"]
    transcript = tmp_path / "transcript.jsonl"
    async with (
        running_bot(asterisk, workers, tmp_path, media=media, transcript=transcript) as bot,
        Phone() as phone,
    ):
        async with phone.call(number(asterisk)) as call:
            talk = await run_script(call, [WaitGreeting(), Say(QUESTION), WaitAnswer(), HangUp()])
        await bot.until_idle()
        await nothing_left(asterisk)
        assert await bot.metric("voicebot_calls_ended_total", cause="caller_hung_up") == 1
        assert await bot.metric("voicebot_defects_total") == 0
        assert await bot.metric("voicebot_call_mos_count") == 1
        assert await bot.metric("voicebot_call_loss_ratio_bucket", le="0.1") == 1
    (left,) = [record for record in caplog.records if hasattr(record, "mos")]
    assert vars(left)["transport"] == media.transport
    assert 3.0 < vars(left)["mos"] < 4.5
    assert talk.stopped_at is None
    assert [turn.answered for turn in talk.turns] == [True]
    assert talk.packets.missing == 0
    assert set(talk.packets.timestamp_steps) == {160}
    assert {heard.rate for heard in workers.stt.requests} == {8000 if media.transport == "rtp" else 16_000}
    asked = workers.llm.requests[-1]["messages"]
    assert [message["role"] for message in asked] == ["system", "user", "assistant", "user"]
    assert asked[-1]["content"] == "How much does the monthly plan cost?"
    lines = [json.loads(line) for line in transcript.read_text().splitlines()]
    assert [(line["saying"], line["bot"], line["cut"]) for line in lines] == [
        ("greeting", "Hello.", False),
        ("answer", "Nineteen dollars a month. Do you want it?", False),
    ]
    stages = lines[1]["ms_after_speech_end"]
    order = ["stt_done", "first_token", "first_sentence", "first_audio", "first_packet"]
    assert [stages[name] for name in order] == sorted(stages[name] for name in order)
    assert stages["first_packet"] >= stages["decision"]


@every_transport
async def test_an_interruption_stops_the_answer_and_is_answered(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path, media: MediaSettings
) -> None:
    workers.stt.answers = [
        "Tell me about your bikes.",
        "No, that is not what I meant.",
        "No, that is not what I meant.",
    ]
    workers.llm.replies = [
        "This is a long sentence about very many bikes of ours. " * 4,
        "What did you mean?",
    ]
    transcript = tmp_path / "transcript.jsonl"
    async with (
        running_bot(asterisk, workers, tmp_path, media=media, transcript=transcript) as bot,
        Phone() as phone,
    ):
        async with phone.call(number(asterisk)) as call:
            steps: list[Step] = [
                WaitGreeting(),
                Say(QUESTION),
                Interrupt(NO, after_s=1.5),
                WaitAnswer(),
                HangUp(),
            ]
            talk = await run_script(call, steps)
        await bot.until_idle()
        assert await bot.metric("voicebot_interruptions_total", verdict="meant") == 1
    cut = talk.turns[1]
    assert cut.answered
    assert cut.cut_ms is not None
    assert cut.cut_ms < 1000, "the bot talked on"
    said = [json.loads(line) for line in transcript.read_text().splitlines()]
    interrupted = next(line for line in said if line["cut"])
    assert interrupted["bot"]
    remembered = workers.llm.requests[-1]["messages"][-2]
    assert remembered == {"role": "assistant", "content": interrupted["bot"] + " ..."}
    assert await until(lambda: workers.llm.running == workers.tts.running == 0)


@every_transport
async def test_a_cough_over_the_bot_resumes(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path, media: MediaSettings
) -> None:
    workers.stt.choose = lambda heard: "Mm-hm." if heard.seconds < 2.0 else "Tell me about your bikes."
    answer = "This is a rather long sentence about very many bikes. "
    workers.llm.replies = [answer]
    transcript = tmp_path / "transcript.jsonl"
    async with (
        running_bot(asterisk, workers, tmp_path, media=media, transcript=transcript) as bot,
        Phone() as phone,
    ):
        async with phone.call(number(asterisk)) as call:
            steps: list[Step] = [
                WaitGreeting(),
                Say(QUESTION),
                Interrupt(SHORT, after_s=1.0),
                Pause(6),
                HangUp(),
            ]
            await run_script(call, steps)
        await bot.until_idle()
        assert await bot.metric("voicebot_interruptions_total", verdict="ignored") == 1
    said = [json.loads(line) for line in transcript.read_text().splitlines()]
    assert [(line["bot"], line["cut"]) for line in said[1:2]] == [(answer.strip(), False)]


@every_transport
async def test_silence_is_asked_about_twice_and_then_ended(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path, media: MediaSettings
) -> None:
    quick = PROFILE.model_copy(update={"no_input_s": 0.6})
    async with running_bot(asterisk, workers, tmp_path, media=media, profile=quick) as bot, Phone() as phone:
        async with phone.call(number(asterisk)) as call:
            await call.wait_for_end(30)
            assert call.ended_by_far_end
        await bot.until_idle()
        assert await bot.metric("voicebot_turns_total", saying="still_there", end="played") == 2
        assert await bot.metric("voicebot_calls_ended_total", cause="normal") == 1
        await nothing_left(asterisk)


async def test_a_farewell_ends_the_call(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    workers.stt.answers = ["Thank you, goodbye."]
    async with running_bot(asterisk, workers, tmp_path) as bot, Phone() as phone:
        async with phone.call(number(asterisk)) as call:
            await run_script(call, [WaitGreeting(), Say(SHORT)])
            await call.wait_for_end(15)
        await bot.until_idle()
        assert not workers.llm.requests
        assert (
            await bot.metric("voicebot_turns_total", saying="goodbye", end="cut")
            + await bot.metric("voicebot_turns_total", saying="goodbye", end="played")
            == 1
        )


@pytest.mark.parametrize("broken", ["stt", "llm", "tts"])
async def test_a_dead_worker_is_an_apology_and_then_the_end(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path, broken: str
) -> None:
    workers.stt.answers = ["How much is it?"]
    async with running_bot(asterisk, workers, tmp_path) as bot, Phone() as phone:
        getattr(workers, broken).fault = Fault.status(500)
        async with phone.call(number(asterisk)) as call:
            steps: list[Step] = [WaitGreeting(), Say(QUESTION), WaitAnswer(), Say(QUESTION), WaitAnswer()]
            talk = await run_script(call, steps)
            await call.wait_for_end(15)
        await bot.until_idle()
        assert [turn.answered for turn in talk.turns] == [True, True]
        assert await bot.metric("voicebot_turns_total", saying="apology", end="played") == 1
        assert await bot.metric("voicebot_calls_ended_total", cause="normal") == 1
        await nothing_left(asterisk)


async def test_one_call_too_many_goes_back_to_the_dialplan(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    limit = CallSettings(max_calls=1, drain_s=0)
    async with (
        running_bot(asterisk, workers, tmp_path, calls=limit) as bot,
        Phone() as phone,
        phone.call(number(asterisk)) as first,
    ):
        await first.wait_for_bot_speech(5)
        async with phone.call(number(asterisk)) as second:
            await second.wait_for_bot_speech(5)
            await second.wait_for_end(30)
        assert first.is_up
        assert await bot.metric("voicebot_calls_refused_total", reason="full") == 1


@every_transport
async def test_fifty_hang_ups_at_random_moments_leave_nothing(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path, media: MediaSettings
) -> None:
    chance = random.Random(7)
    workers.llm.token_delay_s = 0.02
    workers.llm.replies = ["One two three four five. Six seven eight nine ten. Eleven twelve."]
    async with running_bot(asterisk, workers, tmp_path, media=media) as bot, Phone() as phone:
        tasks = own_tasks()

        async def one_call(hang_up_s: float) -> None:
            async with phone.call(number(asterisk)) as call:
                talk = asyncio.create_task(run_script(call, [Say(QUESTION), WaitAnswer()]))
                await asyncio.sleep(hang_up_s)
                talk.cancel()
                await asyncio.wait({talk})

        for _ in range(10):
            await asyncio.gather(*(one_call(chance.uniform(0, 6)) for _ in range(5)))
        await bot.until_idle()
        await nothing_left(asterisk)
        assert await bot.metric("voicebot_defects_total", fence="turn") == 0
        assert await bot.metric("voicebot_defects_total", fence="call") == 0
        assert await bot.metric("voicebot_calls_ended_total", cause="caller_hung_up") == 50
        assert await until(lambda: workers.stt.running == workers.llm.running == workers.tts.running == 0)
        assert await until(lambda: own_tasks() <= tasks), asyncio.all_tasks()


@every_transport
async def test_drain_says_goodbye_to_running_calls(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path, media: MediaSettings
) -> None:
    async with (
        running_bot(asterisk, workers, tmp_path, media=media) as bot,
        Phone() as phone,
        phone.call(number(asterisk)) as call,
    ):
        await call.wait_for_bot_speech(5)
        bot.stop.set()
        await call.wait_for_end(15)
        assert call.ended_by_far_end
    await nothing_left(asterisk)


async def test_an_unknown_profile_is_said_and_handed_back(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_bot(asterisk, workers, tmp_path, profile_name="other") as bot, Phone() as phone:
        async with phone.call(number(asterisk)) as call:
            await call.wait_for_bot_speech(5)
            await call.wait_for_end(30)
        assert await bot.metric("voicebot_calls_refused_total", reason="unknown_profile") == 1
    assert "no profile 'default' in voicebot.yaml (there are: other)" in caplog.text


@pytest.mark.parametrize(
    ("transport", "channel"), [("websocket", "WebSocket/"), ("audiosocket", "AudioSocket/")]
)
async def test_a_profile_may_choose_its_own_way(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path, transport: TransportName, channel: str
) -> None:
    profile = PROFILE.model_copy(update={"media": MediaOverride(transport=transport)})
    async with running_bot(asterisk, workers, tmp_path, profile=profile) as bot, Phone() as phone:
        async with phone.call(number(asterisk)) as call:
            await call.wait_for_bot_speech(5)
            assert channel in await asterisk.cli("core show channels concise")
        await bot.until_idle()
        await nothing_left(asterisk)


async def test_a_media_connection_that_breaks_ends_the_call(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    media = MEDIA.model_copy(update={"transport": "websocket"})
    async with (
        running_bot(asterisk, workers, tmp_path, media=media) as bot,
        Phone() as phone,
        phone.call(number(asterisk)) as call,
    ):
        await call.wait_for_bot_speech(5)
        rows = (await asterisk.cli("core show channels concise")).splitlines()
        (name,) = [row.split("!")[0] for row in rows if row.startswith("WebSocket/")]
        await asterisk.cli(f"channel request hangup {name}")
        await call.wait_for_end(5)
        assert call.ended_by_far_end
        await bot.until_idle()
        assert await bot.metric("voicebot_calls_ended_total", cause="media_closed") == 1
        await nothing_left(asterisk)
    assert "Asterisk closed the media websocket" in caplog.text


async def test_a_hang_up_is_heard_while_draining(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    patient = CallSettings(max_calls=5, drain_s=30)
    async with (
        running_bot(asterisk, workers, tmp_path, calls=patient) as bot,
        Phone() as phone,
        phone.call(number(asterisk)) as call,
    ):
        await call.wait_for_bot_speech(5)
        bot.stop.set()
        await asyncio.sleep(0.5)
        assert (await bot.ready())["parts"]["asterisk"] == "ready"
        await call.hang_up()
        async with asyncio.timeout(5):
            await bot.ended.wait()
    await nothing_left(asterisk)


async def test_a_caller_is_not_left_on_a_dead_line_when_the_process_ends_at_once(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    async with (
        running_bot(asterisk, workers, tmp_path) as bot,
        Phone() as phone,
        phone.call(number(asterisk)) as call,
    ):
        await call.wait_for_bot_speech(5)
        bot.end_at_once()
        await bot.ended.wait()
        # the dialplan's fallback speaks, then hangs up
        await call.wait_for_end(30)
        assert call.ended_by_far_end
    await nothing_left(asterisk)


async def test_a_caller_whose_call_is_still_connecting_goes_on_in_the_dialplan(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends at once while Asterisk has not yet said that the call's leg is there."""
    building = asyncio.Event()

    async def never(*_: object) -> None:
        building.set()
        await asyncio.Event().wait()

    monkeypatch.setattr("stasis_app.legs._Build._media_started", never)
    async with running_bot(asterisk, workers, tmp_path) as bot, Phone() as phone:
        calling = asyncio.create_task(hears_the_fallback(phone, asterisk))
        await building.wait()
        bot.end_at_once()
        await bot.ended.wait()
        assert await calling
    await nothing_left(asterisk)


async def test_a_caller_refused_as_the_process_ends_goes_on_in_the_dialplan(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hand-back is under way when the process is told to end at once."""
    begun = asyncio.Event()
    set_variable = Ari.set_variable

    async def slow(self: Ari, channel_id: str, name: str, value: str) -> None:
        begun.set()
        await asyncio.sleep(0.2)
        await set_variable(self, channel_id, name, value)

    monkeypatch.setattr(Ari, "set_variable", slow)
    async with running_bot(asterisk, workers, tmp_path, profile_name="other") as bot, Phone() as phone:
        calling = asyncio.create_task(hears_the_fallback(phone, asterisk))
        await begun.wait()
        bot.end_at_once()
        await bot.ended.wait()
        assert await calling
    await nothing_left(asterisk)


async def test_a_caller_on_hold_is_not_asked_whether_they_are_there(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    quick = PROFILE.model_copy(update={"no_input_s": 1.0, "no_input_prompts": 1})
    impatient = MEDIA.model_copy(update={"media_timeout_s": 1.0})
    async with (
        running_bot(asterisk, workers, tmp_path, profile=quick, media=impatient) as bot,
        Phone() as phone,
        phone.call(number(asterisk)) as call,
    ):
        await call.wait_for_bot_speech(5)
        await call.hold()
        # nothing comes from a phone on hold: neither of the two timers may run meanwhile
        await call.sleep(4)
        assert await bot.metric("voicebot_turns_total", saying="still_there") == 0
        await call.unhold()
        await call.wait_for_bot_speech(5)
        await call.wait_for_end(15)
        assert call.ended_by_far_end
        await bot.until_idle()
        assert await bot.metric("voicebot_turns_total", saying="still_there", end="played") == 1
        assert await bot.metric("voicebot_calls_ended_total", cause="normal") == 1
        await nothing_left(asterisk)


async def test_a_sentence_that_breaks_off_is_not_said_again(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    workers.stt.answers = ["How much is it?"]
    workers.llm.replies = ["The first sentence breaks off. The second one is whole."]
    async with (
        running_bot(asterisk, workers, tmp_path) as bot,
        Phone() as phone,
        phone.call(number(asterisk)) as call,
    ):
        await run_script(call, [WaitGreeting()])
        workers.tts.spoken.clear()
        workers.tts.faults = [Fault.die(after=5)]
        await run_script(call, [Say(QUESTION), WaitAnswer(), HangUp()])
        await bot.until_idle()
    assert [spoken.text for spoken in workers.tts.spoken] == [
        "The first sentence breaks off.",
        "The second one is whole.",
    ]


async def test_a_voice_that_falls_silent_in_mid_answer_is_an_apology(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    workers.stt.answers = ["How much is it?"]
    workers.llm.replies = [["Sure, I can tell you that. ", *"And there is more to say of it. ".split(" ")]]
    workers.llm.token_delay_s = 0.4
    impatient = PROFILE.model_copy(update={"answer_timeout_s": 2.0})
    async with (
        running_bot(asterisk, workers, tmp_path, profile=impatient) as bot,
        Phone() as phone,
        phone.call(number(asterisk)) as call,
    ):
        await run_script(call, [WaitGreeting()])
        said = await call.say(QUESTION)
        await call.wait_for_bot_speech(10, since_s=said.last_voiced_s)
        workers.tts.fault = Fault.hang()
        await call.sleep(9)
        assert await bot.metric("voicebot_turns_total", saying="answer", end="cut") == 1
        assert await bot.metric("voicebot_turns_total", saying="apology", end="played") == 1
        await call.hang_up()
        await bot.until_idle()
    assert await until(lambda: workers.tts.running == 0)


async def test_words_after_a_sound_of_listening_are_answered(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    """ "Okay" over the bot is no turn; what follows it in the same breath is."""
    workers.stt.choose = lambda heard: "Okay." if heard.seconds < 1.7 else "Okay. And how much is it?"
    workers.llm.replies = ["This is a rather long sentence about very many bikes. " * 3, "Nineteen dollars."]
    breath = wav(SHORT)[: int(8000 * 0.95) * 2] + bytes(2 * int(8000 * 0.35)) + wav(QUESTION)
    async with (
        running_bot(asterisk, workers, tmp_path) as bot,
        Phone() as phone,
        phone.call(number(asterisk)) as call,
    ):
        await run_script(call, [WaitGreeting()])
        said = await call.say(QUESTION)
        await call.wait_for_bot_speech(10, since_s=said.last_voiced_s)
        await call.sleep(1.0)
        await call.say(breath)
        await call.sleep(4)
        await call.hang_up()
        await bot.until_idle()
    asked = [
        message["content"] for message in workers.llm.requests[-1]["messages"] if message["role"] == "user"
    ]
    assert asked[-1].endswith("Okay. And how much is it?")


def wav(path: Path) -> bytes:
    """The pcm of a clip."""
    with wave.open(str(path)) as clip:
        pcm: bytes = clip.readframes(clip.getnframes())
    return pcm
