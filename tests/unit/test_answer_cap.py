"""Where too long an answer is cut (W5)."""

import pytest

from stasis_app.answer_cap import AnswerCap


def spoken(cap: AnswerCap, chunks: list[str], seconds: float = 1.0) -> int:
    """How many of these chunks are spoken."""
    for number, chunk in enumerate(chunks, 1):
        if cap.speak(chunk, seconds * number):
            return number
    return len(chunks)


SENTENCE = "It has 18 letters."


@pytest.mark.parametrize(
    ("cap", "heard"),
    [
        (AnswerCap(54, 100, 100.0), 3),
        (AnswerCap(55, 100, 100.0), 4),
        (AnswerCap(1000, 2, 100.0), 2),
        (AnswerCap(1000, 100, 5.0), 5),
    ],
)
def test_characters_sentences_and_seconds_each_end_it(cap: AnswerCap, heard: int) -> None:
    assert spoken(cap, [SENTENCE] * 10) == heard


def test_the_sentence_in_hand_is_spoken_to_its_end() -> None:
    assert (
        spoken(AnswerCap(40, 100, 100.0), ["We have bikes,", "and many other things", "and so on.", "More."])
        == 3
    )


def test_a_sentence_without_end_is_cut_all_the_same() -> None:
    assert spoken(AnswerCap(100, 100, 100.0), ["and so on and on and"] * 100) == 15


@pytest.mark.parametrize("chunk", ["好。", "नमस्ते।", "He said “no.”", "(Closed.)", "**Yes!**"])
def test_a_sentence_end_in_any_dress(chunk: str) -> None:
    assert AnswerCap(1, 100, 100.0).speak(chunk, 0.0)


def test_a_model_that_writes_for_ever_without_a_word_is_stopped() -> None:
    cap = AnswerCap(100, 10, 60.0)
    assert sum(not cap.write("\n") for _ in range(5000)) == 1000
