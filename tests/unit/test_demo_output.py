"""What the demo shows of a transcript."""

from pathlib import Path

from voicebot.demo import answers, conversation, read_transcript, script, stages
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
    assert len(wavs) == 3
    assert all(wav.is_file() for wav in wavs)


def test_table_columns_are_as_wide_as_needed() -> None:
    assert table(("a", "bb"), [("ccc", "d"), ("e", "")]).splitlines() == ["a    bb", "---  --", "ccc  d", "e"]
