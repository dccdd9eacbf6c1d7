"""The manifests agree with our own settings, with each other, with the images and with what docs/cluster.md tells."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import yaml

from gpu_workers.cluster.settings import SttApplication, TtsApplication
from tests.cluster.ray_cluster import BIN, ROOT
from tests.cluster.test_deploy import call_config, one, pod, serve_config
from voicebot.cli.arguments import parser
from voicebot.config.processes import parts_of

DOC = (ROOT / "docs" / "cluster.md").read_text()
CONTAINERFILE = (ROOT / "deploy" / "kubernetes" / "Containerfile").read_text()
NODE_PORTS = 30_000  # Kubernetes' own range begins here, and the kernel's ephemeral ports behind it


def container() -> dict[str, Any]:
    (found,) = pod()["containers"]
    return dict(found)


def ray_cluster() -> dict[str, Any]:
    return dict(one("RayService")["spec"]["rayClusterConfig"])


def ray_pods() -> dict[str, dict[str, Any]]:
    head: dict[str, Any] = ray_cluster()["headGroupSpec"]
    groups: list[dict[str, Any]] = ray_cluster()["workerGroupSpecs"]
    return {
        "head": head["template"]["spec"],
        **{group["groupName"]: group["template"]["spec"] for group in groups},
    }


def test_ports_are_those_of_the_settings() -> None:
    serve = serve_config()["http_options"]["port"]
    (head,) = ray_pods()["head"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in head["ports"]}
    assert ports == {"gcs": 6379, "dashboard": 8265, "client": 10001, "serve": serve}
    (web,) = one("Service")["spec"]["ports"]
    assert web["port"] == call_config().web.port
    opened = {
        port["port"] for rule in one("NetworkPolicy")["spec"]["ingress"] for port in rule.get("ports", ())
    }
    assert opened == {serve, ports["dashboard"]}


def test_sound_has_ports_for_every_call_that_nothing_else_takes() -> None:
    for part in parts_of(call_config()).values():
        pairs = (part.media.port_end - part.media.port_start) // 2
        assert pairs >= part.calls.max_calls
        assert part.media.port_end < NODE_PORTS
    media = call_config().media
    assert f"UDP {media.port_start} to {media.port_end} must be open" in DOC


def test_the_pod_runs_a_command_that_we_know(tmp_path: Path) -> None:
    """What its shell makes of it, read by our own command line."""
    program = tmp_path / "voicebot"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    command = [*container()["command"], *container()["args"]]
    said = subprocess.run(
        command, env={"PATH": path, "POD_INDEX": "1"}, capture_output=True, text=True, check=True
    )
    chosen = parser().parse_args(said.stdout.splitlines())
    assert chosen.number == 2 <= call_config().calls.processes
    mounted = {mount["name"]: Path(mount["mountPath"]) for mount in container()["volumeMounts"]}
    assert chosen.config == mounted["config"] / next(iter(one("ConfigMap")["data"]))


def test_what_is_written_has_a_place() -> None:
    """The root is read-only: models and prompts of the pod's volume, and /tmp."""
    assert container()["securityContext"]["readOnlyRootFilesystem"]
    mounted = {mount["mountPath"] for mount in container()["volumeMounts"] if not mount.get("readOnly")}
    assert mounted == {str(call_config().workers.cache_dir), "/tmp"}
    stt, tts, _ = (application["args"] for application in serve_config()["applications"])
    folders = {str(SttApplication(**stt).cache_dir), str(TtsApplication(**tts).cache_dir)}
    for name in ("senses", "brain"):
        (ray,) = ray_pods()[name]["containers"]
        assert {mount["mountPath"] for mount in ray["volumeMounts"]} == folders


def test_every_secret_is_made_as_the_page_says() -> None:
    made = set(re.findall(r"--from-literal=(\w+)=", DOC))
    asked: set[str] = set()
    for spec in (pod(), *ray_pods().values()):
        for variable in (given for part in spec["containers"] for given in part.get("env", ())):
            if secret := variable.get("valueFrom", {}).get("secretKeyRef"):
                assert secret["name"] == "voicebot"
                asked.add(secret["key"])
    assert asked == made
    stt, tts, _ = (application["args"] for application in serve_config()["applications"])
    for name in ("head", "senses"):
        (ray,) = ray_pods()[name]["containers"]
        given = {variable["name"] for variable in ray["env"]}
        assert given >= {SttApplication(**stt).api_key_env, TtsApplication(**tts).api_key_env}


def test_images_are_those_that_are_built_and_ray_is_the_one_that_is_tested() -> None:
    used = {
        part["image"].partition(":")[0]
        for spec in (pod(), *ray_pods().values())
        for part in spec["containers"]
    }
    assert used == {
        f"voicebot-{target}" for target in re.findall(r"^FROM \S+ AS (\w+)$", CONTAINERFILE, re.MULTILINE)
    }
    (pinned,) = re.findall(r"^ray==(\S+)", (ROOT / "requirements" / "ray.txt").read_text(), re.MULTILINE)
    (image, python) = re.findall(r"rayproject/ray-llm:([\d.]+)-py(\d+)", CONTAINERFILE)[0]
    assert ray_cluster()["rayVersion"] == image == pinned
    assert f"python:{python[0]}.{python[1:]}-slim" in CONTAINERFILE


def test_only_who_has_the_token_is_part_of_the_ray_cluster() -> None:
    """Whoever reaches Ray's ports runs code there."""
    assert ray_cluster()["authOptions"] == {"mode": "token"}
    assert "RAY_AUTH_MODE=token" in DOC


def test_a_ray_pod_leaves_when_its_replicas_have() -> None:
    """Drained first, for longer than a replica may take; the wait and the grace period are longer still."""
    program = (
        "from gpu_workers.cluster.applications import options; "
        "from gpu_workers.cluster.settings import SttApplication; app = SttApplication(); "
        "print(options('stt', app, app.worker, 1)['graceful_shutdown_timeout_s'])"
    )
    said = subprocess.run(
        [BIN / "python", "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    leave_s = float(said.stdout)
    for name in ("senses", "brain"):
        (ray,) = ray_pods()[name]["containers"]
        hook = ray["lifecycle"]["preStop"]["exec"]["command"][-1]
        deadline = int(re.findall(r"--deadline-remaining-seconds (\d+)", hook)[0])
        waited = int(re.findall(r"sleep (\d+)", hook)[0])
        assert leave_s < deadline < waited < ray_pods()[name]["terminationGracePeriodSeconds"]


def test_one_call_process_at_a_time_leaves() -> None:
    budget, stateful = one("PodDisruptionBudget")["spec"], one("StatefulSet")["spec"]
    assert budget["maxUnavailable"] == 1 < stateful["replicas"]
    assert budget["selector"] == stateful["selector"]
    assert stateful["updateStrategy"] == {"type": "RollingUpdate"}
    workers = {"app.kubernetes.io/name": "kuberay"}
    assert one("NetworkPolicy")["spec"]["podSelector"]["matchLabels"] == workers
    assert not budget["selector"]["matchLabels"].items() & workers.items()


def test_the_page_says_the_numbers_of_the_manifests() -> None:
    config = call_config()
    assert f"`calls.drain_s` ({config.calls.drain_s:g} s)" in DOC
    assert f"`VOICEBOT_PROCESSES = {config.calls.processes}`" in DOC
    service = yaml.safe_load((ROOT / "deploy" / "ray" / "serve.yaml").read_text())["http_options"]["port"]
    assert f"curl http://HEAD:{service}/stt/health" in DOC
