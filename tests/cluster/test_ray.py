"""STT and TTS on a real Ray cluster: what callers notice of replicas that die, hang, come, go and are renewed.

`make test-ray`, part of `make test`. In order, on one cluster. Nothing is lost if each utterance had one answer,
and the right one.
"""

import os
import shlex
import signal
from contextlib import suppress
from typing import Any

import aiohttp
import pytest
import yaml
from pydantic import SecretStr

from gpu_workers.client import TtsClient, WorkerError
from tests.cluster.ray_cluster import KEY, PLACE, ROOT, Node, RayCluster
from tests.cluster.talk import Talk, talking, until
from voicebot.cache import default_cache_dir

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(400),
    pytest.mark.may_leave("Ray runs on"),
]

CALLERS, EACH = 4, 9


def config(
    replicas: tuple[int, int] = (2, 2), worker: dict[str, Any] | None = None, **changed: Any
) -> dict[str, Any]:
    """deploy/ray/serve.yaml, with what this machine has: no card, a small model, no turn model."""
    shipped = yaml.safe_load((ROOT / "deploy" / "ray" / "serve.yaml").read_text())
    stt, tts, _ = shipped["applications"]
    del stt["args"]["gpus"], stt["args"]["needs"], tts["args"]["needs"]
    stt["args"] |= {
        "min_replicas": replicas[0],
        "max_replicas": replicas[1],
        "cpus": 0.5,
        "cache_dir": str(default_cache_dir()),
        "worker": {"model": "whisper-tiny.en", "turn_model": None, **(worker or {})},
        **changed,
    }
    tts["args"] |= {"cpus": 0, "cache_dir": str(default_cache_dir())}
    return {**shipped, "applications": [stt, tts]}


async def test_each_asks_for_the_key_and_the_voice_speaks(ray: RayCluster) -> None:
    await ray.serve(config())
    async with talking(ray, key=None) as nobody:
        with pytest.raises(WorkerError, match="401"):  # also behind Serve's prefix
            await nobody.heard("short01", "nobody")
    async with (
        aiohttp.ClientSession() as http,
        TtsClient(f"{ray.url}/tts", api_key=SecretStr(KEY), session=http) as tts,
    ):
        # a sentence is heard while the next is made; a listener who leaves ends it
        async with tts.speak("We are open. " * 20, voice="joe", call_id="leaves") as speech:
            assert await anext(speech)
        async with tts.speak("We are open. How can I help you?", voice=None, call_id="stays") as speech:
            sound = b"".join([piece async for piece in speech])
        assert 1.0 < len(sound) / 2 / speech.rate < 5.0
        with pytest.raises(WorkerError, match="unknown voice 'alloy': this worker has 'joe'"):
            async with tts.speak("No.", voice="alloy", call_id="no"):
                pass


async def test_a_replica_that_is_killed_under_load_loses_no_utterance(ray: RayCluster) -> None:
    await ray.serve(config())
    async with talking(ray) as talk:
        await talk.learn()
        async with talk.going_on(CALLERS):
            await talk.some(CALLERS * EACH // 4)
            killed = ray.replicas("stt")[0]
            os.kill(killed, signal.SIGKILL)
            await talk.some(CALLERS * EACH * 3 // 4)
        await replaced(ray, killed)
        assert await talk.heard("price01", "after") == talk.expected["price01"]


async def test_a_replica_that_hangs_fails_its_health_check_and_is_replaced(ray: RayCluster) -> None:
    """A process that stands still, as with a card that no longer answers."""
    await ray.serve(config())
    async with talking(ray) as talk:
        await talk.learn()
        hung = ray.replicas("stt")[0]
        os.kill(hung, signal.SIGSTOP)
        try:
            await replaced(ray, hung)
        finally:
            with suppress(ProcessLookupError):
                os.kill(hung, signal.SIGCONT)
        async with talk.going_on(2):
            await talk.some(6)


async def test_an_update_under_load_loses_no_utterance(ray: RayCluster) -> None:
    """Another configuration: new replicas load before old ones leave."""
    await ray.serve(config())
    before = set(ray.replicas("stt"))
    assert len(before) == 2
    async with talking(ray) as talk:
        await talk.learn()
        async with talk.going_on(2):
            await talk.some(2)
            await ray.serve(config(worker={"queue_limit": 32}))
            await until(lambda: not before & set(ray.replicas("stt")), 90)
            await talk.some(4)
        assert set(talk.statuses) == {200}, "no client noticed"
        assert len(ray.replicas("stt")) == 2


async def test_replicas_come_with_the_queue_and_go_when_it_is_short(ray: RayCluster) -> None:
    await ray.serve(config((1, 2), waiting_per_replica=1, upscale_delay_s=1, downscale_delay_s=3))
    await until(lambda: len(ray.replicas("stt")) == 1, 90)
    async with talking(ray) as talk:
        await talk.learn()
        async with talk.going_on(6):
            await until(lambda: len(ray.replicas("stt")) == 2, 120)
            await talk.some(12)
        assert set(talk.statuses) == {200}
        await one_is_enough(ray, talk)


async def test_a_machine_that_is_drained_loses_no_utterance(ray: RayCluster) -> None:
    """What a pod of Ray does before it leaves, on a second node that has one replica of two. Then it is gone."""
    async with talking(ray) as talk:
        async with ray.node({PLACE: 1}) as node:
            await ray.serve(config(needs={PLACE: 1}))
            assert (len(ray.replicas("stt")), len(ray.replicas("stt", node))) == (1, 1)
            await talk.learn()
            async with talk.going_on(2):
                await talk.some(2)
                await ray.run("ray", *drain(node))
                await until(lambda: not ray.replicas("stt", node), 90)
                await talk.some(2)
        async with talk.going_on(2):
            await talk.some(4)
        assert set(talk.statuses) == {200}


def drain(node: Node) -> list[str]:
    """The pods' own command, for a node that a process elsewhere names; with less time, of which Serve keeps 20 s for
    what a replica has begun."""
    groups = [
        group
        for document in yaml.safe_load_all((ROOT / "deploy" / "kubernetes" / "30-workers.yaml").read_text())
        for group in document["spec"]["rayClusterConfig"]["workerGroupSpecs"]
    ]
    hooks = {
        str(one["template"]["spec"]["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][-1])
        for one in groups
    }
    (hook,) = hooks
    ray, *words = shlex.split(hook.partition("&&")[0])
    assert ray == "ray"
    assert words[-2] == "--deadline-remaining-seconds"
    return [*words[:-1], "25", f"--address={node.address}", f"--node-id={node.id}"]


async def one_is_enough(ray: RayCluster, talk: Talk) -> None:
    """A single caller keeps talking while the other replica leaves."""
    async with talk.going_on(1):
        await until(lambda: len(ray.replicas("stt")) == 1, 120)
        await talk.some(2)
    assert set(talk.statuses) == {200}


async def replaced(ray: RayCluster, gone: int) -> None:
    await until(lambda: gone not in (now := ray.replicas("stt")) and len(now) == 2, 120)
