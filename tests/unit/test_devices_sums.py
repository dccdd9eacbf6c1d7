"""What models need, against what is published of them and what others measured."""

import pytest

from gpu_workers.devices.facts import GIB
from gpu_workers.devices.language import Serving, Shape, batched_tokens, llama_need, vllm_need, working_memory
from gpu_workers.devices.shapes import KNOWN, UnknownShape, known_shape, shape_of
from gpu_workers.devices.speech import WHISPER, piper_need, whisper_need, whisper_size

QWEN_7B = {
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "max_position_embeddings": 32768,
    "num_attention_heads": 28,
    "num_hidden_layers": 28,
    "num_key_value_heads": 4,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "vocab_size": 152064,
}
# of the model's card and its config.json
QWEN_30B_A3B = {
    "hidden_size": 2048,
    "head_dim": 128,
    "intermediate_size": 6144,
    "moe_intermediate_size": 768,
    "num_attention_heads": 32,
    "num_experts": 128,
    "num_hidden_layers": 48,
    "num_key_value_heads": 4,
    "vocab_size": 151936,
}


class TestLanguageModels:
    @pytest.mark.parametrize(
        ("name", "published"),
        [
            # total_size of the published safetensors index, or the parameters of the model card
            ("qwen2.5-7b", 15231233024),
            ("llama-3.1-8b", 16060522496),
            ("qwen2.5-0.5b", 2 * 494_032_768),
            ("qwen2.5-1.5b", 2 * 1_543_714_304),
            ("mistral-7b", 2 * 7_248_023_552),
            ("smollm2-135m", 2 * 134_515_008),
            ("llama-3.1-70b", 2 * 70_553_706_496),
        ],
    )
    def test_weights_are_the_published_ones(self, name: str, published: int) -> None:
        assert KNOWN[name].weight_bytes() == pytest.approx(published, rel=0.001)

    def test_4_bit_weights_are_the_published_ones(self) -> None:
        """Qwen2.5-7B-Instruct-AWQ: 5.57 GB of safetensors."""
        assert KNOWN["qwen2.5-7b"].quantized("awq", 4).weight_bytes() == pytest.approx(5.57e9, rel=0.005)

    def test_a_mixture_of_experts_counts_all_of_them(self) -> None:
        """Qwen3-30B-A3B: 30.5e9 parameters."""
        assert shape_of(QWEN_30B_A3B).parameters == pytest.approx(30.5e9, rel=0.01)

    def test_kv_cache_is_two_for_each_layer_and_head(self) -> None:
        assert shape_of(QWEN_7B).kv_bytes_a_token() == 2 * 28 * 4 * 128 * 2 == 57344
        assert KNOWN["llama-3.1-8b"].kv_bytes_a_token() == 131072  # 128 KiB, as everybody has it
        assert shape_of(QWEN_7B).kv_bytes_a_token(1) == 28672

    def test_the_sum_is_of_the_parts_that_are_shown(self) -> None:
        need = vllm_need(shape_of(QWEN_7B), Serving(calls=20, context_tokens=4096, sequences=20))
        weights, cache, work = need.terms
        assert need.size == weights.size + cache.size + work.size
        assert cache.size == 20 * 4096 * 57344
        assert str(need) == "weights 14.18 + KV cache 4.38 + working memory 1.66 = 20.22 GiB"
        assert cache.how == "20 calls x 4096 tokens x 56 KiB"

    def test_cache_is_taken_in_blocks(self) -> None:
        shape = shape_of(QWEN_7B)
        sizes = [
            vllm_need(shape, Serving(calls=1, context_tokens=n, sequences=1)).terms[1].size
            for n in (1, 16, 17)
        ]
        assert sizes == [16 * 57344, 16 * 57344, 32 * 57344]

    def test_working_memory_covers_what_vllm_reports(self) -> None:
        """A run of 0.32 with 2048 tokens a step: 0.57 GiB peak activation, 0.22 graphs (vllm pull request 57047);
        and 0.73 GiB of graphs for 86 of them (pull request 39559)."""
        work = working_memory(shape_of(QWEN_7B), Serving(calls=1, context_tokens=4096, sequences=16))
        assert 0.57 + 0.73 < work / GIB < 2.0

    def test_a_whole_run_of_vllm(self) -> None:
        """Its log of an AWQ model with 4e9 parameters (vllm pull request 57047): 2.81 GiB weights and context, and
        268,560 tokens in 36.88 GiB of KV cache."""
        shape = KNOWN["qwen3-4b"].quantized("awq", 4)
        assert 36.88 * GIB / shape.kv_bytes_a_token() == pytest.approx(268_560, rel=0.001)
        assert 0.2 < 2.81 - shape.weight_bytes() / GIB < 0.6  # what CONTEXT allows

    def test_llama_takes_its_whole_cache(self) -> None:
        """xllamacpp with Qwen2.5-Coder-1.5B Q4_K_M and 4 slots was measured at 1.96 GB resident."""
        shape = Shape(**{**vars(KNOWN["qwen2.5-1.5b"]), "quantization": "gguf", "file_size": 1117320768})
        assert llama_need(shape, 4096, 4).size == pytest.approx(1.96e9, rel=0.1)

    @pytest.mark.parametrize(
        ("usable", "name", "tokens"),
        [
            (24 * GIB, "NVIDIA GeForce RTX 4090", 2048),
            (79 * GIB, "NVIDIA A100-SXM4-80GB", 2048),
            (79 * GIB, "NVIDIA H100 80GB HBM3", 8192),
            (180 * GIB, "NVIDIA B200", 16384),
        ],
    )
    def test_a_step_is_what_vllm_chooses(self, usable: int, name: str, tokens: int) -> None:
        assert batched_tokens(usable, name, 4096, chunked_prefill=True) == tokens

    def test_without_chunks_a_step_is_a_whole_prompt(self) -> None:
        assert batched_tokens(24 * GIB, "", 9000, chunked_prefill=False) == 9000


