"""The plan for recorded machines: who goes where, what is refused with which sum and mend, what is warned of."""

from dataclasses import replace

import pytest

from gpu_workers.devices.demand import Demand, LlmDemand, SttDemand, TtsDemand
from gpu_workers.devices.facts import Host, Machine, User
from gpu_workers.devices.plan import AS_JSON, CPU, Plan, Refused
from gpu_workers.devices.planner import make_plan
from gpu_workers.devices.shapes import known_shape
from gpu_workers.devices.speech import WHISPER
from tests.support.machines import NAMES, machine

GIB = 1 << 30
QWEN = "Qwen/Qwen2.5-7B-Instruct-AWQ"


def llm(model: str = QWEN, **changes: object) -> LlmDemand:
    basis = LlmDemand("auto", model, known_shape(model), "vllm", calls=20)
    return replace(basis, **changes)  # type: ignore[arg-type]


def stt(size: str = "small", **changes: object) -> SttDemand:
    basis = SttDemand("auto", f"whisper-{size}", WHISPER[size])
    return replace(basis, **changes)  # type: ignore[arg-type]


TTS = TtsDemand("auto", "joe", 63201294)
ALL = Demand(llm(), stt(), TTS)


def where(plan: Plan) -> dict[str, str]:
    return {one.worker: one.label for one in plan.placed}


def warned(plan: Plan, words: str) -> str:
    found = [str(one) for one in plan.warnings if words in str(one)]
    assert len(found) == 1, plan.warnings
    return found[0]


def refused(plan: Plan) -> Refused:
    (one,) = plan.refusals
    return one


