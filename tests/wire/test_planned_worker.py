"""`voicebot worker llm` obeys a plan: the server it starts gets the card and the flags that the plan has for it."""

import asyncio
import json
import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from gpu_workers.client import health, worker_session
from gpu_workers.devices.planner import make_plan
from tests.support.machines import machine
from voicebot.config import parse
from voicebot.planning import demand_of, write_plan

STAND_IN = Path(__file__).parents[1] / "support" / "fake_vllm"
PATIENCE_S = 60.0


def of_process(pid: str, what: str) -> list[str]:
    return Path(f"/proc/{pid}/{what}").read_bytes().decode().split("\0")


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="reads what a process was started with")
async def test_the_server_gets_the_card_and_the_flags_of_the_plan(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    llm = {
        "device": "auto",
        "model": "Qwen/Qwen2.5-7B-Instruct-AWQ",
        "kv_cache_dtype": "fp8",
        "chunked_prefill": False,
        "python": sys.executable,
        "port": port,
        "warm_talks": [[{"role": "system", "content": "Be brief."}]],
    }
    text = json.dumps({"workers": {"stt": {"device": "auto"}, "llm": llm}, "calls": {"max_calls": 12}})
    (tmp_path / "voicebot.yaml").write_text(text)
    plan = make_plan(machine("two_cards"), demand_of(parse(text, "test.yaml", {})))
    write_plan(plan, tmp_path / "plan.json")
    pids = tmp_path / "pids"
    environment = {"PYTHONPATH": str(STAND_IN), "FAKE_VLLM": json.dumps({"pids": str(pids)})}
    command = ("-m", "voicebot", "worker", "llm", "-c", str(tmp_path / "voicebot.yaml"))
    with (tmp_path / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, *command, "--plan", str(tmp_path / "plan.json")),
            env={**os.environ, **environment},
            stdout=log,
            stderr=log,
        )
    try:
        async with asyncio.timeout(PATIENCE_S), worker_session() as http:
            while not (await health(http, f"http://127.0.0.1:{port}")).ready:
                assert process.returncode is None, (tmp_path / "log").read_text()
                await asyncio.sleep(0.05)
        server = pids.read_text().split()[0]
        flags, given = of_process(server, "cmdline"), of_process(server, "environ")
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), PATIENCE_S) == 0
    assert plan.llm is not None
    assert f"CUDA_VISIBLE_DEVICES={machine('two_cards').cards[0].uuid}" in given
    values = {flag: flags[place + 1] for place, flag in enumerate(flags[:-1]) if flag.startswith("--")}
    assert float(values["--gpu-memory-utilization"]) == plan.llm.memory_share
    assert (values["--max-model-len"], values["--max-num-seqs"], values["--kv-cache-dtype"]) == (
        "4096",
        "12",
        "fp8",
    )
    assert {"--enable-prefix-caching", "--no-enable-chunked-prefill"} <= set(flags)
