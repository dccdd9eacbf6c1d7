"""Errors of workers, without what callers said (P12)."""

import pytest

from gpu_workers.client.quoting import texts_of, without_quotes

SENT = {
    "model": "qwen2.5-1.5b",
    "messages": [
        {"role": "system", "content": "You answer the telephone of Lakeside Bikes."},
        {"role": "user", "content": "My name is Schneider, my number is 0170 555123."},
        {"role": "assistant", "content": None},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {
                    "id": "1",
                    "function": {"name": "book", "arguments": '{"who": "Ren\\u00e9", "at": "20775"}'},
                },
                "nonsense",
                {"function": None},
                {"function": {"arguments": "{cut off by Oberon"}},
            ],
        },
        {"role": "assistant", "tool_calls": 1},
        "nonsense",
    ],
    "input": "We call you back, Mrs Schneider.",
}


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("status 400, cannot speak 'Schneider'", "status 400, cannot speak [...]"),
        ('bad input: "My name is Schneider, my number is 0170 555123."', "bad input: [...]"),
        (
            "input_value={'role': 'user', 'content': 'my NAME is Schneider'}",
            "input_value={'role': 'user', 'content': [...]}",
        ),
        ("at my number is 0170 555123 it failed", "at [...] it failed"),
        ("tokens 555123 too many", "tokens [...] too many"),
        ("it failed on: my name\nis `Schneider`", "it failed on: [...]"),
        ("‘x’ “Lakeside Bikes” 'can\\'t'", "‘x’ [...] 'can\\'t'"),
        ("bad arguments 20775", "bad arguments [...]"),
        ('\'arguments\': \'{"who": "René", "at"\'', "'arguments': [...]"),
        ("cannot read \"René\" or 'Oberon'", "cannot read [...] or [...]"),
        ("can't speak 'Schneider'", "can't speak [...]"),
        ("cannot speak 'Mrs Schneid", "cannot speak 'Mrs Schneid"),
        ("cannot speak 'Mrs Schneider", "cannot speak [...]"),
        ("The model 'qwen2.5-1.5b' does not exist", "The model 'qwen2.5-1.5b' does not exist"),
        ("maximum context length is 4096 tokens", "maximum context length is 4096 tokens"),
        ("", ""),
    ],
)
def test_what_is_quoted_is_left_out(message: str, shown: str) -> None:
    assert without_quotes(message, texts_of(SENT)) == shown


def test_a_message_has_one_line() -> None:
    assert without_quotes("one\r\n2026-01-01 call 1 ended\n", []) == "one 2026-01-01 call 1 ended"
