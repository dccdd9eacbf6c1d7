"""From voicebot.yaml to the plan and back to each worker: what is asked, what each process is started with."""

import json
import os
import sys
from pathlib import Path

import pytest

from gpu_workers.devices.facts import Machine
from gpu_workers.devices.plan import CPU, Plan
from gpu_workers.devices.planner import make_plan
from gpu_workers.devices.speech import WHISPER
from gpu_workers.signals import BEYOND_DRAIN_S, DRAIN_S
from tests.support.machines import FOLDER, machine
from voicebot import planning
from voicebot.cli import main
from voicebot.config import Config, ConfigError, parse, worker_parts
from voicebot.errors import PlanError, UsageError
from voicebot.planning import (
    card_environment,
    demand_of,
    plan_of,
    plan_of_one,
    planned,
    read_machine,
    read_plan,
    write_plan,
)
from voicebot.start_workers import _child, in_turn

AUTO = """
workers:
  stt: {device: auto}
  llm: {device: auto, model: Qwen/Qwen2.5-7B-Instruct-AWQ}
  tts: {device: auto}
"""
BY_HAND = """
workers:
  stt: {device: "cuda:0", compute_type: float16}
  llm: {device: "cuda:1", model: Qwen/Qwen2.5-7B-Instruct-AWQ, parallel: 8, kv_cache_dtype: auto}
calls: {max_calls: 10}
"""


@pytest.fixture(autouse=True)
def empty_hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever models the developer has."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))


def config(text: str) -> Config:
    return parse(text, "test.yaml", {})


def plan_for(text: str, name: str) -> Plan:
    return make_plan(machine(name), demand_of(config(text)))


