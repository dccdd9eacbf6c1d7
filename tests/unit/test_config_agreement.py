"""voicebot.yaml: keys that must agree with each other, with this machine and with the models."""

import socket
from pathlib import Path

import pytest

from stasis_app.settings import AriSettings
from tests.support.configuration import config, only_problem, problems
from voicebot.config import ConfigError, parse
from voicebot.config.profile_checks import DIALPLAN_LIMIT_S

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "voicebot.example.yaml"


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
            ("ari: {url: 'http://a\\b:8088'}", "ari.url: is no address"),
            ("ari: {url: 'http://xn--:8088'}", "ari.url: is no address"),
            ("ari: {url: 'http://my pbx:8088'}", "ari.url: is no address"),
            ("ari: {url: 'http://127.0.0.1:8088/?x=1'}", "ari.url: must not hold a `?` or `#`"),
            (
                "workers: {llm: {start: false, url: 'http://a:1#b'}}",
                "workers.llm.url: must not hold a `?` or `#`",
            ),
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


def test_a_model_of_the_voice_is_for_a_server_elsewhere() -> None:
    assert "workers.tts.start false" in only_problem("workers: {tts: {model: tts-1}}")
    elsewhere = config(
        "workers: {tts: {start: false, url: 'http://10.0.0.5:8103', model: tts-1, voice: alloy}}"
    )
    assert (elsewhere.workers.tts.asked_model, elsewhere.workers.tts.asked_voice) == ("tts-1", "alloy")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("http://pbx:8088/ari", "http://pbx:8088"),
        ("http://pbx:8088/ari/", "http://pbx:8088"),
        ("http://pbx:8088/prefix/", "http://pbx:8088/prefix"),
        ("http://pbx:8088/prefix/ari", "http://pbx:8088/prefix"),
        ("http://ari", "http://ari"),
    ],
)
def test_the_address_of_ari_itself_is_that_of_its_server(written: str, meant: str) -> None:
    assert AriSettings(url=written).url == meant


def test_the_longest_name_of_an_app_fits_with_the_number_of_its_last_process() -> None:
    start = "asterisk: {start: false}\nari: {password: long-enough-and-dull, app: %s}\ncalls: {processes: %d}"
    media = "\nmedia: {port_start: 20000, port_end: 29999}\nweb: {port: 8200}"
    assert config(start % ("a" * 61, 12) + media)
    assert "at most 61 characters, has 62" in only_problem(start % ("a" * 62, 12) + media)
    assert "at most 64 characters" in only_problem(start % ("a" * 65, 1))


class TestPortsThatSomethingElseHas:
    OWN = "asterisk: {start: false}\nari: {url: 'http://%s', password: long-enough-and-dull}\n"
    NINE = OWN + "calls: {processes: %d}\nmedia: {port_start: 20000, port_end: 29999}"

    @pytest.mark.parametrize("host", ["127.0.0.1:8088", "localhost:8088/ari"])
    def test_that_of_ones_own_asterisk(self, host: str) -> None:
        assert config(self.NINE % (host, 8))
        found = only_problem(self.NINE % (host, 9))
        assert "web.port: 8088 of process 9 (calls.processes) is also ari.url" in found

    def test_another_machines_is_no_matter(self) -> None:
        bind = ", bind_host: 0.0.0.0, advertise_host: 10.0.0.9}"
        assert config((self.NINE % ("10.0.0.5:8088", 9)).replace("29999}", "29999" + bind))

    def test_that_of_a_worker_started_by_somebody_else(self) -> None:
        here = "workers: {stt: {start: false, url: 'http://127.0.0.1:%d/stt'}, tts: {more_urls: ['http://127.0.0.1:%d']}}"
        assert config(here % (8200, 8200))
        assert "web.port: 8080 is also workers.stt.url" in only_problem(here % (8080, 8200))
