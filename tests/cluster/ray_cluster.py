"""A real Ray cluster of one machine, started by Ray's own commands as an admin does, and gone at the end.

async with ray_cluster(folder) as ray:
    await ray.serve(config)          # a Serve config, as deploy/ray/serve.yaml is one
    ray.replicas("stt")              # process ids
"""

import asyncio
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from socket import SOCK_STREAM
from typing import Any

import yaml

from tests.support.rig import free_ports

ROOT = Path(__file__).parents[2]
BIN = ROOT / "var" / "ray" / "bin"
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
# a small machine that is nearly full is none of its business here
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_COLOR_PREFIX": "0", "RAY_memory_monitor_refresh_ms": "0"}


@dataclass(frozen=True)
class RayCluster:
    """`url` is where Serve listens."""

    head: asyncio.subprocess.Process
    address: str
    port: int
    environment: Mapping[str, str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, config: Mapping[str, Any]) -> None:
        """Deploys, and waits until all replicas have loaded their models."""
        here = {**config, "http_options": {"host": "127.0.0.1", "port": self.port}}
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            yaml.safe_dump(here, file)
            file.flush()
            await _run(
                "serve", "run", "--non-blocking", "--address", self.address, file.name, env=self.environment
            )
        await _run("python", "-c", _UNTIL_RUNNING, self.address, env=self.environment)

    def replicas(self, application: str) -> list[int]:
        """The processes of its replicas, oldest first."""
        mark = f"ray::ServeReplica:{application}:"
        return sorted(pid for pid in _descendants(self.head.pid) if _command(pid).startswith(mark))


@asynccontextmanager
async def ray_cluster(**environment: str) -> AsyncIterator[RayCluster]:
    """The head node with two cores to give away; `environment` is that of its replicas."""
    env = {**os.environ, **_QUIET, **environment}
    gcs, serve = free_ports(2, SOCK_STREAM)
    # sockets lie below it: the path must be short
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        head = await asyncio.create_subprocess_exec(
            BIN / "ray", "start", "--head", "--block", "--include-dashboard=false", "--disable-usage-stats",
            "--node-ip-address=127.0.0.1", f"--port={gcs}", "--num-cpus=2", "--object-store-memory=100000000",
            f"--temp-dir={folder}", env=env, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            yield RayCluster(head, f"127.0.0.1:{gcs}", serve, env)
        finally:
            for pid in [*_descendants(head.pid), head.pid]:
                _kill(pid)
            await head.wait()


async def _run(program: str, *arguments: str, env: Mapping[str, str]) -> None:
    process = await asyncio.create_subprocess_exec(
        BIN / program, *arguments, env=env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        said, _ = await asyncio.wait_for(process.communicate(), _START_S)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, said.decode()


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
