"""What deploy/ gives the programs no right to (S9): systemd's units, Kubernetes' pods, the images."""

import platform
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpu_workers.leash import MAX_OPEN_FILES

DEPLOY = Path(__file__).parents[2] / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))

EACH_UNIT = {
    "User": "voicebot",
    "NoNewPrivileges": "yes",
    "CapabilityBoundingSet": "",
    "ProtectSystem": "strict",
    "ReadOnlyPaths": "/run",
    "ProtectHome": "yes",
    "PrivateTmp": "yes",
    "RestrictSUIDSGID": "yes",
    "UMask": "0077",
    "LimitCORE": "0",
    # the signal that asks for a drain is for the program, not at once for what it has started
    "KillMode": "mixed",
    "LimitNOFILE": str(MAX_OPEN_FILES),
}
MOST_EXPOSED = {"voicebot@.service": 20}
"""In tenths of systemd's own rating, 0 to 100. A worker may need a card, so it keeps devices and system calls."""


def service(unit: Path) -> dict[str, str]:
    text = unit.read_text().partition("[Service]\n")[2].partition("\n[")[0]
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line and line[0] != "#")


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_has_no_rights_it_does_not_need(unit: Path) -> None:
    keys = service(unit)
    assert {name: keys.get(name) for name in EACH_UNIT} == EACH_UNIT
    # secrets come in a file of root's, never on the command line, which everybody may read
    assert keys["EnvironmentFile"] == "-/etc/voicebot/secrets"
    assert not re.search(r"password|token|api_key", keys["ExecStart"], re.IGNORECASE)


def test_what_a_call_needs_is_stopped_after_it() -> None:
    """systemd stops in the reverse of `After=`: at a shutdown Asterisk and the workers would go first."""
    (calls,) = (unit for unit in UNITS if "run" in service(unit)["ExecStart"].split())
    (after,) = re.findall(r"^After=(.*)$", calls.read_text(), re.MULTILINE)
    workers = {unit.name for unit in UNITS if unit != calls}
    assert set(after.split()) == {"network-online.target", "asterisk.service", *workers}


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_what_a_program_writes_is_in_the_folders_it_has(unit: Path) -> None:
    """The file system is read-only but for these."""
    keys = service(unit)
    assert f"VOICEBOT_CACHE=/var/cache/{keys['CacheDirectory']}" == keys["Environment"]
    if "run" in keys["ExecStart"].split():
        # calls.flight_recorder may be relative; others may not look into it
        assert keys["WorkingDirectory"] == f"/var/lib/{keys['StateDirectory']}"
        assert keys["StateDirectoryMode"] == "0700"
    else:
        # a voice may be: it lies beside the file that names it, which the worker may only read
        assert keys["WorkingDirectory"] == str(Path(keys["ExecStart"].split()[-1]).parent)
        assert "StateDirectory" not in keys


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_is_not_started_again_in_vain(unit: Path) -> None:
    keys = service(unit)
    never = set(keys["RestartPreventExitStatus"].split())
    assert keys["Restart"] == "on-failure"
    assert never == {"2", "75"} if "run" in keys["ExecStart"].split() else {"2"}