class TestNames:
    @pytest.mark.parametrize(
        ("name", "known", "quantization"),
        [
            ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b", "none"),
            ("Qwen/Qwen2.5-7B-Instruct-AWQ", "qwen2.5-7b", "awq"),
            ("Qwen/Qwen2.5-Coder-1.5B-Instruct", "qwen2.5-1.5b", "none"),
            ("Qwen/Qwen2.5-32B-Instruct-GPTQ-Int4", "qwen2.5-32b", "gptq"),
            ("meta-llama/Meta-Llama-3.1-8B-Instruct", "llama-3.1-8b", "none"),
            ("hugging-quants/Meta-Llama-3.1-70B-Instruct-AWQ-INT4", "llama-3.1-70b", "awq"),
            ("RedHatAI/Qwen3-8B-FP8-dynamic", "qwen3-8b", "fp8"),
            ("/models/Qwen3-14B/", "qwen3-14b", "none"),
        ],
    )
    def test_a_hub_name_says_model_and_quantisation(self, name: str, known: str, quantization: str) -> None:
        shape = known_shape(name)
        assert shape is not None
        assert (shape.layers, shape.hidden) == (KNOWN[known].layers, KNOWN[known].hidden)
        assert shape.quantization == quantization

    @pytest.mark.parametrize("name", ["acme/super-9b", "Qwen/Qwen2.5-VL-7B", "x", "", "qwen2.5-77b"])
    def test_what_is_not_known_is_not_guessed(self, name: str) -> None:
        assert known_shape(name) is None


def compressed(**weights: object) -> dict[str, object]:
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": weights}}}


