"""What a worker is started with: its card, its cores, the prompts to read ahead."""

from gpu_workers.settings import SttSettings, begun
from stasis_app.settings import Profile
from stasis_app.tools.settings import Tools
from voicebot.config import Config, parse
from voicebot.worker import environment, voiced, warmed


def test_its_libraries_use_its_share_of_the_cores() -> None:
    found = environment(SttSettings(threads=3))
    assert {found[name] for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")} == {"3"}


def test_what_the_talks_of_all_profiles_begin_with_is_read_ahead() -> None:
    profile = Config().profiles["default"]
    (talk,) = warmed(Config()).warm_talks
    assert (talk[0].role, talk[0].content) == ("system", profile.instructions)
    assert (talk[-1].role, talk[-1].content) == ("assistant", profile.greeting)
    own = parse("workers: {llm: {warm_talks: [[{role: system, content: a}]]}}", "x", {})
    assert [[message.content for message in talk] for talk in warmed(own).warm_talks] == [["a"]]


def test_the_voice_worker_has_the_voices_of_the_profiles_each_once() -> None:
    config = parse(
        "workers: {tts: {voices: [v/anna.onnx]}}\n"
        "profiles:\n  default: {prompt: x, voice: anna}\n  b: {prompt: x, voice: v/ben.onnx}\n"
        "  c: {prompt: x, voice: joe}\n  d: {prompt: x}\n  e: {prompt: x, voice: v/ben.onnx}\n",
        "test.yaml",
        {},
    )
    assert voiced(config).voices == ("v/anna.onnx", "v/ben.onnx")


def test_tools_are_read_ahead_with_the_talk_they_are_offered_in() -> None:
    plain = Profile(prompt="a")
    own = Config(profiles={"default": plain, "b": Profile(prompt="b", tools=Tools(hang_up=True))})
    settings = warmed(own)
    without, with_tools = map(begun, settings.warm_talks)
    assert without == {"messages": [{"role": "system", "content": "a"}]}
    assert [tool["function"]["name"] for tool in with_tools["tools"]] == ["hang_up"]
    assert settings.tool_parser == "hermes"
    assert warmed(Config(profiles={"default": plain})).tool_parser is None
