"""Workers as children of `voicebot up`: each with its card, and the language model last on a card that is shared."""

import asyncio
import json
import socket
import sys
from pathlib import Path

import pytest

from gpu_workers.devices.plan import Plan
from gpu_workers.devices.planner import make_plan
from tests.support.machines import machine
from tests.support.rig import free_ports
from voicebot import start_workers
from voicebot.config import Config, parse
from voicebot.planning import demand_of, read_plan
from voicebot.start_workers import started_workers
from voicebot.supervise import Child

# what `voicebot worker` is to the parent: it says what it was started with, and answers /health some time later
WORKER = """
import http.server, json, os, sys, time
kind, port, journal = sys.argv[1], int(sys.argv[2]), sys.argv[3]
def write(**what):
    with open(journal, 'a') as out:
        out.write(json.dumps({'kind': kind, **what}) + '\\n')
write(event='started', cards=os.environ['CUDA_VISIBLE_DEVICES'], order=os.environ['CUDA_DEVICE_ORDER'])
time.sleep(0.3)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        write(event='ready')
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"ready": true}')
http.server.ThreadingHTTPServer(('127.0.0.1', port), Handler).serve_forever()
"""
PATIENCE_S = 60.0


def configuration(folder: Path) -> Config:
    stt, llm, tts = free_ports(3, socket.SOCK_STREAM)
    return parse(
        f"""
workers:
  stt: {{device: auto, port: {stt}}}
  llm: {{device: auto, port: {llm}, model: Qwen/Qwen2.5-7B-Instruct-AWQ}}
  tts: {{device: auto, port: {tts}}}
log: {{directory: {folder}/log}}
""",
        "test.yaml",
        {},
    )


async def journal_of(
    config: Config, plan: Plan, folder: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> list[dict[str, str]]:
    journal = folder / "journal"
    honest = start_workers._child

    def child(kind: str, config: Config, plan: Plan, config_file: Path, plan_file: Path) -> Child:
        made = honest(kind, config, plan, config_file, plan_file)
        assert read_plan(Path(made.command[-1])) == plan
        port = {"stt": config.workers.stt, "llm": config.workers.llm, "tts": config.workers.tts}[kind].port
        command = (sys.executable, "-c", WORKER, kind, str(port), str(journal))
        return Child(kind, command, made.log_path, env=made.env, nice=made.nice)

    monkeypatch.setattr(start_workers, "_child", child)
    async with (
        asyncio.timeout(PATIENCE_S),
        started_workers(config, plan, folder / "voicebot.yaml", said.append, asyncio.Event()) as parts,
    ):
        assert {part.child.name for part in parts} == {"stt", "llm", "tts"}
        while sum("started" in line for line in lines(journal)) < 3:  # noqa: ASYNC110 - other processes write it
            await asyncio.sleep(0.05)
    return [json.loads(line) for line in lines(journal)]


def lines(journal: Path) -> list[str]:
    return journal.read_text().splitlines() if journal.exists() else []


async def test_on_a_card_of_its_own_the_model_starts_beside_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, said = configuration(tmp_path), list[str]()
    cards = machine("two_cards")
    plan = make_plan(cards, demand_of(config))
    found = await journal_of(config, plan, tmp_path, monkeypatch, said)
    given = {line["kind"]: line["cards"] for line in found if line["event"] == "started"}
    assert given == {"stt": cards.cards[1].uuid, "llm": cards.cards[0].uuid, "tts": ""}
    assert {line["order"] for line in found if line["event"] == "started"} == {"PCI_BUS_ID"}
    assert said == []


async def test_on_a_shared_card_it_starts_when_the_others_are_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, said = configuration(tmp_path), list[str]()
    plan = make_plan(machine("one_card_24"), demand_of(config))
    found = await journal_of(config, plan, tmp_path, monkeypatch, said)
    events = [(line["kind"], line["event"]) for line in found]
    begun = events.index(("llm", "started"))
    assert {("stt", "started"), ("tts", "started"), ("stt", "ready"), ("tts", "ready")} <= set(events[:begun])
    assert said == ["llm waits for what shares its card."]