class TestConfigFiles:
    @pytest.mark.parametrize(
        ("written", "quantization", "bits"),
        [
            ({"quant_method": "awq", "bits": 4}, "awq", 4),
            ({"quant_method": "gptq", "bits": 8}, "gptq", 8),
            ({"quant_method": "fp8", "activation_scheme": "dynamic"}, "fp8", 8),
            (compressed(num_bits=4), "gptq", 4),
            (compressed(num_bits=8, type="float"), "fp8", 8),
            (compressed(num_bits=8, type="int"), "int8", 8),
        ],
    )
    def test_the_quantisation_is_read(self, written: dict[str, object], quantization: str, bits: int) -> None:
        shape = shape_of({**QWEN_7B, "quantization_config": written})
        assert (shape.quantization, shape.bits) == (quantization, bits)

    def test_files_that_are_here_say_the_size(self) -> None:
        assert (
            shape_of({**QWEN_7B, "quantization_config": {"quant_method": "new"}}, 5_000).weight_bytes()
            == 5_000
        )

    def test_a_decoder_inside_another_model(self) -> None:
        assert shape_of({"text_config": QWEN_7B, "vision_config": {}}) == shape_of(QWEN_7B)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"num_hidden_layers": None}, "no usable num_hidden_layers"),
            ({"vocab_size": "many"}, "no usable vocab_size"),
            ({"hidden_size": 0}, "no usable hidden_size"),
            ({"hidden_size": True}, "no usable hidden_size"),
            ({"kv_lora_rank": 512}, "KV cache the plan does not count"),
            ({"layer_types": ["linear_attention", "full_attention"]}, "KV cache the plan does not count"),
            ({"quantization_config": {"quant_method": "new"}}, "quantised with new"),
        ],
    )
    def test_what_cannot_be_counted_is_named(self, change: dict[str, object], words: str) -> None:
        with pytest.raises(UnknownShape, match=words):
            shape_of({**QWEN_7B, **change})


class TestWhisper:
    @pytest.mark.parametrize(("size", "published"), [("tiny", 75537502), ("base", 145217532)])
    def test_weights_are_those_of_the_files(self, size: str, published: int) -> None:
        assert 2 * WHISPER[size].parameters == pytest.approx(published, rel=0.002)

    @pytest.mark.parametrize(
        ("size", "compute_type", "measured_mb", "off"),
        [
            ("large", "float16", 4521, 0.02),
            ("turbo", "float16", 2537, 0.02),
            ("distil-large", "float16", 2409, 0.02),
            ("large", "int8", 2953, 0.16),
            ("turbo", "int8", 1545, 0.16),
            ("distil-large", "int8", 1481, 0.16),
        ],
    )
    def test_the_sum_is_what_others_measured(
        self, size: str, compute_type: str, measured_mb: int, off: float
    ) -> None:
        """faster-whisper, beam 5, on an RTX 2080 Ti: SYSTRAN/faster-whisper issue 1030."""
        need = whisper_need(WHISPER[size], compute_type, batch=1, copies=1, on_gpu=True, beam=5)
        assert measured_mb * (1 - 0.02) < need.size / 1e6 < measured_mb * (1 + off)

    def test_more_at_a_time_needs_more(self) -> None:
        sizes = [
            whisper_need(WHISPER["small"], "float16", batch=n, copies=1, on_gpu=True).size for n in (1, 2, 8)
        ]
        assert sizes == sorted(set(sizes))

    def test_it_fits_a_process_on_the_cpu_as_measured(self) -> None:
        """Piper was measured at 247 MB resident; its voice is 63 of them."""
        assert piper_need(63201294, parallel=1, on_gpu=False).size == pytest.approx(247e6, rel=0.25)

    @pytest.mark.parametrize(
        ("name", "file_size", "size"),
        [
            ("whisper-base", 0, "base"),
            ("faster-whisper-large-v3-turbo", 0, "turbo"),
            ("faster-distil-whisper-large-v3", 0, "distil-large"),
            ("distil-large-v3", 0, "distil-large"),
            ("/models/mine", 3_087_000_000, "large"),
            ("/models/mine", 484_000_000, "small"),
            ("/models/mine", 0, None),
        ],
    )
    def test_the_size_is_read_of_the_name_then_of_the_file(
        self, name: str, file_size: int, size: str | None
    ) -> None:
        assert whisper_size(name, file_size) == size
