"""The language model of deploy/ray/serve.yaml on a real Ray cluster: Ray's own LLM application, with vLLM on the CPU.

What the file says of cards is taken out; the rest is deployed as it stands. What is different there from vLLM's own
server is pinned here: no key, no /health, its errors.
"""

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import openai
import pytest
import pytest_asyncio
import yaml

from gpu_workers.client import Limits, LlmClient, Message, WorkerError, health
from gpu_workers.settings import LlmSettings
from tests.cluster.ray_cluster import ROOT, RayCluster, ray_cluster
from tests.vllm import prepare

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(700),
    pytest.mark.may_leave("Ray runs on"),
]

# the model as it is served; Ray's name of it stands in the file
QUESTION = [Message("user", "What is the capital of France?")]


def shipped() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "ray" / "serve.yaml").read_text())
    return read


def config() -> dict[str, Any]:
    whole = shipped()
    (llm,) = (one for one in whole["applications"] if one["name"] == "llm")
    (model,) = llm["args"]["llm_configs"]
    model["model_loading_config"]["model_source"] = str(prepare.model())
    model["engine_kwargs"] |= {
        "max_model_len": 1024,
        "max_num_seqs": 4,
        "dtype": "float32",
        "enforce_eager": True,
    }
    model["placement_group_config"] = {"bundles": [{"CPU": 1}]}
    model["deployment_config"]["autoscaling_config"]["max_replicas"] = 1
    return {**whole, "applications": [llm]}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def ray() -> AsyncIterator[RayCluster]:
    environment = {"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}
    async with ray_cluster(prepare.python().parent, cores=4, **environment) as running:
        await running.serve(config(), within_s=600)
        yield running


def client(ray: RayCluster, **changed: Any) -> LlmClient:
    limits = Limits(connect_s=10, silence_s=90, total_s=120)
    return LlmClient(f"{ray.url}/llm", **{"model": "brain", "limits": limits, **changed})


def stock(ray: RayCluster) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{ray.url}/llm/v1", api_key="none", max_retries=0, timeout=120)


async def test_our_client_finds_it_ready_and_gets_its_answer_piece_by_piece(ray: RayCluster) -> None:
    """It has no /health: that /v1/models answers is what there is."""
    async with aiohttp.ClientSession() as http:
        assert (await health(http, f"{ray.url}/llm")).ready
    async with (
        client(ray) as llm,
        llm.stream(QUESTION, max_tokens=12, temperature=0.0, call_id="c") as answer,
    ):
        pieces = [piece async for piece in answer if isinstance(piece, str)]
        assert answer.finish_reason in {"length", "stop"}
    assert len(pieces) > 3


async def test_callers_are_answered_side_by_side_and_one_who_leaves_disturbs_nobody(ray: RayCluster) -> None:
    async with client(ray) as llm:

        async def ask(most: int) -> str:
            async with llm.stream(QUESTION, max_tokens=most, temperature=0.0, call_id="c") as answer:
                return "".join([piece async for piece in answer if isinstance(piece, str)])

        alone = await ask(12)
        leaving = [asyncio.create_task(ask(900)) for _ in range(2)]
        staying = [asyncio.create_task(ask(12)) for _ in range(2)]
        await asyncio.sleep(1)
        for task in leaving:
            task.cancel()
        assert [await task for task in staying] == [alone, alone]
        for task in leaving:
            with contextlib.suppress(asyncio.CancelledError):
                await task


async def test_what_is_wrong_is_an_exception_of_the_openai_client(ray: RayCluster) -> None:
    said: list[Any] = [{"role": "user", "content": "Hi."}]
    async with stock(ray) as llm:
        with pytest.raises(openai.NotFoundError, match="nobody"):
            await llm.chat.completions.create(model="nobody", messages=said, max_tokens=2)
        with pytest.raises(openai.BadRequestError, match="temperature"):
            await llm.chat.completions.create(model="brain", messages=said, temperature=-3, max_tokens=2)
        long: list[Any] = [{"role": "user", "content": "word " * 2000}]
        with pytest.raises(openai.BadRequestError, match="context length"):
            await llm.chat.completions.create(model="brain", messages=long, max_tokens=2)
    async with client(ray, model="nobody") as ours:
        with pytest.raises(WorkerError, match="status 404") as caught:
            async with ours.stream(QUESTION, max_tokens=2, temperature=0.0, call_id="c") as answer:
                await anext(answer)
        assert not caught.value.retryable


async def test_ray_takes_what_is_shipped_for_cards() -> None:
    """The whole file, as it stands, through the models that `serve deploy` puts it through."""
    program = (
        "import json, sys; from ray.serve.llm import LLMServingArgs, build_openai_app; "
        "args = json.load(sys.stdin); checked = LLMServingArgs(**args).llm_configs[0]; "
        "engine = checked.get_engine_config(); "
        "build_openai_app(args); "
        "print(json.dumps([checked.model_id, engine.get_initialization_kwargs(), engine.placement_bundles]))"
    )
    (args,) = (one["args"] for one in shipped()["applications"] if one["name"] == "llm")
    process = await asyncio.create_subprocess_exec(
        prepare.python(), "-c", program, env={**os.environ, "HF_HUB_OFFLINE": "1"},
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    output, errors = await process.communicate(json.dumps(args).encode())
    assert process.returncode == 0, errors.decode()[-2000:]
    name, engine, bundles = json.loads(output.decode().splitlines()[-1])
    (given,) = args["llm_configs"]
    assert name == given["model_loading_config"]["model_id"]
    assert engine.items() >= given["engine_kwargs"].items()
    assert bundles == given["placement_group_config"]["bundles"]


async def test_the_talk_fits_the_engine() -> None:
    """What a call may send by default is what the shipped engine reads."""
    (args,) = (one["args"] for one in shipped()["applications"] if one["name"] == "llm")
    engine = args["llm_configs"][0]["engine_kwargs"]
    assert engine["max_model_len"] >= LlmSettings().context_tokens
    assert engine["enable_prefix_caching"] is LlmSettings().prefix_caching
