"""What the demo shows of a transcript."""

from pathlib import Path
from typing import Any

from caller_phone.recording import Recording
from caller_phone.ruler import packet_figures
from caller_phone.script import Murmured, TalkResult, Turn
from voicebot.demo import answers, conversation, read_transcript, script, stages
from voicebot.place_call import turn_taking
from voicebot.table import table

TURNS: list[dict[str, object]] = [
    {"caller": "", "bot": "Good day.", "cut": False, "ms_after_speech_end": {}},
    {
        "caller": "How much does the monthly plan cost?",
        "bot": "Nineteen",
        "cut": True,
        "ms_after_speech_end": {"decision": 350, "stt_done": 300, "first_packet": 700},
    },
    {
        "caller": "Thank you, goodbye, and have a very nice evening.",
        "bot": "",
        "cut": True,
        "ms_after_speech_end": {},
    },
]


def test_both_sides_in_order() -> None:
    assert conversation(TURNS).splitlines() == [
        "  bot:    Good day.",
        "  caller: How much does the monthly plan cost?",
        "  bot:    Nineteen -- (interrupted)",
        "  caller: Thank you, goodbye, and have a very nice evening.",
        "  bot:    (interrupted before the first word)",
    ]
    assert conversation([]) == "  (nothing)"


def test_stages_of_what_answers_the_caller() -> None:
    lines = stages(TURNS).splitlines()
    assert lines[0].split("  ")[0] == "question"
    assert lines[2].split("?")[1].split() == ["350", "300", "-", "-", "-", "700"]
    assert lines[3].startswith("Thank you, goodbye, and have a very n...  -")


def test_only_words_of_the_model_for_words_of_the_caller_are_an_answer() -> None:
    def turn(saying: str, caller: str, bot: str) -> dict[str, object]:
        return {"saying": saying, "caller": caller, "bot": bot}

    assert answers([turn("answer", "How much?", "Nineteen.")]) == 1
    assert answers([turn("still_there", "", "Still there?"), turn("apology", "How much?", "Sorry.")]) == 0
    assert answers([turn("answer", "How much?", "")]) == 0


def test_a_transcript_that_is_still_being_written(tmp_path: Path) -> None:
    file = tmp_path / "transcript.jsonl"
    assert read_transcript(file) == []
    file.write_text('{"bot": "a"}\n{"bot": "b"}\n{"bot": "c')
    assert read_transcript(file) == [{"bot": "a"}, {"bot": "b"}]


def test_the_script_plays_what_is_there() -> None:
    wavs = [Path(step.wav) for step in script() if hasattr(step, "wav")]
    assert len(wavs) == 6
    assert all(wav.is_file() for wav in wavs)


def test_what_the_bot_made_of_pauses_and_of_sounds_over_it() -> None:
    def turn(said: str, **figures: Any) -> Turn:
        found = {
            "answered": True,
            "response_ms": 640.0,
            "answer_duration_ms": 900.0,
            "cut_ms": None,
            "early_ms": None,
        }
        return Turn(said, 1.0, 2.0, **(found | figures))

    result = TalkResult(
        turns=(
            turn("price.wav"),
            turn("a.wav", pauses_ms=(900.0, 400.2)),
            turn("b.wav", pauses_ms=(900.0,), response_ms=None, early_ms=1200.0),
            turn("c.wav", cut_ms=168.0),
        ),
        murmurs=(
            Murmured("hum.wav", "a.wav", 640.0),
            Murmured("cough.wav", "b.wav", 0.0),
            Murmured("hum.wav", "c.wav", None),
        ),
        greeting_ms=200.0,
        finished=True,
        stopped_at=None,
        ended_by_far_end=False,
        packets=packet_figures([]),
        skipped_ticks=0,
        recording=Recording((), ()),
    )
    assert turn_taking(result) == [
        "a.wav, with pauses of 900 ms and 400 ms inside: waited for, answered 640 ms after its end",
        "b.wav, with pauses of 900 ms inside: answered 1200 ms before its end",
        "c.wav, over the bot: it stopped after 168 ms",
        "hum.wav, over the answer to a.wav: silent for 640 ms, then it went on",
        "cough.wav, over the answer to b.wav: it talked on",
        "hum.wav, over the answer to c.wav: no more was heard of it",
    ]


def test_table_columns_are_as_wide_as_needed() -> None:
    assert table(("a", "bb"), [("ccc", "d"), ("e", "")]).splitlines() == ["a    bb", "---  --", "ccc  d", "e"]
