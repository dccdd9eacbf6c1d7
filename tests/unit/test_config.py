"""voicebot.yaml: what is taken, and that everything wrong is told at once with its place and the mend."""

import importlib
import socket
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpu_workers.stt.languages import WHISPER_LANGUAGES
from voicebot.config import Config, ConfigError, dotted, load, parse, without_secrets
from voicebot.config.clear_text import in_clear_text
from voicebot.config.problems import key_names
from voicebot.config.profile_checks import DIALPLAN_LIMIT_S
from voicebot.config.weak_secrets import weak_secrets

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "voicebot.example.yaml"


def problems(text: str, environ: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse(text, "test.yaml", environ or {})
    head, *rest = str(caught.value).splitlines()
    assert head == f"test.yaml: {len(rest)} problem{'s' if len(rest) > 1 else ''}"
    return [line.strip() for line in rest]


def only_problem(text: str, environ: dict[str, str] | None = None) -> str:
    found = problems(text, environ)
    assert len(found) == 1, found
    return found[0]


def config(text: str, **environ: str) -> Config:
    return parse(text, "test.yaml", environ)


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


def test_the_longest_call_is_that_of_the_dialplan() -> None:
    dialplan = (ROOT / "asterisk_conf/voicebot/extensions_voicebot.conf").read_text()
    assert f"TIMEOUT(absolute)={DIALPLAN_LIMIT_S})" in dialplan


class TestKeysThatMustAgree:
    def test_the_address_of_our_own_asterisk_follows_its_port(self) -> None:
        assert config("asterisk: {http_port: 8099}").ari.url == "http://127.0.0.1:8099"

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (
                "media: {port_start: 30001, port_end: 30000}",
                "media.port_start: must not be more than media.port_end",
            ),
            ("media: {port_start: 20000, port_end: 20019}", "has room for 10 calls, calls.max_calls is 20"),
            ("asterisk: {rtp_start: 10000, rtp_end: 10039}", "has room for 10 calls, calls.max_calls is 20"),
            ("media: {port_start: 19000}", "19000-20998 overlaps asterisk.rtp_start 10000-19998"),
            ("asterisk: {sip_port: 10500}", "asterisk.sip_port: lies inside asterisk.rtp_start 10000-19998"),
            ("web: {port: 8101}", "workers.stt.port: 8101 is also web.port"),
            ("web: {port: 8088, host: 0.0.0.0, token: s}", "asterisk.http_port: 8088 is also web.port"),
            ("media: {advertise_host: 0.0.0.0}", "media.advertise_host: 0.0.0.0 is no address to send to"),
            (
                "media: {bind_host: 0.0.0.0}",
                "media.advertise_host: is missing while media.bind_host is 0.0.0.0",
            ),
            (
                "media: {advertise_host: 224.0.0.1}",
                "media.advertise_host: 224.0.0.1 is no address to send to",
            ),
            (
                "media: {advertise_host: 10.0.0.9}",
                "media.bind_host: nothing that Asterisk sends to 10.0.0.9 (media.advertise_host) arrives on"
                " 127.0.0.1: set it to 0.0.0.0",
            ),
            (
                "media: {bind_host: 0.0.0.0, advertise_host: '2001:db8::1'}",
                "media.advertise_host: 2001:db8::1 is IPv6, but sound is received on IPv4 (media.bind_host 0.0.0.0):"
                " write an IPv4 address, or set media.bind_host to ::",
            ),
            (
                "media: {bind_host: '::', advertise_host: 10.0.0.9}",
                "media.advertise_host: 10.0.0.9 is IPv4, but sound is received on IPv6",
            ),
            (
                "media: {endpoint: {pause_ms: 800}}",
                "must not be more than media.endpoint.end_ms: 800 is more than 700",
            ),
            ("ari: {url: 'http://10.0.0.5:8088'}\nmedia: {bind_host: 10.0.0.9}", "brings its own Asterisk"),
            (
                "asterisk: {start: false}\nari: {url: 'http://10.0.0.5:8088', password: x}",
                "media.bind_host: Asterisk at 10.0.0.5 (ari.url) cannot send sound to 127.0.0.1",
            ),
            ("asterisk: {start: false}", "ari.password: is missing"),
            (
                "workers: {llm: {device: gpu1}}",
                "workers.llm.device: must be cpu, auto, cuda:0, cuda:1, ... or a card's UUID, is `gpu1`",
            ),
            ("ari: {app: bot2}", "ari.app: must stay voicebot"),
            ("profiles: {sales: {prompt: x}}", "profiles: has no `default`"),
            (
                "workers: {stt: {url: 'http://a:1'}}",
                "workers.stt.url: is the address of a worker that runs elsewhere",
            ),
            ("workers: {stt: {start: false, url: 'a:1'}}", "workers.stt.url: is no address"),
            ("workers: {stt: {more_urls: ['http://a:1', 'b']}}", "workers.stt.more_urls[1]: is no address"),
            (
                "workers: {tts: {more_urls: ['http://me:x@a:1']}}",
                "workers.tts.more_urls[0]: must not hold a name or password: write those as workers.tts.api_key",
            ),
            (
                "workers: {llm: {host: 0.0.0.0}}",
                "workers.llm.api_key: is missing, and 0.0.0.0 can be reached",
            ),
            ("ari: {url: 'http://[::1'}", "ari.url: is no address"),
            (
                "media: {codec: slin16}",
                "media.codec: slin16 does not go over rtp: write ulaw or alaw or slin or g722, or set transport to"
                " websocket or audiosocket, which carries it",
            ),
            (
                "media: {transport: audiosocket, codec: ulaw}",
                "media.codec: ulaw does not go over audiosocket",
            ),
            (
                "profiles: {default: {prompt: x, media: {transport: websocket, codec: g722}}}",
                "profiles.default.media.codec: g722 does not go over websocket",
            ),
            (
                "profiles: {default: {prompt: x, media: {codec: slin16}}}",
                "profiles.default.media.codec: slin16 does not go over rtp",
            ),
            (
                "media: {transport: audiosocket, audiosocket_port: 8080}",
                "media.audiosocket_port: 8080 is also web.port",
            ),
            (
                "media: {endpoint: {end_ms: 2000, max_utterance_ms: 1000}}",
                "media.endpoint.end_ms: must not be more than media.endpoint.max_utterance_ms",
            ),
            (
                "workers: {llm: {start: false}}",
                "workers.llm.url: is missing: write where the llm worker that is not started here runs, like"
                " http://127.0.0.1:8102",
            ),
            (
                "profiles: {default: {prompt: x, expect: yes_no}}",
                "profiles.default.expect: is what the greeting asks for, and there is no greeting: write one",
            ),
            (
                "profiles: {default: {prompt: x, must_play: ['One two three.', '...']}}",
                "profiles.default.must_play[1]: has no words, is `...`",
            ),
            (
                "profiles: {default: {prompt: x, max_tokens: 512}}\nworkers: {llm: {context_tokens: 512}}",
                "profiles.default.max_tokens: leaves no room for the prompt: 512 is not less than"
                " workers.llm.context_tokens 512",
            ),
            (
                "workers: {llm: {extra_args: ['--enforce-eager']}}",
                "workers.llm.extra_args: is for vLLM, and this model runs on llama",
            ),
            (
                "workers: {llm: {memory_share: 0.5}}",
                "workers.llm.memory_share: is for vLLM, and this model runs on llama",
            ),
            ("calls: {max_call_s: 3600}", "calls.max_call_s: must be less than 3600, when the dialplan"),
            (
                "profiles: {default: {prompt: x, voice: alloy}}",
                "profiles.default.voice: is `alloy`, which is neither a file nor one of: joe",
            ),
            (
                "workers: {tts: {voices: [joe, anna]}}",
                "workers.tts.voices: is `anna`, which is neither a file nor one of: joe",
            ),
            (
                "profiles: {default: {prompt: x, pronunciations: {SQL: ''}}}",
                "profiles.default.pronunciations: `SQL` has no spoken form: write how it is said",
            ),
        ],
    )
    def test_a_contradiction(self, text: str, message: str) -> None:
        assert message in only_problem(text)

    def test_a_spoken_form_that_yaml_reads_otherwise_is_told(self) -> None:
        text = "profiles: {default: {prompt: x, pronunciations: {nein: no}}}"
        assert (
            "profiles.default.pronunciations.nein: needs text, is `false`: put it in quotes"
            in only_problem(text)
        )
        read = config("profiles: {default: {prompt: x, pronunciations: {no: number, 24/7: day and night}}}")
        assert read.profiles["default"].pronunciations == {"no": "number", "24/7": "day and night"}

    def test_voices_by_name_and_by_path(self) -> None:
        config("profiles: {default: {prompt: x, voice: voices/anna.onnx}, b: {prompt: x, voice: joe}}")
        config("workers: {tts: {voices: [v/anna.onnx]}}\nprofiles: {default: {prompt: x, voice: anna}}")
        config(
            "workers: {tts: {start: false, url: 'http://a:1'}}\nprofiles: {default: {prompt: x, voice: alloy}}"
        )

    def test_what_comes_from_the_environment_is_not_shown_wherever_a_message_quotes_it(self) -> None:
        found = only_problem("ari: {url: 'http://127.0.0.1:8089/${TOKEN}'}", {"TOKEN": "Hunter2"})
        assert "http://127.0.0.1:8089/${TOKEN}, but voicebot brings its own" in found
        # a host is read in small letters
        found = "\n".join(problems("ari: {url: 'http://${TOKEN}:8088'}", {"TOKEN": "Hunter2"}))
        assert "hunter2" not in found.lower()

    def test_a_password_in_an_address_is_refused_and_not_shown(self) -> None:
        found = only_problem("ari: {url: 'http://me:hunter2@127.0.0.1:8088'}")
        assert "write those as ari.username and ari.password" in found
        assert "hunter2" not in found
        assert "hunter2" not in only_problem("ari: {url: 'me:hunter2@127.0.0.1:8088'}")

    @pytest.mark.parametrize(
        "text",
        [
            "asterisk: {start: false, rtp_start: 20000, rtp_end: 20100}\nari: {password: x}",  # not ours
            "workers: {stt: {start: false, port: 8080, url: 'http://10.0.0.5:1'}}",  # nobody listens
            "workers: {tts: {host: 10.0.0.1, api_key: s}}",
            "web: {port: 8101, host: 10.0.0.1, token: s}",  # another address
            "media: {bind_host: 0.0.0.0, advertise_host: 10.0.0.9}",
            "media: {transport: websocket, bind_host: 0.0.0.0}",  # opened from here
            "media: {transport: audiosocket}\nprofiles: {default: {prompt: x, media: {codec: slin}}}",
            "media: {codec: alaw}\nprofiles: {default: {prompt: x, media: {transport: websocket}}}",
            "media: {audiosocket_port: 8080}",  # nobody listens
            "media: {transport: websocket, port_start: 30000, port_end: 30001}",  # no port is used
            "media: {port_start: 20000, port_end: 20038}",  # 20 even ports for 20 calls
            "profiles: {default: {prompt: x, expect: yes_no, disclosure: 'Is recording fine?'}}",
            "asterisk: {start: false}\nari: {password: x}\ncalls: {max_call_s: 7200}",  # their own dialplan
        ],
    )
    def test_what_only_looks_like_one(self, text: str) -> None:
        config(text)


