"""Which expressions are taken for slow: none that is, and none that people write for numbers, dates and names."""

import pytest

from stasis_app.tools.backtracking import is_slow


@pytest.mark.parametrize(
    ("pattern", "length"),
    [
        ("[0-9]{6}", 100),
        (r"[a-z0-9.]+@[a-z0-9]+\.[a-z]+", 100),
        (r"(\d{3}-){2}\d{4}", 20),
        (r"[A-Z]{1,3}-?[A-Z]{1,2} ?[0-9]{1,4}[EH]?", 20),
        (r"(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day( (morning|afternoon))?", 100),
        ("(?i:[a-z ]+)", 1000),
        (r"(?=.*[0-9])[A-Z0-9]+", 100),
        (r"\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2})?", 100),
        (r"(a)?(?(1)b+|c+)", 100),
    ],
)
def test_what_is_quick_is_taken(pattern: str, length: int) -> None:
    assert not is_slow(pattern, length)


@pytest.mark.parametrize(
    ("pattern", "length"),
    [
        ("([A-Z0-9]+-?)+", 30),
        ("(a|a)*", 30),
        ("(a|aa)+", 30),
        ("(a?){30}a{30}", 30),
        ("a*a*a*a*b", 100),
        ("((a*)*)*", 8),
        ("(?:a+?)+?b", 30),
        ("(?:(?:a+)+)++", 30),
        ("(?>(a+)+)b", 30),
        ("(?!(a+)+b)c", 30),
        ("(x)?(?(1)(a+)+|b)", 30),
        ("(?:a?){10000000}b", 100),
        ("((?:){10000}){10000}", 100),
        ("(){10000000}", 100),
    ],
)
def test_what_is_slow_is_not(pattern: str, length: int) -> None:
    assert is_slow(pattern, length)