GETIFADDRS = """
import ctypes, errno, socket, struct, sys
SOCKET = {"x86_64": 41, "aarch64": 198}[sys.argv[1]]
allowed = [getattr(socket, name) for name in sys.argv[2:]]
load, equal, give = 0x20, 0x15, 0x06
steps = [(load, 0, 0, 0), (equal, 0, len(allowed) + 2, SOCKET), (load, 0, 0, 16)]
steps += [(equal, len(allowed) - number, 0, family) for number, family in enumerate(allowed)]
steps += [(give, 0, 0, 0x00050000 | errno.EAFNOSUPPORT), (give, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
program = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
    sys.exit("no seccomp here")
found = ctypes.c_void_p()
print(libc.getifaddrs(ctypes.byref(found)))
"""
"""Under the filter that systemd makes of RestrictAddressFamilies=: socket(2) of another family is refused."""


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="other system call numbers")
def test_vllm_may_look_for_the_interfaces_of_its_machine() -> None:
    """gloo, which joins vLLM's ranks (one is enough), asks getifaddrs(3), and that a socket of AF_NETLINK."""
    families = service(DEPLOY / "systemd" / "voicebot-llm.service")["RestrictAddressFamilies"].split()

    def gives(*allowed: str) -> str:
        command = (sys.executable, "-c", GETIFADDRS, platform.machine(), *allowed)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if "no seccomp here" in done.stderr:
            pytest.skip("no seccomp here")
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert gives(*families) == "0"
    assert gives(*(name for name in families if name != "AF_NETLINK")) == "-1", "it is not needed"


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="this machine has no systemd")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_rates_a_unit_as_safe(unit: Path) -> None:
    said = subprocess.run(
        ("systemd-analyze", "security", "--offline=true", "--no-pager",
         f"--threshold={MOST_EXPOSED.get(unit.name, 40)}", str(unit)),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "offline" in said.stderr:
        pytest.skip("systemd older than 250 does not rate files")
    assert said.returncode == 0, said.stdout


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            if document["kind"] == "StatefulSet":
                yield "calls", document["spec"]["template"]["spec"]
            elif document["kind"] == "RayService":
                cluster = document["spec"]["rayClusterConfig"]
                yield "head", cluster["headGroupSpec"]["template"]["spec"]
                for group in cluster["workerGroupSpecs"]:
                    yield group["groupName"], group["template"]["spec"]


def test_no_pod_runs_as_root_or_can_become_it() -> None:
    found = dict(pods())
    assert found.keys() == {"calls", "head", "senses", "brain"}
    for name, pod in found.items():
        user = pod["securityContext"]
        assert (user["runAsNonRoot"], user["runAsUser"] > 0) == (True, True), name
        assert user["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert not {"hostPID", "hostIPC"} & pod.keys(), name
        # only Ray's head asks Kubernetes for anything
        assert pod.get("automountServiceAccountToken", True) is (name == "head"), name
        for container in pod["containers"]:
            rights = container["securityContext"]
            assert rights["allowPrivilegeEscalation"] is False, name
            assert rights["capabilities"] == {"drop": ["ALL"]}, name
            assert rights.get("readOnlyRootFilesystem", False) is (name == "calls"), name
            given = {variable["name"]: variable for variable in container.get("env", ())}
            secret = [key for key in given if re.search(r"PASSWORD|TOKEN|KEY", key)]
            assert all("secretKeyRef" in given[key]["valueFrom"] for key in secret), name


def test_the_call_pod_may_write_where_the_program_does() -> None:
    (container,) = dict(pods())["calls"]["containers"]
    writable = {mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")}
    assert writable == {"/var/cache/voicebot", "/tmp"}
    (config,) = (
        document
        for path in (DEPLOY / "kubernetes").glob("*.yaml")
        for document in yaml.safe_load_all(path.read_text())
        if document["kind"] == "ConfigMap"
    )
    assert "cache_dir: /var/cache/voicebot" in config["data"]["voicebot.yaml"]


def test_the_image_of_the_call_process_is_not_roots_and_pinned() -> None:
    text = (DEPLOY / "kubernetes" / "Containerfile").read_text()
    call = text.partition(" AS call\n")[2].partition("\nFROM ")[0]
    assert re.search(r"^USER [1-9]\d*$", call, re.MULTILINE)
    assert "--require-hashes" in call
    assert not re.search(r"^(ENV|ARG) .*(PASSWORD|TOKEN|KEY)", text, re.MULTILINE)


def test_an_image_gets_the_programs_and_nothing_that_lies_beside_them() -> None:
    lines = (DEPLOY.parent / ".dockerignore").read_text().splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())
    packages = {name.rstrip("*") for name in project["tool"]["setuptools"]["packages"]["find"]["include"]}
    assert rules[0] == "*", "all is left out but for what is named"
    taken = {rule.removeprefix("!") for rule in rules if rule.startswith("!")}
    assert taken == packages | {"README.md", "pyproject.toml", "requirements"}


def test_git_does_not_take_what_an_admin_keeps_to_himself() -> None:
    ignored = set((DEPLOY.parent / ".gitignore").read_text().splitlines())
    assert {"/voicebot.yaml", "/my.yaml", ".env", "*.flight", "var/"} <= ignored


def test_nobody_finds_what_was_said_in_a_core_dump() -> None:
    ask = "import resource; resource.setrlimit(resource.RLIMIT_CORE, (999, 999));"
    ask += "from voicebot.cli import main; main(['version']); print(resource.getrlimit(resource.RLIMIT_CORE))"
    ended = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "(0, 999)"


def test_machines_of_a_cluster_install_what_is_pinned() -> None:
    """The documentation's own lines, and the Ray of the same lock beside them."""
    text = (DEPLOY.parent / "docs" / "cluster.md").read_text()
    assert ".venv/bin/pip install --require-hashes -r requirements/ray.txt" in text
    assert ".venv/bin/pip install --no-deps --no-build-isolation -e ." in text
    lock = (DEPLOY.parent / "requirements" / "ray.txt").read_text()
    (version,) = re.findall(r"'ray\[serve,llm\]==([0-9.]+)'", text)
    assert f"\nray=={version} " in lock
    assert "\nsetuptools==" in lock, "the project is built with what is there"
