"""What the model is told of the talk: only what was heard."""

from collections.abc import Sequence
from itertools import pairwise

from stasis_app.history import MOST_WHOLE, OLD_RESULT, PICKED_UP, History, Message, ToolUse
from stasis_app.settings import Example, Profile
from stasis_app.tools.settings import Tools

PROMPT = Message("system", "You are a shop.")


def talk(*turns: str) -> History:
    history = History(PROMPT.text)
    for number, text in enumerate(turns):
        if number % 2:
            history.bot_said(text, cut=False)
        else:
            history.caller_said(text)
    return history


def test_the_prompt_is_first_and_the_talk_in_order() -> None:
    history = talk("Are you open?", "Yes.")
    assert history.messages() == (PROMPT, Message("user", "Are you open?"), Message("assistant", "Yes."))


def test_an_answer_cut_short_is_marked() -> None:
    history = talk("What did you say?")
    history.bot_said("The monthly plan", cut=True)
    assert history.messages()[-1].text == "The monthly plan ..."


def test_nothing_heard_is_nothing_stored_and_both_questions_are_answered_together() -> None:
    history = talk("I want a bike.")
    history.bot_said("", cut=True)
    history.caller_said("A red one.")
    assert history.messages()[1:] == (Message("user", "I want a bike. A red one."),)


def test_a_preview_is_not_remembered() -> None:
    history = talk("One", "Two")
    assert history.messages("Three")[-1] == Message("user", "Three")
    assert history.messages()[-1] == Message("assistant", "Two")


def test_a_preview_joins_an_unanswered_question() -> None:
    history = talk("One")
    assert history.messages("Two")[-1] == Message("user", "One Two")
    assert history.messages()[-1] == Message("user", "One")


def test_two_phrases_of_the_bot_in_a_row_are_one_message() -> None:
    history = talk("One", "Two")
    history.bot_said("Are you still there?", cut=False)
    assert history.messages()[-1].text == "Two Are you still there?"


def test_a_long_talk_forgets_in_steps_so_that_the_prefix_stays() -> None:
    history = History(PROMPT.text, max_messages=8)
    starts = set()
    for number in range(40):
        history.caller_said(f"q{number}")
        history.bot_said(f"a{number}", cut=False)
        messages = history.messages()
        assert messages[0] == PROMPT
        assert len(messages) <= 9
        assert messages[1].role == "user"
        starts.add(messages[1].text)
    assert len(starts) < 22


def test_examples_stand_between_the_prompt_and_the_talk() -> None:
    history = History(PROMPT.text, (Example(caller="Open?", bot="Until six."),))
    history.caller_said("Where are you?")
    assert [message.text for message in history.messages()] == [
        PROMPT.text,
        "Open?",
        "Until six.",
        "Where are you?",
    ]


def test_a_greeting_is_preceded_by_the_caller_as_chat_templates_want_it() -> None:
    history = History(PROMPT.text)
    history.bot_said("Good day.", cut=False)
    assert history.messages()[1:] == (Message("user", PICKED_UP), Message("assistant", "Good day."))


USE = ToolUse("call00001", "status", '{"n": 1}', '{"data": "ready"}')


def test_a_tool_and_its_result_stand_where_it_ended() -> None:
    history = talk("Where is it?")
    history.tool_used(USE)
    history.bot_said("It is ready.", cut=False)
    history.caller_said("Thanks.")
    assert history.messages()[1:] == (
        Message("user", "Where is it?"),
        Message("assistant", "", USE),
        Message("tool", USE.result, USE),
        Message("assistant", "It is ready."),
        Message("user", "Thanks."),
    )
    assert history.last_answer() == "It is ready."


def test_no_window_of_messages_parts_a_call_from_its_result() -> None:
    history = History(PROMPT.text, max_messages=4)
    for _ in range(9):
        history.caller_said("Where is it?")
        history.tool_used(USE)
        history.bot_said("It is ready.", cut=False)
        roles = [message.role for message in history.messages()[1:]]
        assert roles[0] == "user"
        assert all(before == "assistant" for before, role in pairwise(roles) if role == "tool")
        assert roles.count("tool") == sum(
            message.role == "assistant" and message.use is not None for message in history.messages()
        )


