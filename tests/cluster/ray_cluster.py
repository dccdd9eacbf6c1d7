"""A real Ray cluster of one machine, started by Ray's own commands as an admin does, and gone at the end.

async with ray_cluster() as ray:
    await ray.serve(config)          # a Serve config, as deploy/ray/serve.yaml is one
    ray.replicas("stt")              # process ids
    async with ray.node({"spare": 1}) as node: ...        # one more machine
"""

import asyncio
import json
import os
import secrets
import signal
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from socket import SOCK_STREAM
from typing import Any

import yaml

from tests.support.rig import free_ports

ROOT = Path(__file__).parents[2]
BIN = ROOT / "var" / "ray" / "bin"
KEY = "s3cret-key"
PLACE = "place"  # the head node has one of it
_START_S = 180.0
_UNTIL_RUNNING = """
import sys, time, ray
from ray import serve
ray.init(address=sys.argv[1], log_to_driver=False)
while True:
    apps = serve.status().applications.values()
    if apps and all(app.status == "RUNNING" for app in apps):
        break
    failed = [app.message for app in apps if app.status in ("DEPLOY_FAILED", "UNHEALTHY")]
    assert not failed, failed
    time.sleep(0.2)
"""
_ID_OF_NODE = """
import sys, time, ray
ray.init(address=sys.argv[1], log_to_driver=False)
while not (found := [one for one in ray.nodes() if one["Alive"] and one["NodeManagerAddress"] == sys.argv[2]]):
    time.sleep(0.2)
print("NODE", found[0]["NodeID"])
"""
_SECOND = "127.0.0.2"
# a small machine that is nearly full is none of its business here
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_COLOR_PREFIX": "0", "RAY_memory_monitor_refresh_ms": "0"}


@dataclass(frozen=True)
class Node:
    """One more machine of the cluster at `address`."""

    id: str
    address: str
    process: asyncio.subprocess.Process


@dataclass(frozen=True)
class RayCluster:
    """`url` is where Serve listens."""

    head: asyncio.subprocess.Process
    address: str
    port: int
    environment: Mapping[str, str]
    bin: Path
    _deployed: dict[str, Any] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, config: Mapping[str, Any], within_s: float = _START_S) -> None:
        """Deploys, and waits until all replicas have loaded their models; what is deployed already is not again."""
        if config == self._deployed:
            return
        here = {**config, "http_options": {"host": "127.0.0.1", "port": self.port}}
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            yaml.safe_dump(here, file)
            file.flush()
            await self.run("serve", "run", "--non-blocking", "--address", self.address, file.name)
        await self.run("python", "-c", _UNTIL_RUNNING, self.address, within_s=within_s)
        self._deployed.clear()
        self._deployed.update(config)

    @asynccontextmanager
    async def node(self, resources: Mapping[str, float]) -> AsyncIterator[Node]:
        """One more machine with a core, which is this one too. At the end it is gone at once."""
        node = await asyncio.create_subprocess_exec(
            self.bin / "ray", "start", "--block", f"--address={self.address}", "--num-cpus=1",
            f"--node-ip-address={_SECOND}", f"--resources={json.dumps(resources)}", "--object-store-memory=100000000",
            env=self.environment, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            said = await self.run("python", "-c", _ID_OF_NODE, self.address, _SECOND)
            yield Node(said.rpartition("NODE ")[2].strip(), self.address, node)
        finally:
            await _end(node)

    async def run(self, program: str, *arguments: str, within_s: float = _START_S) -> str:
        """One of Ray's own commands; what it says."""
        process = await asyncio.create_subprocess_exec(
            self.bin / program, *arguments, env=self.environment,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        try:
            said, _ = await asyncio.wait_for(process.communicate(), within_s)
        finally:
            if process.returncode is None:
                process.kill()
                await process.communicate()
        assert process.returncode == 0, said.decode()
        return said.decode()

    def replicas(self, application: str, node: Node | None = None) -> list[int]:
        """The processes of its replicas on a node, or on the head node, oldest first."""
        mark = f"ray::ServeReplica:{application}:"
        below = _descendants((node.process if node else self.head).pid)
        return sorted(pid for pid in below if _command(pid).startswith(mark))


@asynccontextmanager
async def ray_cluster(binaries: Path = BIN, cores: int = 2, **environment: str) -> AsyncIterator[RayCluster]:
    """The head node with so many cores to give away, there or not; `environment` is that of its replicas."""
    # as docs/cluster.md has it: whoever has no token is no part of it
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    env = {**os.environ, **_QUIET, **token, **environment}
    gcs, serve = free_ports(2, SOCK_STREAM)
    # sockets lie below it: the path must be short
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        head = await asyncio.create_subprocess_exec(
            binaries / "ray", "start", "--head", "--block", "--include-dashboard=false", "--disable-usage-stats",
            "--node-ip-address=127.0.0.1", f"--port={gcs}", f"--num-cpus={cores}",
            f"--resources={json.dumps({PLACE: 1})}", "--object-store-memory=100000000", f"--temp-dir={folder}",
            env=env, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            yield RayCluster(head, f"127.0.0.1:{gcs}", serve, env, binaries)
        finally:
            await _end(head)


async def _end(node: asyncio.subprocess.Process) -> None:
    for pid in [*_descendants(node.pid), node.pid]:
        _kill(pid)
    await node.wait()


def _descendants(root: int) -> list[int]:
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
    found, seen = [root], {root}
    for pid in found:
        children = [child for child, parent in parents.items() if parent == pid and child not in seen]
        found += children
        seen.update(children)
    return found[1:]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
