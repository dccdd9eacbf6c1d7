"""Keys of the caller's phone (A11)."""

from stasis_app.keypad import MAX_DIGITS, Keypad


def press(pad: Keypad, keys: str) -> list[bool]:
    return [pad.press(key) for key in keys]


def test_digits_are_collected_in_order_until_the_terminator() -> None:
    pad = Keypad()
    press(pad, "0551*")
    assert not pad.is_complete(None)
    press(pad, "#")
    assert pad.is_complete(None)
    assert pad.take() == "0551*"
    assert (pad.take(), pad.is_complete(None)) == ("", False)


def test_as_many_as_were_asked_for_are_complete() -> None:
    pad = Keypad()
    press(pad, "123")
    assert not pad.is_complete(4)
    press(pad, "4")
    assert pad.is_complete(4)


def test_a_flood_is_cut_at_the_limit() -> None:
    pad = Keypad()
    taken = press(pad, "7" * 10_000)
    assert taken == [True] * MAX_DIGITS + [False] * (10_000 - MAX_DIGITS)
    assert pad.take() == "7" * MAX_DIGITS


def test_what_is_no_key_is_forgotten() -> None:
    pad = Keypad()
    assert press(pad, "x\n1") == [False, False, True]
    assert pad.take() == "1"


def test_digits_are_not_shown() -> None:
    pad = Keypad()
    press(pad, "4711")
    assert "4711" not in repr(pad)