def test_words_follow_an_answer_only_where_no_others_stand_between() -> None:
    history = talk("The workshop, please.", "Shall I put you through?")
    assert history.answered_with("Sure.") == "Shall I put you through?"
    history.caller_said("Sure.")
    assert history.answered_with("Sure.") == "Shall I put you through?"
    history.bot_said("", cut=True)
    history.caller_said("Go ahead.")
    assert history.answered_with("Go ahead.") == ""
    assert history.answered_with("Yes.") == ""


def test_words_before_and_behind_a_tool_are_others_all_the_same() -> None:
    history = talk("The workshop, please.", "Shall I put you through?")
    history.caller_said("No, wait.")
    history.tool_used(USE)
    history.caller_said("Sure.")
    assert history.answered_with("Sure.") == ""


def test_only_the_newest_results_stay_whole_and_older_ones_go_in_steps() -> None:
    history, changes = History(PROMPT.text), 0
    before: Sequence[Message] = ()
    for number in range(1, 10):
        history.caller_said("Where is it?")
        history.tool_used(ToolUse(f"call{number:05d}", "status", "{}", f"{number}" * 1500))
        history.bot_said("It is ready.", cut=False)
        results = [message.text for message in history.messages() if message.role == "tool"]
        whole = [text for text in results if text != OLD_RESULT]
        assert 1 < len(whole) <= MOST_WHOLE or number == 1
        assert whole == [f"{one}" * 1500 for one in range(number + 1 - len(whole), number + 1)]
        messages = history.messages()
        changes += messages[: len(before)] != before
        before = messages
    assert changes == 3, "the model's prefix cache lives on what does not change"


def test_a_result_shorter_than_the_note_stays() -> None:
    history = talk("Where is it?")
    for number in range(9):
        history.tool_used(ToolUse(f"call{number:05d}", "status", "{}", "{}"))
    assert [message.text for message in history.messages() if message.role == "tool"] == ["{}"] * 9


def tokens(history: History) -> int:
    return sum(len(message.text) for message in history.messages()[1:]) // 3


def test_a_long_talk_stays_inside_the_model_s_window_and_its_prefix_stays_for_many_turns() -> None:
    history, starts = History(PROMPT.text, room=2000), set()
    for number in range(40):
        history.caller_said(f"q{number} " + "why " * 25)
        assert tokens(history) <= 2000
        assert history.messages()[-1].text.startswith(f"q{number} ")
        history.bot_said(f"a{number} " + "because " * 75, cut=False)
        assert tokens(history) <= 2000
        starts.add(history.messages()[1].text)
    assert len(history.messages()) > 4
    assert len(starts) < 18


def test_without_any_room_the_newest_words_are_shown_all_the_same() -> None:
    history = History(PROMPT.text, room=0)
    history.caller_said("Are you open?")
    history.bot_said("Yes.", cut=False)
    history.caller_said("Until when?")
    assert history.messages() == (PROMPT, Message("user", "Until when?"))


def test_results_of_tools_take_room_too() -> None:
    history = History(PROMPT.text, room=1000)
    for number in range(4):
        history.caller_said("Where is it?")
        history.tool_used(ToolUse(f"call{number:05d}", "status", "{}", "x" * 1500))
        history.bot_said("It is ready.", cut=False)
    assert sum(message.role == "tool" for message in history.messages()) == 1


def test_the_room_is_what_prompt_examples_tools_and_an_answer_leave() -> None:
    profile = Profile(prompt="x" * 4000, max_tokens=160)
    assert History.of(profile, None).room is None
    assert History.of(profile, 4096).room == 4096 - 160 - 1000
    with_tools = Profile(prompt="x" * 4000, max_tokens=160, tools=Tools(hang_up=True))
    assert 0 < (History.of(with_tools, 4096).room or 0) < 4096 - 160 - 1000
    assert History.of(profile, 1024).room == 0