class TestThisMachine:
    """What only the machine that the calls run on can say. 192.0.2.0/24 is nobody's (RFC 5737)."""

    ELSEWHERE = "asterisk: {start: false}\nari: {url: 'http://192.0.2.1:8088', password: x}\n"

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (
                "media: {bind_host: 192.0.2.7}",
                "line 1: media.bind_host: 192.0.2.7 is no address of this machine: write 127.0.0.1; where",
            ),
            (
                "media: {bind_host: no-such-host.invalid}",
                "line 1: media.bind_host: no-such-host.invalid is not known here as a name",
            ),
            (
                "media: {bind_host: 0.0.0.0, advertise_host: no-such-host.invalid}",
                "line 1: media.advertise_host: 'no-such-host.invalid' is not known as a name",
            ),
            (
                "media: {bind_host: 0.0.0.0, advertise_host: 192.0.2.9}",
                "line 1: media.advertise_host: 192.0.2.9 is no address of this machine, where Asterisk is started",
            ),
        ],
    )
    def test_an_address_that_is_not_there(self, text: str, message: str) -> None:
        parse(text, "test.yaml", {})  # another machine may have it
        with pytest.raises(ConfigError) as caught:
            parse(text, "test.yaml", {}, calls_here=True)
        (_, line) = str(caught.value).splitlines()
        assert message in line

    def test_its_own_name_may_be_a_loopback_address(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def looked_up(host: str, *_: object, **__: object) -> list[object]:
            address = {"bot.example": "127.0.1.1"}.get(host, host)
            return [(socket.AF_INET, socket.SOCK_DGRAM, 17, "", (address, 0))]

        monkeypatch.setattr(socket, "getaddrinfo", looked_up)
        with pytest.raises(
            ConfigError, match=r"cannot send sound to 127\.0\.1\.1: set media\.bind_host to 0\.0"
        ):
            parse(f"{self.ELSEWHERE}media: {{bind_host: bot.example}}", "test.yaml", {}, calls_here=True)

    @pytest.mark.parametrize(
        "media",
        [
            "{bind_host: 0.0.0.0, advertise_host: 192.0.2.9}",  # NAT: it says so
            "{transport: websocket}",  # opened from here
            "{bind_host: 0.0.0.0, advertise_host: localhost}",
        ],
    )
    def test_what_is_told_as_meant(self, media: str) -> None:
        text = f"media: {media}" if "localhost" in media else f"{self.ELSEWHERE}media: {media}"
        parse(text, "test.yaml", {}, calls_here=True)


class TestModels:
    def test_a_name_nobody_knows_is_told_with_those_of_its_kind(self) -> None:
        with pytest.raises(
            ConfigError, match=r"workers\.stt\.model: is `nonsense`.*whisper-base, whisper-tiny\.en"
        ):
            config("workers: {stt: {model: nonsense}}")

    @pytest.mark.parametrize(
        "workers",
        [
            "{stt: {model: ./my/whisper}}",
            "{llm: {model: my.gguf}}",
            "{llm: {device: 'cuda:0', model: some-hub-name}}",
            "{tts: {start: false, url: 'http://127.0.0.1:1', voice: alloy}}",
        ],
    )
    def test_files_and_what_others_know_are_theirs(self, workers: str) -> None:
        config(f"workers: {workers}")


def test_a_secret_with_its_files_line_end_is_told_without_showing_it() -> None:
    with pytest.raises(ConfigError, match=r"workers\.llm\.api_key: has a line end") as caught:
        config('workers: {llm: {api_key: "HIDDEN\\n"}}')
    assert "HIDDEN" not in str(caught.value)


def test_no_number_is_endless() -> None:
    with pytest.raises(ConfigError, match=r"calls\.max_call_s"):
        config("calls: {max_call_s: .inf}")


def test_an_expected_answer_of_no_kind_is_told_with_the_kinds() -> None:
    with pytest.raises(ConfigError) as wrong:
        parse("profiles: {default: {prompt: x, expect: 'digits:99'}}", "voicebot.yaml", {})
    assert "profiles.default.expect: 'digits:99': only digits take a number, from 1 to 40" in str(wrong.value)
    right = "profiles: {default: {prompt: x, greeting: 'Your number?', expect: 'digits:8'}}"
    assert parse(right, "v", {}).profiles["default"].expect


def test_a_web_port_that_the_network_reaches_needs_a_token() -> None:
    assert only_problem("web: {host: 0.0.0.0}").startswith(
        "line 1: web.token: is missing, and 0.0.0.0 can be reached"
    )
    assert config("web: {host: 0.0.0.0, token: '${T}'}", T="HIDDEN").web.token is not None


def test_what_would_cross_a_network_in_clear_text_is_told_without_showing_secrets() -> None:
    remote = config(
        "asterisk: {start: false}\n"
        "ari: {url: 'http://10.0.0.5:8088', password: HIDDEN}\n"
        "media: {bind_host: 0.0.0.0, advertise_host: 10.0.0.6}\n"
        "workers:\n"
        "  stt: {start: false, url: 'http://10.0.0.7:8101', api_key: HIDDEN}\n"
        "  llm: {start: false, url: 'https://10.0.0.7:8102', api_key: HIDDEN}\n"
        "  tts: {start: false, url: 'http://127.0.0.1:8103', more_urls: ['http://127.0.0.1:8104', 'http://10.0.0.8:8103']}\n"
    )
    told = list(in_clear_text(remote))
    assert [line.split(" ")[0] for line in told] == ["ari.url", "workers.stt.url", "workers.tts.more_urls"]
    assert "HIDDEN" not in "".join(told)
    assert list(in_clear_text(config(""))) == []


@pytest.mark.parametrize(
    ("secret", "why"),
    [
        ("walrus", "has fewer than 12 characters"),
        ("A-LONG-RANDOM-WORD", "is the word that the documentation shows"),
        ("a long random word", "is the word that the documentation shows"),
        ("abababababababab", "has fewer than 6 different characters"),
        ("5d2c0f8e7b6a49318c7d", ""),
    ],
)
def test_secrets_that_can_be_guessed_are_told_and_not_shown(secret: str, why: str) -> None:
    text = "ari: {password: '${S}'}\nweb: {token: '${S}'}\n"
    text += "workers: {stt: {api_key: '${S}'}, llm: {api_key: '${S}'}}"
    told = list(weak_secrets(config(text, S=secret)))
    keys = ["ari.password", "web.token", "workers.stt.api_key", "workers.llm.api_key"] if why else []
    assert [line.partition(":")[0] for line in told] == [f"{key} {why}" for key in keys]
    assert secret not in "".join(told)
    assert list(weak_secrets(config(""))) == []


class TestHomeFolder:
    def test_a_path_that_begins_there_is_whole(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", "/home/ann")
        found = config(
            """
            workers:
              cache_dir: ~/models
              stt: {model: ~/whisper, turn_model: ~/turn.onnx}
              llm: {engine: vllm, python: ~/vllm/bin/python, model: ~/models/Qwen}
              tts: {voice: ~/ann.onnx, voices: [~/bob.onnx, joe]}
            asterisk: {binary: ~/asterisk/sbin/asterisk}
            log: {directory: ~/log}
            calls: {flight_recorder: ~/flights}
            """
        )
        workers, llm = found.workers, found.workers.llm
        assert (str(workers.cache_dir), workers.stt.model) == ("/home/ann/models", "/home/ann/whisper")
        assert (str(llm.python), llm.model) == ("/home/ann/vllm/bin/python", "/home/ann/models/Qwen")
        assert (workers.stt.turn_model, workers.tts.voice) == ("/home/ann/turn.onnx", "/home/ann/ann.onnx")
        assert workers.tts.voices == ("/home/ann/bob.onnx", "joe")
        assert str(found.asterisk.binary) == "/home/ann/asterisk/sbin/asterisk"
        assert (str(found.log.directory), str(found.calls.flight_recorder)) == (
            "/home/ann/log",
            "/home/ann/flights",
        )

    @pytest.mark.parametrize(
        "written",
        ["workers: {llm: {python: ~nobody-here/python}}", "workers: {stt: {model: ~nobody-here/w}}"],
    )
    def test_that_of_a_user_there_is_not(self, written: str) -> None:
        assert "begins with ~nobody-here, and this machine has no such user" in only_problem(written)


class TestLanguages:
    @pytest.mark.parametrize(
        ("text", "found"),
        [
            (
                "profiles: {default: {prompt: x, language: German}}",
                "is `German`, which is no language: write de",
            ),
            (
                "profiles: {default: {prompt: x, language: klingon}}",
                "is `klingon`, which is no language: write a code",
            ),
            ("profiles: {default: {prompt: x, language: de AT}}", "is `de AT`, which is no language"),
            (
                "profiles: {default: {prompt: x, language: tlh}}",
                "is `tlh`, which Whisper does not know: take it out",
            ),
            ("profiles: {default: {prompt: x, language: nb}}", 'which Whisper does not know: write "no"'),
            (
                "workers: {stt: {language: klingon}}",
                "workers.stt.language: is `klingon`, which is no language",
            ),
            ("workers: {stt: {language: de-AT}}", "which the recogniser does not know: write de"),
            (
                "workers: {stt: {language: de, model: whisper-tiny.en}}",
                "knows English only: take another one",
            ),
            (
                "profiles: {default: {prompt: x, language: fr}}\nworkers: {stt: {model: whisper-tiny.en}}",
                "profiles.default.language: is `fr`, and workers.stt.model whisper-tiny.en knows English only",
            ),
        ],
    )
    def test_one_that_the_recogniser_would_refuse_is_told(self, text: str, found: str) -> None:
        assert found in only_problem(text)

    @pytest.mark.parametrize("language", ["de", "de-AT", "pt_BR", "en-GB", "EN", "zh-Hant-TW", "null"])
    def test_any_other_is_taken(self, language: str) -> None:
        config(f"profiles: {{default: {{prompt: x, language: {language}}}}}")

    def test_a_recogniser_of_somebody_else_may_know_more(self) -> None:
        config(
            "workers: {stt: {start: false, url: 'http://127.0.0.1:1'}}\nprofiles: {default: {prompt: x, language: tlh}}"
        )

    def test_the_list_is_whisper_s(self) -> None:
        known = importlib.import_module("faster_whisper.tokenizer")._LANGUAGE_CODES
        assert frozenset(known) == WHISPER_LANGUAGES


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("greeting: '🙂'", "greeting: holds nothing that a voice can say, is `🙂`"),
        ("disclosure: '...'", "disclosure: holds nothing that a voice can say, is `...`: take it out"),
        ("phrases: {not_told: '🙂'}", "phrases.not_told: holds nothing that a voice can say"),
        (
            "tools: {transfer: {targets: {a: '1'}, announcement: '-'}}",
            "tools.transfer.announcement: holds nothing that a voice can say",
        ),
    ],
)
def test_a_text_that_no_voice_can_say_is_told(text: str, found: str) -> None:
    assert found in only_problem(f"profiles: {{default: {{prompt: x, {text}}}}}")


