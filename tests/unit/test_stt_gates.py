"""What of a decoding becomes text. The figures are measured ones of base and tiny.en (see gates.py)."""

import pytest

from gpu_workers.stt.gates import Decoding, is_doubtful, is_runaway, spoken_text, token_limit


def decoding(text: str, no_speech: float = 0.02, logprob: float = -0.1, tokens: int = 8) -> Decoding:
    return Decoding(text, tokens, no_speech, logprob, "en")


@pytest.mark.parametrize(
    ("text", "no_speech", "logprob", "length_s"),
    [
        ("How much does the monthly plan cost?", 0.002, -0.09, 2.4),
        ("Two people.", 0.056, -0.23, 1.4),
        ("555 0142", 0.03, -0.28, 3.0),
        ("Thank you.", 0.04, -0.2, 1.0),
        ("No, no, no.", 0.1, -0.4, 1.5),
        ("Sí.", 0.2, -0.5, 0.6),
        ("643-78-912", 0.62, -0.31, 5.0),  # with long pauses
        ("Please, can't for my reservation for tomorrow.", 0.057, -0.73, 3.5),
    ],
)
def test_speech_is_kept(text: str, no_speech: float, logprob: float, length_s: float) -> None:
    assert spoken_text(decoding(text, no_speech, logprob), length_s, -25) == text


@pytest.mark.parametrize(
    ("text", "no_speech", "logprob"),
    [
        ("you", 0.893, -0.61),  # digital silence, base
        ("you", 0.989, -0.65),  # digital silence, tiny.en
        ("Thank you.", 0.876, -0.82),
        ("Untertitel der Amara.org-Community", 0.7, -0.4),
        (". . . . . . . .", 0.2, -0.22),
        ("I'm not going to be able to do that.", 0.52, -1.68),  # clicks
        ("I'm going to put the oil in the pan.", 0.841, -1.5),  # white noise
        ("Oh", 0.672, -2.16),  # dial tone
        ("Uh-oh.", 0.41, -0.59),  # a cough, base
        ("", 0.1, -0.1),
        ("♪ ♪", 0.1, -0.1),
    ],
)
def test_silence_and_noise_are_not(text: str, no_speech: float, logprob: float) -> None:
    assert spoken_text(decoding(text, no_speech, logprob), 4.0, -30) == ""


def test_a_subtitle_phrase_needs_a_voice() -> None:
    assert spoken_text(decoding("Thank you.", 0.1), 1.0, -50) == ""
    assert spoken_text(decoding("Thank you.", 0.4, -0.5), 1.0, -25) == ""
    assert spoken_text(decoding("Thank you, goodbye.", 0.1), 1.9, -50) == "Thank you, goodbye."


@pytest.mark.parametrize(
    ("text", "tokens", "length_s"),
    [
        ("Two people Two people Two people", 9, 4.0),
        ("yes yes yes yes yes", 5, 4.0),
        ("one two three four five six seven eight nine ten", 12, 1.0),
        ("hello", token_limit(2.0), 2.0),
        ("Ooooooooooooooooooo", 9, 6.0),  # a tone of 6 s in a window of 9 s, base
        ("Rrrrrrrrrrr", 9, 1.2),  # a clearing of the throat
    ],
)
def test_a_decoder_that_lost_the_sound_is_noticed(text: str, tokens: int, length_s: float) -> None:
    assert is_runaway(decoding(text, tokens=tokens), length_s)
    assert spoken_text(decoding(text, tokens=tokens), length_s, -20) == ""


def test_a_spelled_name_is_no_runaway() -> None:
    spelled = decoding("My last name is Johnson, that is spelled J-O-H-N-S-O-N.", tokens=22)
    assert not is_runaway(spelled, 5.2)


@pytest.mark.parametrize(
    "text",
    [
        "Hold on a second. Let me find my papers. Hold on a second. Let me find my papers",  # base, 6 s window
        "I forgot my password and I cannot log in. I forgot my password and I cannot log",
        "Operator please. Operator please. Oper",
        "You can reach me at 555 0142 0142",
        "No, no.",
        "お願いします。お願いします。",
        "我要订一张票我要订一张票",
    ],
)  # fmt: skip
def test_what_is_said_twice_is_heard_again(text: str) -> None:
    """It is kept if the longer window hears it, too: it may have been said twice."""
    assert is_doubtful(decoding(text), 4.0)
    assert spoken_text(decoding(text), 4.0, -25) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Yes.",
        "I live at 23 Maple Street near the old library.",
        "It is, I think it is.",
        "はい。",
        "예 예전에",
    ],
)
def test_what_is_said_once_is_not(text: str) -> None:
    assert not is_doubtful(decoding(text), 4.0)


@pytest.mark.parametrize(("no_speech", "logprob"), [(0.3, -0.2), (0.05, -0.8), (0.9, -0.6)])
def test_where_it_is_not_clear_that_somebody_spoke_a_longer_window_decides(
    no_speech: float, logprob: float
) -> None:
    assert is_doubtful(decoding("I see.", no_speech, logprob), 1.0)
