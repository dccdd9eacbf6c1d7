"""voicebot.yaml: what is taken, and that everything wrong is told at once with its place and the mend."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.configuration import config, only_problem, problems
from voicebot.config import Config, ConfigError, dotted, load
from voicebot.config.problems import key_names

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "voicebot.example.yaml"


class TestExample:
    def test_it_is_the_defaults(self) -> None:
        assert load(EXAMPLE, {}) == config("") == Config()

    def test_it_has_every_key(self) -> None:
        data = yaml.safe_load(EXAMPLE.read_text())
        profile = data.pop("profiles")["default"]
        profile_type = type(Config().profiles["default"])
        assert set(_paths(data)) == {dotted(path) for path in key_names(Config)} - {"profiles"}
        assert set(_paths(profile)) == {dotted(path) for path in key_names(profile_type)}

    def test_every_key_is_explained(self) -> None:
        lines = EXAMPLE.read_text().splitlines()
        shared = {"port", "host", "rtp_end", "port_end", "default", "bot"}  # explained some lines above
        spoken = set(Config().profiles["default"].instructions.splitlines())
        for number, line in enumerate(lines):
            key, colon, _ = line.strip().partition(":")
            if line.strip() in spoken or not colon or not key.isidentifier():
                continue
            if key not in shared | set(Config.model_fields):
                assert "#" in line or lines[number - 1].strip().startswith("#"), f"line {number + 1}: {line}"


def _paths(data: dict[str, object], above: str = "") -> list[str]:
    found = []
    for key, value in data.items():
        here = f"{above}.{key}" if above else key
        found += _paths(value, here) if isinstance(value, dict) and value else [here]
    return found


class TestFile:
    def test_no_file_means_the_defaults(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        assert load(None, {}) == Config()

    def test_voicebot_yaml_here_is_found(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        Path("voicebot.yaml").write_text("web: {port: 8999}")
        assert load(None, {}).web.port == 8999

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(
            ConfigError, match=r"nowhere\.yaml: No such file or directory: name the file with -c"
        ):
            load(tmp_path / "nowhere.yaml", {})

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="Is a directory"):
            load(tmp_path, {})

    def test_bytes_that_are_no_text(self, tmp_path: Path) -> None:
        (tmp_path / "voicebot.yaml").write_bytes(b"web: \xff\xfe")
        with pytest.raises(ConfigError, match="not a text file"):
            load(tmp_path / "voicebot.yaml", {})

    def test_sections_with_nothing_in_them_are_the_defaults(self) -> None:
        assert config("media:\nworkers:\n  stt:\nprofiles:\n") == Config()


class TestProblems:
    def test_all_at_once_in_order_of_their_lines(self) -> None:
        found = problems(
            "medai: {}\nmedia:\n  port_start: 70000\n  codec: ulow\n  jitter: {min_ms: 100, max_ms: 90}\n"
            "calls:\n  max_calls: many\nprofiles:\n  default: {greeting: hello}\n"
        )
        assert [line.split(": ")[1] for line in found] == [
            "medai",
            "media.port_start",
            "media.codec",
            "media.jitter.min_ms",
            "calls.max_calls",
            "profiles.default.prompt",
        ]
        assert [line.split(":")[0] for line in found] == [
            "line 1",
            "line 3",
            "line 4",
            "line 5",
            "line 7",
            "line 9",
        ]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("media: {codek: ulaw}", "media.codek: is not a key here; did you mean `codec`?"),
            ("web: {zzz: 1}", "web.zzz: is not a key here; known are host, port"),
            (
                "ari: {url: localhost}",
                "ari.url: must be an address like http://10.0.0.5:8088, is `localhost`",
            ),
            ("ari: {url: ''}", "ari.url: must be an address like http://10.0.0.5:8088, is empty"),
            ("ari: {app: 'my bot'}", "ari.app: may hold letters, digits, `_`, `.` and `-` only, is `my bot`"),
            ("media: {codec: ''}", "is empty (What they send each other"),
            ("media: {codec: ulow}", "is `ulow`; did you mean `ulaw`?"),
            ("web: {port: 70000}", "web.port: must be at most 65535, is `70000`"),
            ("web: {port: http}", "web.port: needs a whole number, is `http`"),
            ("web: []", "web: needs `key: value` lines under it, is a list"),
            ("ari: {username: 1000}", "ari.username: needs text, is `1000`: put it in quotes"),
            (
                "workers: {stt: {language: no}}",
                "workers.stt.language: needs text, is `false`: put it in quotes",
            ),
            ("profiles: {}", "profiles: "),
            (
                "profiles: {default: {prompt: x}, 'a b': {prompt: x}}",
                "profiles.a b: is no name: one holds letters, digits, `_` and `-` only, is `a b`",
            ),
            ("profiles: {default: {greeting: x}}", "profiles.default.prompt: is missing (The system prompt"),
            ("web: {port: 1}\nweb: {port: 2}", "line 2: web: is there twice (first in line 1): keep one"),
            ("web: [", "not valid YAML: "),
            ("- web", "must hold `key: value` lines"),
            (
                "web: !!python/object:os.system {}",
                "web: the tag tag:yaml.org,2002:python/object:os.system is not supported",
            ),
            ("web: {port: !!python/name:os.system }", "not supported"),
            ("a: &a [*a]", "too deeply nested"),
            ("web:\n  port: !!int ''", "line 2: web.port: is not a number that can be read"),
            ("web: {host: !!bool x}", "web.host: is not a number that can be read"),
            ("web: {host: !!binary aGk=}", "web.host: the tag tag:yaml.org,2002:binary is not supported"),
            (
                'web:\n  host: "\\U7fffffff"',
                "line 2: not valid YAML: a character or number that there is not",
            ),
            ('web: {host: "\\U8fffffff"}', "line 1: not valid YAML: a character or number that there is not"),
            ('web: {host: "\\ud800"}', "web.host: holds a half of a character"),
            ('"\\ud800": 1', "line 1: a key holds a half of a character"),
            ("a:\n" + "\n".join(" " * n + "a:" for n in range(1, 60)), "too deeply nested"),
        ],
    )
    def test_what_is_said(self, text: str, message: str) -> None:
        assert message in only_problem(text)

    def test_aliases_that_multiply_end_in_a_message(self) -> None:
        levels = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
        levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
        assert "too large or too deeply nested" in problems("\n".join(levels))[0]

    def test_endless_nesting_ends_in_a_message(self) -> None:
        assert "too deep" in only_problem("[" * 20_000)


class TestEnvironment:
    def test_a_whole_value_and_a_part_of_one(self) -> None:
        made = config("ari: {password: '${PW}', url: 'http://127.0.0.1:${PORT}'}", PW="s3cret", PORT="8088")
        assert made.ari.password is not None
        assert made.ari.password.get_secret_value() == "s3cret"

    def test_numbers_are_read_from_it(self) -> None:
        assert config("web: {port: '${PORT}'}", PORT="8123").web.port == 8123

    def test_a_missing_variable_names_itself_and_the_key(self) -> None:
        found = only_problem("ari:\n  password: ${ARI_PW}")
        assert (
            found
            == "line 2: ari.password: the environment has no variable ARI_PW: set it, or write the value here"
        )

    def test_two_dollars_stand_for_one(self) -> None:
        made = config("profiles: {default: {prompt: 'say $${name} for $5 and $$3'}}")
        assert made.profiles["default"].prompt == "say ${name} for $5 and $$3"

    @pytest.mark.parametrize("text", ["${", "${}", "${a b}", "${1a}"])
    def test_half_a_reference_is_told(self, text: str) -> None:
        assert "needs a variable's name" in only_problem(f"profiles: {{default: {{prompt: '{text}'}}}}")

    def test_values_from_it_and_secrets_are_never_shown(self) -> None:
        found = problems("ari: {password: 987654}\nweb: {port: '${PORT}'}", {"PORT": "hunter2"})
        assert "987654" not in str(found)
        assert "hunter2" not in str(found)
        assert "hunter2" not in repr(config("ari: {password: hunter2}"))

    def test_the_password_that_up_hands_down(self) -> None:
        handed = config("", VOICEBOT_ARI_PASSWORD="x1").ari.password
        assert handed is not None
        assert handed.get_secret_value() == "x1"
        own = config("ari: {password: mine}", VOICEBOT_ARI_PASSWORD="x1").ari.password
        assert own is not None
        assert own.get_secret_value() == "mine"


class TestBlankTexts:
    """A text with nothing in it would be said, shown to a model or asked for as it is."""

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("profiles: {default: {prompt: '  '}}", "default.prompt: has nothing but spaces: write it (The"),
            ("profiles: {default: {prompt: ''}}", "default.prompt: is empty: write it (The system prompt"),
            (
                "profiles: {default: {prompt: x, greeting: ' '}}",
                "greeting: has nothing but spaces: write it, or",
            ),
            ("profiles: {default: {prompt: x, must_play: ['']}}", "default.must_play[0]: is empty"),
            (
                "profiles: {default: {prompt: x, voice: ''}}",
                "default.voice: is empty: write it, or take it out",
            ),
            ("profiles: {default: {prompt: x, language: ''}}", "profiles.default.language: is empty"),
            (
                "profiles: {default: {prompt: x, examples: [{caller: ' ', bot: y}]}}",
                "profiles.default.examples[0].caller: has nothing but spaces: write it",
            ),
            ("profiles: {default: {prompt: x, phrases: {apology: ''}}}", "default.phrases.apology: is empty"),
            ("workers: {tts: {voice: ' '}}", "workers.tts.voice: has nothing but spaces"),
            ("workers: {stt: {model: ''}}", "workers.stt.model: is empty"),
            ("workers: {llm: {engine: vllm, extra_args: ['a', '']}}", "workers.llm.extra_args[1]: is empty"),
            ("workers: {llm: {api_key: ''}}", "workers.llm.api_key: is empty"),
            ("ari: {password: ''}", "ari.password: is empty: write it, or take it out (Its password"),
            ("ari: {username: ''}", "ari.username: is empty"),
            ("media: {bind_host: ''}", "media.bind_host: is empty"),
            ("media: {advertise_host: ''}", "media.advertise_host: is empty"),
            ("web: {host: ''}", "web.host: is empty"),
            (
                "workers: {cache_dir: ''}",
                "workers.cache_dir: is empty: write it, or take it out (Where models",
            ),
            ("log: {directory: ' '}", "log.directory: has nothing but spaces"),
            ("asterisk: {binary: ''}", "asterisk.binary: is empty"),
        ],
    )
    def test_what_is_said(self, text: str, message: str) -> None:
        assert message in only_problem(text)

    def test_what_may_be_empty(self) -> None:
        phrases = "phrases: {goodbye: '', filler: ''}"
        config(f"profiles: {{default: {{prompt: x, greeting: '', disclosure: '', {phrases}}}}}")


class TestHugeFiles:
    """What is no configuration is refused before most of it was looked at."""

    @pytest.mark.parametrize(
        "text",
        [
            "a: [" + "[]," * 300_000 + "]",
            "a: [" + "1," * 400_000 + "]",
            "a:\n" + "- 1\n" * 200_000,
            "".join(f"k{number}: 1\n" for number in range(80_000)),
            "{" + "a: 1, " * 150_000 + "}",
        ],
        ids=["lists", "numbers", "lines", "keys", "one key"],
    )
    def test_too_many_parts(self, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        composed = 0
        compose_node = yaml.composer.Composer.compose_node

        def counted(*arguments: Any) -> Any:
            nonlocal composed
            composed += 1
            return compose_node(*arguments)

        monkeypatch.setattr(yaml.composer.Composer, "compose_node", counted)
        assert only_problem(text).endswith("not valid YAML: too large or too deeply nested")
        assert composed <= 20_000

    def test_most_problems_are_only_counted(self) -> None:
        with pytest.raises(ConfigError) as caught:
            config("".join(f"k{number}: 1\n" for number in range(1000)))
        head, *rest = str(caught.value).splitlines()
        assert head == "test.yaml: 1000 problems"
        assert len(rest) == 51
        assert rest[-1] == "  and 950 more"