class TestWhoGoesWhere:
    def test_two_cards_brain_on_the_larger_senses_on_the_other(self) -> None:
        plan = make_plan(machine("two_cards"), ALL)
        assert where(plan) == {"stt": "cuda:1", "llm": "cuda:0", "tts": CPU}
        assert plan.llm is not None
        assert plan.llm.device == machine("two_cards").cards[0].uuid
        assert not plan.warnings
        assert not plan.refusals

    def test_one_card_is_shared_by_the_sums(self) -> None:
        plan = make_plan(machine("one_card_24"), ALL)
        assert where(plan) == {"stt": "cuda:0", "llm": "cuda:0", "tts": CPU}
        card = machine("one_card_24").cards[0].memory
        whisper = plan.of("stt")
        assert plan.llm is not None
        assert whisper is not None
        assert whisper.need is not None
        both = plan.llm.memory_share * card.usable + whisper.need.size
        assert 0.919 * card.usable < both <= 0.92 * card.usable
        assert "stt and llm share one card" in warned(plan, "share one card")

    def test_eight_cards_alike_are_two_used(self) -> None:
        was = machine("one_card_80").cards[0]
        eight = [was.model_copy(update={"index": n, "uuid": f"GPU-{n}"}) for n in range(8)]
        plan = make_plan(Machine(cards=tuple(eight), driver="580.95.05"), ALL)
        assert where(plan) == {"stt": "cuda:1", "llm": "cuda:0", "tts": CPU}
        assert not plan.warnings

    def test_one_card_in_slices_and_one_whole(self) -> None:
        mig, whole = machine("mig").cards[0], machine("one_card_24").cards[0]
        mixed = Machine(cards=(mig, whole.model_copy(update={"index": 1})), driver="580.95.05")
        assert where(make_plan(mixed, ALL))["llm"] in {"cuda:1", "cuda:0/0"}
        assert where(make_plan(mixed, Demand(llm(device="cuda:1"), stt(device="cuda:0/1")))) == {
            "stt": "cuda:0/1",
            "llm": "cuda:1",
        }

    def test_nothing_is_free(self) -> None:
        full = machine("one_card_24").model_copy(update={"cards": (_with_free(machine("one_card_24"), 0),)})
        plan = make_plan(full, ALL)
        assert "0.00 GiB for it: 0.00 GiB of 23.69 GiB are free" in refused(plan).what
        assert where(plan) == {"stt": CPU, "tts": CPU}

    def test_of_two_alike_the_brain_gets_the_one_with_more_lanes(self) -> None:
        assert where(make_plan(machine("x4_slot"), ALL)) == {"stt": "cuda:0", "llm": "cuda:1", "tts": CPU}

    def test_no_card_is_the_cpu(self) -> None:
        small = llm("qwen2.5-1.5b", engine="llama", parallel=4, calls=20)
        plan = make_plan(machine("none"), Demand(small, stt("base"), TTS))
        assert where(plan) == {"stt": CPU, "llm": CPU, "tts": CPU}
        assert plan.of("stt").compute_type == "int8"  # type: ignore[union-attr]
        assert (plan.llm, plan.warnings, plan.refusals) == (None, (), ())

    def test_mig_slices_are_devices(self) -> None:
        plan = make_plan(machine("mig"), ALL)
        assert where(plan) == {"stt": "cuda:0/1", "llm": "cuda:0/2", "tts": CPU}
        assert plan.llm is not None
        assert plan.llm.device.startswith("MIG-")
        assert len([one for one in plan.warnings if "is a MIG slice" in one.what]) == 2

    def test_a_card_that_others_use_is_planned_into_what_is_free(self) -> None:
        plan = make_plan(machine("used_by_another"), Demand(llm(calls=5, context_tokens=2048)))
        memory = machine("used_by_another").cards[0].memory
        assert plan.llm is not None
        assert plan.llm.memory_share * memory.usable <= memory.free
        assert "in use by Xorg (2211, 0.21 GiB), llama-server (48213, 14.14 GiB)" in warned(plan, "in use by")

    def test_what_is_set_by_hand_wins(self) -> None:
        demand = Demand(llm(device="cuda:1", calls=4), stt(device="cuda:0"), replace(TTS, device="cuda:0"))
        assert where(make_plan(machine("two_cards"), demand)) == {
            "stt": "cuda:0",
            "llm": "cuda:1",
            "tts": "cuda:0",
        }

    def test_both_by_hand_on_one_card_are_counted_together(self) -> None:
        demand = Demand(llm(device="cuda:1", calls=14), stt("large", device="cuda:1", compute_type="float16"))
        found = refused(make_plan(machine("two_cards"), demand))
        assert found.worker == "llm"
        assert "has 1.90 GiB for it" in found.what

    @pytest.mark.parametrize("name", ["cuda:1", "GPU-7e0c9a35-52b8-4f0e-8d7a-1c2b3a495867"])
    def test_a_card_is_named_by_number_or_uuid(self, name: str) -> None:
        plan = make_plan(machine("two_cards"), Demand(stt=stt(device=name)))
        assert where(plan) == {"stt": "cuda:1"}

    def test_whisper_takes_smaller_numbers_before_it_leaves_the_card(self) -> None:
        card = machine("one_card_12")
        # beside it, float16 has no room and int8_float16 has
        plan = make_plan(card, Demand(llm(calls=7), stt("small")))
        assert where(plan)["stt"] == "cuda:0"
        assert plan.of("stt").compute_type == "int8_float16"  # type: ignore[union-attr]

    def test_whisper_goes_to_the_cpu_rather_than_the_brain_be_refused(self) -> None:
        plan = make_plan(machine("one_card_12"), Demand(llm(calls=17), stt("large")))
        assert where(plan) == {"stt": CPU, "llm": "cuda:0"}
        assert "the most that is left on a card is" in warned(plan, "stt: ")

    def test_alone_it_gets_all_but_only_its_need_when_others_come(self) -> None:
        everything = make_plan(machine("one_card_24"), Demand(llm()))
        need_only = make_plan(machine("one_card_24"), Demand(llm(), take_all=False))
        assert everything.llm is not None
        assert need_only.llm is not None
        assert everything.llm.memory_share == pytest.approx(0.92, abs=0.001)
        usable = machine("one_card_24").cards[0].memory.usable
        placed = need_only.of("llm")
        assert placed is not None
        assert placed.need is not None
        assert placed.need.size <= need_only.llm.memory_share * usable < placed.need.size + usable / 1000

    def test_vllm_gets_what_is_set(self) -> None:
        demand = llm(
            kv_cache_dtype="fp8", quantization="awq", prefix_caching=False, chunked_prefill=False, parallel=7
        )
        plan = make_plan(machine("two_cards"), Demand(demand))
        assert plan.llm is not None
        assert replace(plan.llm, memory_share=0.5, device="x") == replace(
            plan.llm,
            device="x",
            memory_share=0.5,
            max_model_len=4096,
            max_num_seqs=7,
            kv_cache_dtype="fp8",
            quantization="awq",
            dtype="auto",
            enable_prefix_caching=False,
            chunked_prefill=False,
        )
        assert "Every answer reads" in warned(plan, "prefix_caching is off")
        assert "4096 tokens is read in one step" in warned(plan, "chunked_prefill is off")


