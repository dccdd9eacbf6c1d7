"""The model workers of this machine as children, each on the device that the plan gives it."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from gpu_workers.client import worker_session
from gpu_workers.devices.plan import CPU, Plan
from gpu_workers.signals import BEYOND_DRAIN_S, DRAIN_S
from voicebot import health
from voicebot.config import Config, worker_parts
from voicebot.errors import PartError
from voicebot.planning import card_environment, write_plan
from voicebot.supervise import Child, Part, Say, supervised

_NICE = {"stt": 5, "tts": 5, "llm": 10}  # the call process comes first: it keeps the clock of the sound
_GRACE_S = DRAIN_S + BEYOND_DRAIN_S + 5.0
_QUICK_END_S = 5.0
_POLL_S = 0.25
START_S = 900.0  # a large model on a slow disk


@asynccontextmanager
async def started_workers(
    config: Config, plan: Plan, config_file: Path, say: Say, hurry: asyncio.Event
) -> AsyncIterator[list[Part]]:
    """All that are to be started here. A copy of the plan lies beside `config_file`, so that a worker that is started
    again finds what it had, not what others leave."""
    plan_file = config_file.with_name("plan.json")
    write_plan(plan, plan_file)
    parts: list[Part] = []
    async with AsyncExitStack() as stack:
        for kinds in in_turn(config, plan):
            if parts:
                say(f"{' and '.join(kinds)} waits for what shares its card.")
                await _all_ready(config, parts)
            children = [_child(kind, config, plan, config_file, plan_file) for kind in kinds]
            parts += await stack.enter_async_context(supervised(children, say, hurry))
        yield parts


def in_turn(config: Config, plan: Plan) -> Sequence[Sequence[str]]:
    """Side by side, but the language model after those that share its card.

    vLLM measures what is taken while it starts, and counts what others take meanwhile as its own.
    """
    kinds = [kind for kind, part in worker_parts(config).items() if part.start]
    brain = plan.of("llm")
    shared = brain is not None and brain.device != CPU
    beside = [
        one.worker for one in plan.placed if brain and one.device == brain.device and one.worker != "llm"
    ]
    if not shared or not beside:
        return [kinds]
    return [[kind for kind in kinds if kind != "llm"], ["llm"]]


def _child(kind: str, config: Config, plan: Plan, config_file: Path, plan_file: Path) -> Child:
    command = (sys.executable, "-P", "-m", "voicebot", "worker", kind)
    given = ("-c", str(config_file), "--plan", str(plan_file))
    return Child(
        kind,
        (*command, *given),
        config.log.directory / f"{kind}.log",
        env=card_environment(plan, kind),
        nice=_NICE[kind],
        grace_s=_GRACE_S,
        quick_end_s=_QUICK_END_S,
    )


async def _all_ready(config: Config, parts: Sequence[Part]) -> None:
    """Returns when all of them answer that they are. Raises PartError when that takes too long."""
    workers = worker_parts(config)
    async with worker_session() as http:
        try:
            async with asyncio.timeout(START_S):
                for part in parts:
                    worker = workers[part.child.name]
                    while not (await health.worker_state(http, worker)).ready:  # noqa: ASYNC110 - a process of its own
                        await asyncio.sleep(_POLL_S)
        except TimeoutError:
            names = ", ".join(part.child.name for part in parts)
            raise PartError(
                f"{names} not ready after {START_S:.0f} s. See the logs in {config.log.directory}."
            ) from None
