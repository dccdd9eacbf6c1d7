"""voicebot.yaml: a Config or a ConfigError, which shows no secret."""

from voicebot.config import ConfigError, parse
from voicebot.config.model import Config

TOKENS = tuple(
    text.encode()
    for text in (
        *(f"{name}:" for name in Config.model_fields), "workers: {llm: {",
        "url: http://[", "profiles:\n  default:\n    ", "stt:", "tts:",
        "password: ", "api_key: ", "${SECRET}", "${", "$${", "!!int ", "!!float ", "!!bool ", "!!null ",
        "!!binary ",
        "!!timestamp ", "!!omap ", "!!set ", "!!python/name:os.system ", "!!str ", "!!map ", "&a ",
        "*a", "<<: ", "? ", "|\n",
        ">-\n", "%YAML 1.1\n---\n", "---\n", "...\n", '"\\x00"', '"\\U7fffffff"', '"\\ud800"', "0x",
        "0b", "0o", "1:70", ".inf", ".nan",
        "1e999", "2001-99-99", "~", "[", "{", "\ufeff", "\x85", "\u2028", "\x00",
    )
)  # fmt: skip
MAX_LEN = 4096

_SECRET = "correct-horse-battery"
_NAME = "voicebot.yaml"


def one_input(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    try:
        config = parse(text, _NAME, {"SECRET": _SECRET, "EMPTY": "", "LINE_END": f"{_SECRET}\n"})
    except ConfigError as error:
        _is_fit_to_print(str(error), text)
        return
    assert _SECRET in text or _SECRET not in repr(config.ari) + repr(config.workers)
    # every text of it goes to a model, to Asterisk or to a page
    config.model_dump_json().encode()


def _is_fit_to_print(message: str, text: str) -> None:
    message.encode()
    first, *lines = message.split("\n")
    assert first.startswith(f"{_NAME}: ")
    assert lines
    assert _SECRET in text or _SECRET not in message