class TestRefusals:
    def test_the_sum_is_shown_and_every_mend_mends(self) -> None:
        found = refused(make_plan(machine("one_card_24"), Demand(llm("meta-llama/Llama-3.1-8B-Instruct"))))
        assert found.what == (
            "meta-llama/Llama-3.1-8B-Instruct needs weights 14.96 + KV cache 10.00 + working memory 1.61 = 26.57 GiB,"
            " and cuda:0 (NVIDIA GeForce RTX 3090) has 21.80 GiB for it: 23.69 GiB of 23.69 GiB are free"
        )
        assert found.mends == (
            "calls for 10 at most (calls.max_calls x calls.processes, now 20)",
            "workers.llm.context_tokens: 2048",
            "workers.llm.quantization: fp8: weights 8.46 GiB",
            "the model quantised to 4 bits (AWQ or GPTQ): weights 5.33 GiB",
            "a smaller model, such as qwen2.5-7b",
            "a card with 28.87 GiB that are free",
        )
        model = "meta-llama/Llama-3.1-8B-Instruct"
        shape = known_shape(model)
        assert shape is not None
        for mended in (
            llm(model, calls=10),
            llm(model, context_tokens=2048),
            llm(model, shape=shape.quantized("fp8", 8)),
            llm(model, shape=shape.quantized("awq", 4)),
            llm("qwen2.5-7b"),
        ):
            assert not make_plan(machine("one_card_24"), Demand(mended)).refusals
        for too_much in (llm(model, calls=11), llm(model, context_tokens=2048 + 256)):
            assert make_plan(machine("one_card_24"), Demand(too_much)).refusals

    def test_who_holds_the_memory_is_named(self) -> None:
        found = refused(make_plan(machine("used_by_another"), Demand(llm())))
        ends = [mend for mend in found.mends if mend.startswith("end ")]
        assert ends == ["end llama-server (48213), which holds 14.14 GiB"]  # Xorg's would not be enough

    def test_ending_all_of_them_is_a_mend_where_one_is_not_enough(self) -> None:
        was = machine("used_by_another")
        users = tuple(User(pid=pid, name="python", memory=1 << 30) for pid in (7, 8))
        card = was.cards[0].model_copy(update={"users": users})
        found = refused(make_plan(was.model_copy(update={"cards": (card,)}), Demand(llm())))
        assert found.mends[-1] == "end all that use cuda:0, which hold 2.00 GiB"

    def test_an_fp8_cache_where_the_card_has_no_fp8(self) -> None:
        found = refused(make_plan(machine("one_card_24"), Demand(llm(kv_cache_dtype="fp8"))))
        assert "compute capability 8.6; an fp8 KV cache wants 8.9 or more" in found.what
        assert found.mends == ("workers.llm.kv_cache_dtype: auto",)

    def test_an_fp8_cache_is_a_mend_where_it_is_enough(self) -> None:
        found = refused(
            make_plan(machine("two_cards"), Demand(llm("meta-llama/Llama-3.1-8B-Instruct", calls=15)))
        )
        assert "workers.llm.kv_cache_dtype: fp8" in found.mends

    def test_a_card_that_vllm_has_no_code_for(self) -> None:
        old = machine("one_card_16_old")
        pascal = old.model_copy(
            update={"cards": (old.cards[0].model_copy(update={"compute_capability": (6, 1)}),)}
        )
        assert (
            "compute capability 6.1; vLLM wants 7.5 or more" in refused(make_plan(pascal, Demand(llm()))).what
        )

    def test_a_talk_longer_than_the_model_reads(self) -> None:
        found = refused(make_plan(machine("one_card_80"), Demand(llm(context_tokens=65536, calls=1))))
        assert found.what == f"{QWEN} reads at most 32768 tokens, workers.llm.context_tokens is 65536"
        assert found.mends == ("workers.llm.context_tokens: 32768",)

    def test_a_share_that_is_not_free(self) -> None:
        found = refused(make_plan(machine("used_by_another"), Demand(llm(memory_share=0.9, calls=1))))
        assert (
            "memory_share 0.9 of cuda:0 (NVIDIA GeForce RTX 3090) is 21.32 GiB, and 9.35 GiB are left for it"
            in found.what
        )
        assert found.mends[0] == "workers.llm.memory_share: 0.39"

    def test_a_share_that_is_too_small(self) -> None:
        found = refused(make_plan(machine("one_card_24"), Demand(llm(memory_share=0.3))))
        assert found.mends[0] == "leave workers.llm.memory_share out"
        assert "is 7.11 GiB, and Qwen/Qwen2.5-7B-Instruct-AWQ needs weights 5.19" in found.what

    def test_a_share_that_is_set_is_given(self) -> None:
        plan = make_plan(machine("one_card_24"), Demand(llm(memory_share=0.7)))
        assert plan.llm is not None
        assert plan.llm.memory_share == 0.7

    def test_a_card_that_is_not_there(self) -> None:
        found = refused(make_plan(machine("two_cards"), Demand(stt=stt(device="cuda:2"))))
        assert found.what == (
            "cuda:2 is set, and this machine has cuda:0 (NVIDIA GeForce RTX 4090), cuda:1 (NVIDIA GeForce RTX 3060)"
        )

    def test_a_card_where_there_is_none(self) -> None:
        found = refused(make_plan(machine("none"), Demand(stt=stt(device="cuda:0"))))
        assert found.what == "cuda:0 is set, and this machine has no GPU that can be used"
        assert "workers.stt.device: cpu" in found.mends

    def test_a_broken_driver_is_named_where_a_card_is_wanted(self) -> None:
        found = refused(make_plan(machine("driver_broken"), Demand(llm())))
        assert "restart the machine" in found.what

    def test_a_whole_card_in_mig_mode(self) -> None:
        found = refused(make_plan(machine("mig"), Demand(llm(device="cuda:0"))))
        assert found.what == "cuda:0 is in MIG mode and no program can use the whole card"
        assert (
            "MIG-3c4d5e6f-7081-5293-a4b5-c6d7e8f90a1b (NVIDIA A100-SXM4-80GB, MIG 2g.20gb)" in found.mends[0]
        )

    def test_mig_mode_without_a_slice(self) -> None:
        was = machine("mig")
        empty = was.model_copy(update={"cards": (was.cards[0].model_copy(update={"slices": ()}),)})
        plan = make_plan(empty, Demand(llm()))
        assert "cuda:0 in MIG mode without a slice" in refused(plan).what
        assert "nvidia-smi mig -cgi" in warned(plan, "has no slices")

    def test_a_voice_and_a_whisper_that_do_not_fit(self) -> None:
        tiny = machine("mig").model_copy(update={"cards": (_with_free(machine("one_card_12"), 900 << 20),)})
        plan = make_plan(tiny, Demand(None, stt(device="cuda:0"), replace(TTS, device="cuda:0")))
        assert {one.worker for one in plan.refusals} == {"stt", "tts"}
        assert all("workers." in one.mends[0] for one in plan.refusals)


