"""`voicebot demo`: everything up, one call with recorded questions, what was said and how fast, everything down."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from caller_phone.script import HangUp, Interrupt, Murmur, Say, Step, WaitAnswer, WaitGreeting
from voicebot import supervise
from voicebot.config import Config
from voicebot.errors import UsageError
from voicebot.place_call import all_answered, figures, number_uri, talk
from voicebot.run_folder import run_folder
from voicebot.speech import speech_file
from voicebot.table import table
from voicebot.up import running

EXTENSION = "1000"
_INTERRUPT_AFTER_S = 0.7  # of the bot's speech: in the middle of even a short answer
_MURMUR_AFTER_S = 0.5
_PLOT = (
    'a question, "mm-hm" over its answer; a wish with pauses inside, a cough over its answer; a question, words over'
    " its answer"
)
_QUIET_MS = 2500.0  # longer than between "one moment, please" and the answer on a slow machine
_STAGES = {
    "decision": "turn over",
    "stt_done": "heard",
    "first_token": "first token",
    "first_sentence": "first sentence",
    "first_audio": "first audio",
    "first_packet": "first packet",
}


def script() -> list[Step]:
    """A question, with "mm-hm" over its answer; a wish with pauses inside, with a cough over its answer; a second
    question, whose answer is interrupted.
    """
    return [
        WaitGreeting(),
        Say(speech_file("price01")),
        Murmur(speech_file("hum01"), after_s=_MURMUR_AFTER_S),
        WaitAnswer(quiet_ms=_QUIET_MS),
        Say(speech_file("pause01")),
        Murmur(speech_file("cough01"), after_s=_MURMUR_AFTER_S),
        WaitAnswer(quiet_ms=_QUIET_MS),
        Say(speech_file("pay01")),
        Interrupt(speech_file("repeat01"), after_s=_INTERRUPT_AFTER_S),
        WaitAnswer(quiet_ms=_QUIET_MS),
        HangUp(),
    ]


async def demo(config: Config, text: str, record: Path, say: supervise.Say, hurry: asyncio.Event) -> int:
    """0 when the greeting came and every question was answered, else 1. Raises what `running` and the phone raise."""
    if not config.asterisk.start:
        raise UsageError(
            "the demo calls the Asterisk that voicebot brings: set asterisk.start to true, or use `voicebot call`"
        )
    steps = script()
    questions = sum(isinstance(step, Say | Interrupt) for step in steps)
    with run_folder() as folder:
        transcript = folder / "transcript.jsonl"
        async with running(config, text, say, hurry, transcript) as system:
            say(f"\n{system.table()}\n\nCalling {EXTENSION}: {_PLOT} ...")
            result = await talk(number_uri(config, EXTENSION), steps)
            say("The call is over; stopping.")
        turns = read_transcript(transcript)
    record.parent.mkdir(parents=True, exist_ok=True)
    result.recording.write_wav(record)
    # the phone hears that something was said; that it was no "are you still there?" only the call process knows
    answered = all_answered(result, questions) and answers(turns) >= questions
    say(f"\nWhat was said:\n{conversation(turns)}")
    say(
        "\nAs the caller heard it (response: last sound of the question to first sound of the answer):\n"
        f"{figures(result)}"
    )
    say(f"\nWhere the time went (ms after the last sound of the question):\n{stages(turns)}")
    say(f"\nThe call (left: caller, right: bot): {record}")
    say("Every question was answered." if answered else "NOT every question was answered.")
    return 0 if answered else 1


def read_transcript(path: Path) -> list[dict[str, object]]:
    """The turns the call process wrote; a last line that was cut off is left out."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def answers(turns: Sequence[dict[str, object]]) -> int:
    """How many turns answered words of the caller with words of the model."""
    return sum(
        turn.get("saying") == "answer" and bool(turn.get("caller")) and bool(turn.get("bot"))
        for turn in turns
    )


def conversation(turns: Sequence[dict[str, object]]) -> str:
    """Both sides, in order. The bot's side is what was heard of it."""
    lines = []
    for turn in turns:
        if turn.get("caller"):
            lines.append(f"  caller: {turn['caller']}")
        if turn.get("bot"):
            lines.append(f"  bot:    {turn['bot']}{' -- (interrupted)' if turn.get('cut') else ''}")
        elif turn.get("cut"):
            lines.append("  bot:    (interrupted before the first word)")
    return "\n".join(lines) or "  (nothing)"


def stages(turns: Sequence[dict[str, object]]) -> str:
    """One line for each turn that answers the caller."""
    rows = []
    for turn in turns:
        times = turn.get("ms_after_speech_end")
        if turn.get("caller") and isinstance(times, dict):
            words = str(turn["caller"])
            question = words if len(words) <= 40 else f"{words[:37]}..."
            rows.append((question, *(str(times.get(stage, "-")) for stage in _STAGES)))
    return table(("question", *_STAGES.values()), rows) if rows else "  (no turn)"
