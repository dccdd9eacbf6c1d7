"""The most important talks once more over the websocket and AudioSocket: what they hold of RTP holds of them."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from media_bridge.settings import TransportName
from tests.support import talk as talks
from tests.support import talk_lines
from tests.wire import test_talk_eager as eager
from tests.wire import test_talk_interruptions as over_the_bot

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]

TALKS: dict[str, Callable[[RunVirtual], None]] = {
    "cut at a word": over_the_bot.test_what_was_cut_is_remembered_up_to_the_last_whole_word,
    "nobody heard": over_the_bot.test_an_answer_nobody_heard_is_not_remembered_and_both_questions_are_answered_together,
    "cough": partial(
        over_the_bot.test_a_sound_that_wants_nothing_costs_no_word, sound=over_the_bot.COUGH, words=""
    ),
    "okay": partial(
        over_the_bot.test_a_sound_that_wants_nothing_costs_no_word, sound=over_the_bot.SHORT, words="Okay."
    ),
    "late yes": partial(
        over_the_bot.test_a_short_yes_over_a_question_is_its_answer_however_late_it_is_read, late_s=0.6
    ),
    "begun too early": eager.test_an_answer_begun_too_early_is_stopped_at_once_and_never_remembered,
    "answered once": eager.test_the_answer_is_to_all_that_was_said_and_is_given_once,
    "dictation": eager.test_a_dictated_number_is_one_turn_with_all_its_digits,
}


@pytest.mark.parametrize("transport", ["websocket", "audiosocket"])
@pytest.mark.parametrize("name", TALKS)
def test_a_talk_over_another_transport(
    virtual_time: RunVirtual, monkeypatch: pytest.MonkeyPatch, name: str, transport: TransportName
) -> None:
    monkeypatch.setattr(talks, "TRANSPORT", transport)
    monkeypatch.delitem(talk_lines.LINES, "rtp")
    TALKS[name](virtual_time)
