"""What deploy/ holds: checked offline against Kubernetes' and Ray's own schemas, and against our own settings."""

import asyncio
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from pydantic import ValidationError

from gpu_workers.cluster.settings import SttApplication, TtsApplication
from stasis_app.tools.settings import LONGEST_S
from tests.cluster.kubernetes_schema import definitions, schema_of
from tests.cluster.ray_cluster import BIN, ROOT
from voicebot.config import Config, parse
from voicebot.config.processes import parts_of
from voicebot.time_to_end import drain_within_s

KUBERNETES = ROOT / "deploy" / "kubernetes"
SYSTEMD = ROOT / "deploy" / "systemd"
SERVE = ROOT / "deploy" / "ray" / "serve.yaml"
DOC = (ROOT / "docs" / "cluster.md").read_text()
SECRETS = {"ARI_PASSWORD": "x", "VOICEBOT_API_KEY": "y", "WEB_TOKEN": "z", "NODE_IP": "10.0.0.20"}


def documents() -> Iterator[dict[str, Any]]:
    for path in sorted(KUBERNETES.glob("*.yaml")):
        yield from yaml.safe_load_all(path.read_text())


def one(kind: str) -> dict[str, Any]:
    (found,) = (document for document in documents() if document["kind"] == kind)
    return found


@cache
def kubernetes() -> dict[str, Any]:
    return definitions()


def call_config() -> Config:
    return parse(one("ConfigMap")["data"]["voicebot.yaml"], "voicebot.yaml", SECRETS)


def serve_config() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(SERVE.read_text())
    return read


def wrong(document: dict[str, Any]) -> list[str]:
    checked = jsonschema_rs.Draft202012Validator(schema_of(document["kind"], kubernetes()))
    return [
        f"{'.'.join(map(str, error.instance_path))}: {error.message[-200:]}"
        for error in checked.iter_errors(document)
    ]


def test_every_manifest_is_what_kubernetes_takes() -> None:
    found = list(documents())
    kinds = {
        "Namespace",
        "ConfigMap",
        "RayService",
        "StatefulSet",
        "Service",
        "PodDisruptionBudget",
        "NetworkPolicy",
    }
    assert {document["kind"] for document in found} == kinds
    assert {document["kind"]: wrong(document) for document in found} == {kind: [] for kind in kinds}


@pytest.mark.parametrize(
    ("kind", "path", "value", "told"),
    [
        ("StatefulSet", "spec.template.spec.terminationGracePeriod", 5, "terminationGracePeriod"),
        ("StatefulSet", "spec.replicas", "two", "spec.replicas"),
        (
            "RayService",
            "spec.rayClusterConfig.headGroupSpec.template.spec.containers.0.imagee",
            "x",
            "imagee",
        ),
        ("RayService", "spec.serveConfig", "x", "serveConfig"),
        ("PodDisruptionBudget", "spec.minAvailble", 1, "minAvailble"),
    ],
)
def test_the_schemas_find_what_is_wrong(kind: str, path: str, value: object, told: str) -> None:
    document = one(kind)
    place: Any = document
    *above, last = path.split(".")
    for key in above:
        place = place[int(key) if key.isdigit() else key]
    place[last] = value
    assert any(told in line for line in wrong(document))


def test_names_fit_together() -> None:
    names = {(document["kind"], document["metadata"]["name"]) for document in documents()}
    stateful = one("StatefulSet")
    assert ("Service", stateful["spec"]["serviceName"]) in names
    (volume,) = (one for one in pod()["volumes"] if "configMap" in one)
    assert ("ConfigMap", volume["configMap"]["name"]) in names
    labels = stateful["spec"]["template"]["metadata"]["labels"].items()
    assert labels >= one("PodDisruptionBudget")["spec"]["selector"]["matchLabels"].items()
    mounted = {mount["name"] for mount in pod()["containers"][0]["volumeMounts"]}
    claimed = {claim["metadata"]["name"] for claim in stateful["spec"]["volumeClaimTemplates"]}
    assert mounted == {volume["name"] for volume in pod()["volumes"]} | claimed
    urls = {
        part.url for part in (call_config().workers.stt, call_config().workers.tts, call_config().workers.llm)
    }
    prefixes = {application["route_prefix"] for application in serve_config()["applications"]}
    service = f"http://{one('RayService')['metadata']['name']}-serve-svc.voicebot:{serve_config()['http_options']['port']}"
    assert urls == {service + prefix for prefix in prefixes}


def pod() -> dict[str, Any]:
    spec: dict[str, Any] = one("StatefulSet")["spec"]["template"]["spec"]
    return spec


def test_each_secret_of_the_configuration_is_in_the_pods_environment() -> None:
    given = {variable["name"] for variable in pod()["containers"][0]["env"]}
    asked = set(re.findall(r"\$\{(\w+)\}", one("ConfigMap")["data"]["voicebot.yaml"]))
    assert asked == SECRETS.keys() == given - {"POD_INDEX"}


def test_a_call_process_has_time_to_finish_its_calls() -> None:
    container = pod()["containers"][0]
    sleep, before_s = container["lifecycle"]["preStop"]["exec"]["command"]
    assert sleep == "sleep"
    assert "exec voicebot run" in container["args"][0], "SIGTERM reaches it, not a shell"
    given_s, config = pod()["terminationGracePeriodSeconds"], call_config()
    assert given_s >= float(before_s) + drain_within_s(config) + LONGEST_S, "whatever its tools wait for"
    (beyond_s,) = re.findall(r"`terminationGracePeriodSeconds` at least (\d+) s above it", DOC)
    assert float(beyond_s) >= float(before_s) + drain_within_s(config) + LONGEST_S - config.calls.drain_s
    assert given_s >= config.calls.drain_s + float(beyond_s)


