"""The share of given first words in the decoder's first step."""

from math import log

import numpy as np
import pytest

from gpu_workers.stt.first_words import first_tokens, is_worth_it, share_logprob

TOKENS = {
    " Mm": [1],
    "Mm": [2],
    " Yeah": [3],
    "Yeah": [3, 4],
    " OK": [5],
    "OK": [6],
    " Uh-huh": [7, 8],
    "Uh-huh": [7, 8],
}


def test_each_word_is_looked_for_with_a_capital_and_with_and_without_a_blank() -> None:
    assert first_tokens(("mm", "yeah", "OK"), TOKENS.__getitem__) == [1, 2, 3, 5, 6]


def test_a_word_of_several_tokens_has_none() -> None:
    """What it begins with begins other words too."""
    assert first_tokens(("uh-huh",), TOKENS.__getitem__) == []


def test_their_probabilities_are_added() -> None:
    logits = np.log(np.array([0.5, 0.2, 0.1, 0.2], np.float32)) + 7
    assert share_logprob(logits, [1, 2]) == pytest.approx(log(0.3), abs=1e-5)
    assert share_logprob(logits, [0, 1, 2, 3]) == pytest.approx(0, abs=1e-5)


def test_nothing_is_a_very_small_share_and_no_error() -> None:
    assert share_logprob(np.array([1000.0, -1000.0], np.float32), [1]) < -60
    assert share_logprob(np.array([1.0, 2.0], np.float32), []) < -60


@pytest.mark.parametrize(
    ("text", "worth"),
    [("Why?", True), ("What's that?", True), ("I do not know.", True), ("I do not know that.", False), ("", False),
     ("Yeah, swimming.", False), ("yeah", False), ("OK!", False), ("Yeahs", True)],
)  # fmt: skip
def test_it_says_something_of_few_words_that_do_not_begin_so(text: str, worth: bool) -> None:
    assert is_worth_it(text, ("yeah", "OK")) is worth


def test_nothing_is_asked_without_words() -> None:
    assert not is_worth_it("Why?", ())
