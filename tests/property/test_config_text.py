"""Whatever stands in a file: a Config or a ConfigError, nothing else."""

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from voicebot.config import Config, ConfigError, parse

KEYS = sorted(
    {"x", "${A}", *Config.model_fields, "stt", "jitter", "default", "port", "prompt", "start", "url", "host"}
)
VALUES = st.recursive(
    st.sampled_from(
        [
            "null",
            "~",
            "-1",
            "1e999",
            "0x",
            "no",
            "'${A}'",
            "'${'",
            "2001-99-99",
            "!!binary x",
            "1:70",
            "[]",
            "text",
        ]
    ),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4).map(
            lambda items: "{" + ", ".join(f"'{key}': {value}" for key, value in items.items()) + "}"
        )
    ),
    max_leaves=12,
)


@given(st.text() | VALUES | st.binary().map(lambda raw: raw.decode("latin-1")))
def test_any_text(text: str) -> None:
    with suppress(ConfigError):
        assert isinstance(parse(text, "any.yaml", {"A": "a"}), Config)


@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=5))
def test_any_values_under_the_known_keys(sections: dict[str, str]) -> None:
    text = "\n".join(f"'{key}': {value}" for key, value in sections.items())
    with suppress(ConfigError):
        assert isinstance(parse(text, "any.yaml", {"A": "a"}), Config)