def test_there_are_as_many_pods_as_call_processes_and_each_asks_its_own_port() -> None:
    parts = parts_of(call_config())
    assert one("StatefulSet")["spec"]["replicas"] == len(parts)
    ports = [part.web.port for part in parts.values()]
    assert ports == [8080 + number for number in range(len(parts))]
    for probe, path in (("readinessProbe", "/ready"), ("livenessProbe", "/live"), ("startupProbe", "/live")):
        said = pod()["containers"][0][probe]["exec"]["command"][-1]
        assert said.endswith(f'"http://127.0.0.1:$((8080 + POD_INDEX)){path}"')
    media = [part.media for part in parts.values()]
    assert all(one.port_end < other.port_start for one, other in pairwise(media))
    assert {one.bind_host for one in media} == {SECRETS["NODE_IP"]}


def test_a_probe_fails_where_nobody_answers_and_passes_where_one_does() -> None:
    command = pod()["containers"][0]["readinessProbe"]["exec"]["command"]

    async def main() -> tuple[int, int, int]:
        answers = iter((b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 503 Busy\r\n\r\n"))

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(next(answers))
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            index = str(server.sockets[0].getsockname()[1] - 8080)
            codes = [await probe(index), await probe(index)]
        return codes[0], codes[1], await probe(index)

    async def probe(index: str) -> int:
        process = await asyncio.create_subprocess_exec(
            *command, env={**os.environ, "POD_INDEX": index}, stderr=asyncio.subprocess.DEVNULL
        )
        return await process.wait()

    well, busy, gone = asyncio.run(main())
    assert well == 0
    assert busy != 0
    assert gone != 0


def test_kubernetes_runs_what_ray_runs() -> None:
    assert yaml.safe_load(one("RayService")["spec"]["serveConfigV2"]) == serve_config()


def test_the_senses_and_the_brain_run_on_machines_of_their_own() -> None:
    groups = one("RayService")["spec"]["rayClusterConfig"]["workerGroupSpecs"]
    offered = {
        group["groupName"]: json.loads(group["rayStartParams"]["resources"].strip("'")) for group in groups
    }
    stt, tts, llm = (application["args"] for application in serve_config()["applications"])
    (bundle,) = llm["llm_configs"][0]["placement_group_config"]["bundles"]
    assert offered["senses"].keys() == stt["needs"].keys() == tts["needs"].keys()
    assert offered["brain"].keys() <= bundle.keys()
    assert not offered["senses"].keys() & bundle.keys()


def test_rays_own_schema_and_ours_take_the_serve_config() -> None:
    program = (
        "import sys, yaml; from ray.serve.schema import ServeDeploySchema; "
        "print(ServeDeploySchema(**yaml.safe_load(sys.stdin)).applications[0].name)"
    )
    said = subprocess.run(
        [BIN / "python", "-c", program], input=SERVE.read_text(), capture_output=True, text=True, check=False
    )
    assert (said.returncode, said.stdout) == (0, "stt\n"), said.stderr
    stt, tts, _ = (application["args"] for application in serve_config()["applications"])
    assert SttApplication(**stt).max_replicas >= SttApplication(**stt).min_replicas
    assert TtsApplication(**tts).worker.voice == "joe"


def test_what_cannot_be_deployed_is_said_where_it_is_deployed() -> None:
    with pytest.raises(ValidationError, match="Ray chooses the card"):
        SttApplication(worker={"device": "cuda:1"})
    with pytest.raises(ValidationError, match=r"worker\.port means nothing on a cluster"):
        TtsApplication(worker={"port": 9000})
    with pytest.raises(ValidationError, match="write api_key_env"):
        SttApplication(worker={"api_key": "k"})
    with pytest.raises(ValidationError, match="must not be below"):
        TtsApplication(min_replicas=3, max_replicas=2)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="this machine has no systemd")
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    units = []
    for unit in SYSTEMD.glob("*.service"):
        # the program need not be installed here
        text = re.sub(r"/opt/voicebot/\.venv/bin/voicebot", "/bin/true", unit.read_text())
        (tmp_path / unit.name).write_text(text)
        units.append(tmp_path / unit.name)
    assert len(units) == 4
    checked = subprocess.run(
        ["systemd-analyze", "verify", *units], capture_output=True, text=True, check=False
    )
    names = [unit.name for unit in units]
    said = [line for line in checked.stderr.splitlines() if any(name in line for name in names)]
    assert (checked.returncode, said) == (0, []), "of other units of this machine nothing is asked"


def test_a_unit_gives_its_calls_time_and_leaves_a_taken_app_alone() -> None:
    unit = (SYSTEMD / "voicebot@.service").read_text()
    stop = int(re.findall(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)[0])
    assert stop >= drain_within_s(Config())
    assert "NotifyAccess=main\n" in unit, "it asks for as long as calls.drain_s is set to"
    assert "RestartPreventExitStatus=2 75\n" in unit
    assert "KillMode=mixed\n" in unit, (
        "a supervisor passes the signal on; two of them would be a second signal"
    )