@pytest.mark.parametrize(
    "text", ["greeting: 你好", "greeting: ''", "phrases: {filler: ''}", "greeting: '24/7'"]
)
def test_a_text_in_any_script_is_taken_and_so_is_none(text: str) -> None:
    config(f"profiles: {{default: {{prompt: x, {text}}}}}")


@pytest.mark.parametrize(
    ("profile", "found"),
    [
        (f"prompt: {'x' * 16_000}", "is about 4000 tokens with `private`, `examples` and `tools`"),
        ("prompt: x, max_tokens: 3900", "workers.llm.context_tokens 4096 has to leave 300 for the talk"),
        (
            "prompt: x, max_answer_chars: 2000",
            "is never reached: max_tokens 160 ends an answer before that, at 1280 characters at most: raise that",
        ),
    ],
)
def test_what_leaves_no_room_is_told(profile: str, found: str) -> None:
    assert found in only_problem(f"profiles: {{default: {{{profile}}}}}")


def test_the_window_of_a_server_elsewhere_counts_where_it_is_written() -> None:
    elsewhere = "start: false, url: 'http://127.0.0.1:1'"
    assert config("").workers.llm.known_context_tokens == 4096
    assert config(f"workers: {{llm: {{{elsewhere}}}}}").workers.llm.known_context_tokens is None
    written = config(f"workers: {{llm: {{{elsewhere}, context_tokens: 8192}}}}")
    assert written.workers.llm.known_context_tokens == 8192


@pytest.mark.parametrize("name", ["a:b", "a b", "a\\tb"])
def test_a_user_s_name_that_no_login_can_carry_is_told(name: str) -> None:
    assert "ari.username: may hold neither a colon nor blanks" in only_problem(f'ari: {{username: "{name}"}}')


def test_what_is_shown_holds_nothing_of_the_environment() -> None:
    text = (
        "profiles: {default: {prompt: x, tools: {http: {t: {description: x, reads: true,"
        " url: 'https://h.example/x?key=${KEY}&it=${IT}'}}}}}"
    )
    environ = {"KEY": "it''s-\\u0041-s3cret", "IT": "another"}
    shown = yaml.safe_dump(without_secrets(config(text, **environ), text, environ))
    assert "https://h.example/x?key=${KEY}&it=${IT}" in shown
    assert "s3cret" not in shown