class TestWarnings:
    def test_a_narrow_link_says_what_loading_costs(self) -> None:
        plan = make_plan(machine("x4_slot"), Demand(llm(device="cuda:0"), stt(device="cuda:1")))
        assert warned(plan, "PCIe lanes") == (
            "cuda:0: runs on 4 of its 16 PCIe lanes (generation 4). Loading its 5.19 GiB of weights takes 0.7 s at"
            " least instead of 0.2 s, at every start; a call sends kilobytes and notices nothing. One model split over"
            " two cards would"
        )

    def test_a_narrow_link_that_nobody_uses_is_no_matter(self) -> None:
        plan = make_plan(machine("x4_slot"), Demand(llm(device="cuda:1")))
        assert not [one for one in plan.warnings if "PCIe" in one.what]

    def test_no_flash_attention_on_an_old_card(self) -> None:
        plan = make_plan(machine("one_card_16_old"), Demand(llm(calls=10)))
        assert "the first token comes later" in warned(plan, "no FlashAttention and no bfloat16")
        assert plan.llm is not None
        assert plan.llm.dtype == "float16"

    def test_fp8_weights_on_a_card_without_fp8_save_no_time(self) -> None:
        plan = make_plan(machine("one_card_24"), Demand(llm("RedHatAI/Qwen2.5-7B-Instruct-FP8")))
        assert "save memory here and no time" in warned(plan, "no fp8 arithmetic")
        new = make_plan(machine("one_card_48"), Demand(llm("RedHatAI/Qwen2.5-7B-Instruct-FP8")))
        assert "no fp8 arithmetic" not in str(new.warnings)

    def test_a_model_that_is_not_counted_is_started_and_said(self) -> None:
        plan = make_plan(
            machine("two_cards"), Demand(llm("acme/9b", shape=None, unknown="acme/9b is new"), stt())
        )
        assert where(plan) == {"stt": "cuda:1", "llm": "cuda:0"}
        assert plan.llm is not None
        assert plan.llm.memory_share == pytest.approx(0.92, abs=0.001)
        assert "not counted: acme/9b is new" in warned(plan, "not counted")

    def test_a_whisper_that_is_not_counted_gets_a_card_of_its_own_or_none(self) -> None:
        unknown = replace(stt(), shape=None, model="/models/mine")
        plan = make_plan(machine("two_cards"), Demand(llm(), unknown))
        assert where(plan) == {"stt": "cuda:1", "llm": "cuda:0"}
        assert "the size of /models/mine is neither in its name" in warned(plan, "not counted")
        assert where(make_plan(machine("one_card_80"), Demand(llm(), unknown)))["stt"] == CPU

    @pytest.mark.parametrize(
        ("driver", "told"),
        [
            ("470.57.02", "No model starts on a card: update it to 525 or newer"),
            ("570.86.15", "It does not start: update the driver to 580 or newer"),
        ],
    )
    def test_a_driver_that_is_too_old_for_the_packages(self, driver: str, told: str) -> None:
        old = machine("two_cards").model_copy(update={"driver": driver})
        assert told in warned(make_plan(old, ALL), f"driver: {driver} is too old")

    @pytest.mark.parametrize("driver", ["580.95.05", "610.43.02", "", "unknown"])
    def test_a_driver_that_is_new_enough_or_does_not_say(self, driver: str) -> None:
        new = machine("two_cards").model_copy(update={"driver": driver})
        assert not make_plan(new, ALL).warnings

    def test_an_older_driver_is_enough_for_the_recogniser_and_any_for_the_cpu(self) -> None:
        old = machine("two_cards").model_copy(update={"driver": "570.86.15"})
        assert not make_plan(old, Demand(stt=stt())).warnings
        ancient = machine("two_cards").model_copy(update={"driver": "390.1"})
        plan = make_plan(ancient, Demand(stt=stt(device="cpu")))
        assert "too old" not in str(plan.warnings)

    def test_cards_that_nobody_uses(self) -> None:
        plan = make_plan(machine("two_cards"), Demand(stt=stt(device="cpu", compute_type="int8")))
        assert "With `device: auto` the plan chooses" in warned(plan, "cuda:0, cuda:1: not used")

    def test_memory_and_cores_of_the_cpu(self) -> None:
        host = Host(cores=2, memory_total=2 * GIB, memory_available=GIB)
        small = llm("qwen2.5-1.5b", device="cpu", engine="llama", parallel=4, threads=8)
        plan = make_plan(Machine(host=host), Demand(small, stt("base", device="cpu")))
        assert "1.00 GiB of memory are available" in warned(plan, "the workers on it need")
        assert "there are 2 cores" in warned(plan, "workers.llm.threads is 8")


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_reads_back_from_json(name: str) -> None:
    plan = make_plan(machine(name), ALL)
    assert AS_JSON.validate_json(AS_JSON.dump_json(plan)) == plan


@pytest.mark.parametrize(
    ("name", "most"), [("one_card_12", 18), ("one_card_24", 67), ("one_card_48", 154), ("one_card_80", 295)]
)
def test_most_calls_are_all_that_fit(name: str, most: int) -> None:
    plan = make_plan(machine(name), Demand(llm(calls=5)))
    assert plan.of("llm").most_calls == most  # type: ignore[union-attr]
    assert not make_plan(machine(name), Demand(llm(calls=most))).refusals
    assert make_plan(machine(name), Demand(llm(calls=most + 1))).refusals


def _with_free(found: Machine, free: int) -> object:
    card = found.cards[0]
    return card.model_copy(update={"memory": card.memory.model_copy(update={"free": free})})