class TestDemand:
    def test_the_defaults_ask_for_no_card(self) -> None:
        demand = demand_of(config(""))
        assert [device for _, device in demand.devices()] == [CPU, CPU, CPU]
        assert demand.llm is not None
        assert (demand.llm.engine, demand.llm.parallel) == ("llama", 4)
        assert demand.llm.shape is not None
        assert demand.llm.shape.weight_bytes() == 1117320768

    def test_calls_are_those_of_all_processes(self) -> None:
        demand = demand_of(config("calls: {max_calls: 12, processes: 3}"))
        assert demand.llm is not None
        assert demand.llm.calls == 36

    def test_what_runs_elsewhere_is_not_asked_for(self) -> None:
        demand = demand_of(config("workers: {llm: {start: false, url: 'http://10.0.0.5:8102'}}"))
        assert [worker for worker, _ in demand.devices()] == ["stt", "tts"]

    def test_vllm_answers_all_calls_at_a_time_unless_that_is_set(self) -> None:
        free, bound = demand_of(config(AUTO)).llm, demand_of(config(BY_HAND)).llm
        assert free is not None
        assert bound is not None
        assert (free.parallel, free.sequences, bound.sequences) == (None, 20, 8)

    def test_whisper_keeps_the_number_type_that_is_set(self) -> None:
        types = [
            demand_of(config(f"workers: {{stt: {{{keys}}}}}")).stt
            for keys in ("device: auto", "device: auto, compute_type: int8", "device: cpu")
        ]
        assert [one.compute_type for one in types if one] == [None, "int8", "int8"]

    def test_a_quantisation_that_is_set_makes_the_weights_smaller(self) -> None:
        demand = demand_of(
            config("workers: {llm: {device: auto, model: Qwen/Qwen2.5-7B-Instruct, quantization: fp8}}")
        )
        assert demand.llm is not None
        assert demand.llm.shape is not None
        assert demand.llm.shape.weight_bytes() == pytest.approx(8.7e9, rel=0.01)

    def test_a_model_in_a_folder_is_counted_by_its_files(self, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_text(
            json.dumps(
                {
                    "hidden_size": 64,
                    "num_hidden_layers": 2,
                    "num_attention_heads": 4,
                    "intermediate_size": 128,
                    "vocab_size": 1000,
                }
            )
        )
        (tmp_path / "model-1.safetensors").write_bytes(bytes(1000))
        (tmp_path / "model-2.safetensors").write_bytes(bytes(500))
        demand = demand_of(config(f"workers: {{llm: {{device: auto, model: {tmp_path}}}}}"))
        assert demand.llm is not None
        assert demand.llm.shape is not None
        assert demand.llm.shape.weight_bytes() == 1500
        (tmp_path / "config.json").write_text("{}")
        demand = demand_of(config(f"workers: {{llm: {{device: auto, model: {tmp_path}}}}}"))
        assert demand.llm is not None
        assert demand.llm.shape is None
        assert "config.json: its config.json has no usable" in demand.llm.unknown

    def test_a_whisper_in_a_folder_is_counted_by_its_file(self, tmp_path: Path) -> None:
        (tmp_path / "model.bin").touch()
        os.truncate(tmp_path / "model.bin", 484_000_000)  # sparse
        found = demand_of(config(f"workers: {{stt: {{device: auto, model: {tmp_path}}}}}")).stt
        assert found is not None
        assert found.shape == WHISPER["small"]

    def test_a_gguf_file_is_for_llama_and_counted_by_its_size(self, tmp_path: Path) -> None:
        file = tmp_path / "Qwen2.5-7B-Instruct-Q4_K_M.gguf"
        file.write_bytes(bytes(4711))
        found = demand_of(config(f"workers: {{llm: {{device: auto, model: {file}}}}}")).llm
        assert found is not None
        assert found.shape is not None
        assert (found.engine, found.shape.weight_bytes(), found.shape.layers) == ("llama", 4711, 28)

    def test_a_model_in_the_hub_cache_is_found(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
        folder = tmp_path / "models--acme--nine" / "snapshots" / "abc"
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("[1]")
        demand = demand_of(config("workers: {llm: {device: auto, model: acme/nine}}"))
        assert demand.llm is not None
        assert "snapshots/abc/config.json: not a model's configuration" in demand.llm.unknown


class TestConfiguration:
    @pytest.mark.parametrize(
        "device",
        ["cpu", "auto", "cuda", "cuda:0", "GPU-4fb6ac9a-29e1-4611-8af7-b61a99e3b92d", "MIG-GPU-4fb6ac9a/3/0"],
    )
    def test_devices_that_can_be_set(self, device: str) -> None:
        assert config(f"workers: {{stt: {{device: '{device}'}}}}").workers.stt.device == device

    @pytest.mark.parametrize(
        ("argument", "key"),
        [
            ("--quantization", "quantization"),
            ("--gpu-memory-utilization=0.5", "memory_share"),
            ("--max_model_len", "context_tokens"),
            ("--no-enable-prefix-caching", "prefix_caching"),
        ],
    )
    def test_what_the_plan_decides_is_no_extra_argument(self, argument: str, key: str) -> None:
        with pytest.raises(ConfigError, match=rf"the plan must know of: set workers\.llm\.{key} instead"):
            config(f"workers: {{llm: {{extra_args: ['{argument}', x]}}}}")

    @pytest.mark.parametrize(
        ("argument", "mend"),
        [
            ("--api-key=s3cret", r"set workers\.llm\.api_key instead"),
            ("--host", r"set workers\.llm\.host instead"),
            ("--port=1", r"set workers\.llm\.port instead"),
            ("--model", r"set workers\.llm\.model instead"),
            ("--served_model_name", "take it out"),
            ("--middleware", "take it out"),
        ],
    )
    def test_what_the_worker_sets_is_no_extra_argument(self, argument: str, mend: str) -> None:
        with pytest.raises(
            ConfigError, match=f"extra_args: has --.*which the worker sets: .*{mend}"
        ) as caught:
            config(f"workers: {{llm: {{engine: vllm, model: a/b, extra_args: ['{argument}', x]}}}}")
        assert "s3cret" not in str(caught.value)

    @pytest.mark.parametrize(
        "written",
        [
            "quantization: fp8",
            "kv_cache_dtype: fp8",
            "prefix_caching: false",
            "chunked_prefill: false",
            "memory_share: 1",
        ],
    )
    def test_keys_of_vllm_are_told_where_llama_runs(self, written: str) -> None:
        with pytest.raises(ConfigError, match="is for vLLM, and this model runs on llama"):
            config(f"workers: {{llm: {{{written}}}}}")
        assert config(f"workers: {{llm: {{device: auto, model: acme/nine, {written}}}}}")

    def test_the_line_before_the_model_has_an_end_with_either_engine(self) -> None:
        for engine in ("", "engine: vllm, model: a/b, "):
            assert config(f"workers: {{llm: {{{engine}queue_limit: 9}}}}").workers.llm.queue_limit == 9

    def test_other_arguments_go_through(self) -> None:
        given = config("workers: {llm: {device: auto, model: a/b, extra_args: [--enforce-eager]}}")
        assert given.workers.llm.extra_args == ("--enforce-eager",)


class TestWorkers:
    def test_each_is_started_with_its_card_and_no_other(self) -> None:
        first, second = (card.uuid for card in machine("x4_slot").cards)
        plan = plan_for(BY_HAND, "x4_slot")
        cards = {kind: card_environment(plan, kind)["CUDA_VISIBLE_DEVICES"] for kind in ("stt", "llm", "tts")}
        assert cards == {"stt": first, "llm": second, "tts": ""}

    def test_the_command_and_environment_of_a_child(self, tmp_path: Path) -> None:
        plan = plan_for(AUTO, "two_cards")
        child = _child("stt", config(AUTO), plan, tmp_path / "voicebot.yaml", tmp_path / "plan.json")
        assert child.command == (
            *(sys.executable, "-P", "-m", "voicebot", "worker", "stt", "-c", str(tmp_path / "voicebot.yaml")),
            *("--plan", str(tmp_path / "plan.json")),
        )
        assert child.env == {
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
            "CUDA_VISIBLE_DEVICES": machine("two_cards").cards[1].uuid,
        }

    def test_a_child_has_time_for_its_own_end(self, tmp_path: Path) -> None:
        """Killed before, it could not end its engine."""
        plan = plan_for(AUTO, "two_cards")
        for kind in ("stt", "llm", "tts"):
            child = _child(kind, config(AUTO), plan, tmp_path / "voicebot.yaml", tmp_path / "plan.json")
            assert child.grace_s > DRAIN_S + BEYOND_DRAIN_S
            assert child.quick_end_s > 0

    def test_settings_follow_the_plan(self) -> None:
        plan = plan_for(AUTO, "two_cards")
        found = planned(config(AUTO), plan, "stt").workers.stt
        assert (found.device, found.compute_type) == ("cuda:1", "float16")
        assert planned(config(AUTO), plan, "llm").workers.llm.device == "cuda:0"
        assert planned(config(AUTO), plan, "tts").workers.tts.device == "cpu"

    def test_a_plan_of_another_configuration_is_told(self) -> None:
        with pytest.raises(PlanError, match="places no llm worker: it was made for another configuration"):
            planned(config(AUTO), Plan(), "llm")

    def test_who_shares_a_card_with_the_model_starts_before_it(self) -> None:
        assert in_turn(config(AUTO), plan_for(AUTO, "two_cards")) == [["stt", "llm", "tts"]]
        assert in_turn(config(AUTO), plan_for(AUTO, "one_card_24")) == [["stt", "tts"], ["llm"]]
        assert in_turn(config(""), plan_for("", "none")) == [["stt", "llm", "tts"]]

    def test_one_worker_alone_leaves_room_for_others(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(planning, "this_machine", lambda **_: machine("one_card_24"))
        plan = plan_of_one(config(AUTO), "llm")
        assert plan.llm is not None
        assert 0.4 < plan.llm.memory_share < 0.5
        assert [one.worker for one in plan.placed] == ["llm"]

    def test_nobody_asks_the_driver_for_workers_on_the_cpu(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = []

        def here(*, cards: bool) -> Machine:
            asked.append(cards)
            return machine("none")

        monkeypatch.setattr(planning, "this_machine", here)
        plan_of(config(""))
        with pytest.raises(PlanError):
            plan_of(config(AUTO))
        assert asked == [False, True]

    def test_up_refuses_what_does_not_fit_before_anything_starts(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(planning, "this_machine", lambda **_: machine("one_card_12"))
        (tmp_path / "voicebot.yaml").write_text(f"{AUTO}log: {{directory: l}}\n")
        assert main(["up"]) == 2
        told = capsys.readouterr().err
        assert told.startswith(
            "voicebot: the models do not fit this machine (see `voicebot plan`)\nllm: Qwen/"
        )
        assert "KV cache 4.38 + working memory 1.66 = 11.23 GiB" in told
        assert "    mend: calls for 18 at most" in told
        assert not (tmp_path / "l").exists()

    def test_every_worker_has_a_place_in_the_configuration(self) -> None:
        assert set(worker_parts(config(""))) == {"stt", "llm", "tts"}


class TestFiles:
    def test_a_plan_reads_back(self, tmp_path: Path) -> None:
        plan = plan_for(AUTO, "two_cards")
        write_plan(plan, tmp_path / "plan.json")
        assert read_plan(tmp_path / "plan.json") == plan

    def test_what_the_command_prints_can_be_obeyed(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "v.yaml").write_text(AUTO)
        assert (
            main(
                [
                    "plan",
                    "--json",
                    "-c",
                    str(tmp_path / "v.yaml"),
                    "--devices",
                    str(FOLDER / "two_cards.json"),
                ]
            )
            == 0
        )
        (tmp_path / "plan.json").write_text(capsys.readouterr().out)
        assert read_plan(tmp_path / "plan.json") == plan_for(AUTO, "two_cards")

    @pytest.mark.parametrize(
        "content", ["", "{", "[]", '{"placed": 1}', '{"plan": {"placed": 3}}', "[" * 9999]
    )
    def test_a_file_that_is_no_plan(self, tmp_path: Path, content: str) -> None:
        (tmp_path / "plan.json").write_text(content)
        with pytest.raises(UsageError, match="is no plan; `voicebot plan --json` prints one"):
            read_plan(tmp_path / "plan.json")

    def test_a_refused_plan_starts_nothing(self, tmp_path: Path) -> None:
        write_plan(plan_for(AUTO, "one_card_12"), tmp_path / "plan.json")
        with pytest.raises(PlanError, match=r"llm: Qwen/.* GiB"):
            read_plan(tmp_path / "plan.json")

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"\xff\xfe", "no text"),
            (b"{", "invalid JSON"),
            (b'{"cards": 3}', "cards: input should be a valid"),
            (b'{"host": {"cores": -1}}', "host.cores: input should be greater than or equal to 0"),
            (b'{"gpus": []}', "gpus: extra inputs are not permitted"),
            (b"[" * 99999, "invalid JSON"),
        ],
    )
    def test_a_file_that_is_no_recording(self, tmp_path: Path, content: bytes, words: str) -> None:
        (tmp_path / "m.json").write_bytes(content)
        with pytest.raises(UsageError) as caught:
            read_machine(tmp_path / "m.json")
        assert words in str(caught.value)
        assert str(tmp_path / "m.json") in str(caught.value)

    def test_a_file_that_is_not_there_or_too_large(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="No such file"):
            read_machine(tmp_path / "nowhere.json")
        (tmp_path / "m.json").write_bytes(bytes(5 << 20))
        with pytest.raises(UsageError, match="too large"):
            read_machine(tmp_path / "m.json")


class TestCommand:
    def run(
        self, tmp_path: Path, text: str, name: str, capsys: pytest.CaptureFixture[str]
    ) -> tuple[int, str]:
        (tmp_path / "v.yaml").write_text(text)
        status = main(["plan", "-c", str(tmp_path / "v.yaml"), "--devices", str(FOLDER / f"{name}.json")])
        return status, capsys.readouterr().out

    def test_it_shows_devices_placements_sums_fits_and_what_vllm_gets(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        status, out = self.run(tmp_path, AUTO, "two_cards", capsys)
        assert status == 0
        lines = [line.split() for line in out.splitlines()]
        card = ["cuda:0", "NVIDIA", "GeForce", "RTX", "4090", "23.63", "of", "23.65", "8.9"]
        assert card in [line[:9] for line in lines]
        assert ["llm", "Qwen/Qwen2.5-7B-Instruct-AWQ", "cuda:0"] in [line[:3] for line in lines]
        assert "llm: weights 5.19 + KV cache 4.38 + working memory 1.66 = 11.23 GiB" in out
        assert (
            "vLLM gets 91.99 % of GPU-1b4f7c2e-0d5a-4e62-9c1f-6a2d3e4f5a60, for 20 answers at a time" in out
        )
        assert ["qwen2.5-14b", "4", "bits", "(AWQ,", "GPTQ)", "9.3", "14", "-"] in lines
        assert "Warnings" not in out

    def test_a_refusal_is_the_end_of_it_and_the_exit_code(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        status, out = self.run(tmp_path, AUTO, "one_card_12", capsys)
        assert status == 2
        assert "REFUSED:\n  - llm: Qwen/Qwen2.5-7B-Instruct-AWQ needs weights" in out

    def test_without_a_gpu(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        status, out = self.run(tmp_path, "", "none", capsys)
        assert status == 0
        assert out.startswith("No GPU. CPU: 2 cores, 22.00 GiB of 24.00 GiB available.")
        assert "what fits where" not in out

    def test_a_machine_of_tiny_devices_fits_nothing(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        was = machine("one_card_12")
        card = was.cards[0].model_copy(update={"memory": was.cards[0].memory.model_copy(update={"free": 1})})
        (tmp_path / "m.json").write_text(was.model_copy(update={"cards": (card,)}).model_dump_json())
        (tmp_path / "v.yaml").write_text("")
        assert main(["plan", "-c", str(tmp_path / "v.yaml"), "--devices", str(tmp_path / "m.json")]) == 0
        assert "No model that is known to the plan fits any device." in capsys.readouterr().out

    def test_show_devices_prints_what_devices_reads(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["plan", "--show-devices"]) == 0
        (tmp_path / "m.json").write_text(capsys.readouterr().out)
        assert read_machine(tmp_path / "m.json").host.cores >= 1

    def test_a_file_that_is_not_there_is_one_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["plan", "--devices", "/nowhere.json"]) == 2
        assert capsys.readouterr().err == "voicebot: /nowhere.json: No such file or directory\n"
