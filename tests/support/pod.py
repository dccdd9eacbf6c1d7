"""A pod of the call processes as a kubelet runs it, after deploy/kubernetes/: its command, its probes, its end.

What stands in the manifests is run as it is, but for what belongs to a cluster: addresses, ports, folders, replicas of
the workers.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from tests.support.fake_workers import FakeWorkers
from tests.support.rig import HOST
from voicebot.asterisk import AsteriskProcess

ROOT = Path(__file__).parents[2]
MOUNTED = "/etc/voicebot/voicebot.yaml"
WEB_PORT = 8080
WORKERS_KEY = "k3y-of-the-w0rkers"
KILLED = 137
"""The exit code of a container that did not end within its grace period."""


def manifest(kind: str) -> dict[str, Any]:
    found = [
        document
        for path in sorted((ROOT / "deploy" / "kubernetes").glob("*.yaml"))
        for document in yaml.safe_load_all(path.read_text())
        if document["kind"] == kind
    ]
    (one,) = found
    return dict(one)


@dataclass(frozen=True)
class Site:
    """What a cluster has and this machine has otherwise."""

    asterisk: AsteriskProcess
    workers: FakeWorkers
    folder: Path
    web_port: int
    """That of the pod with index 0; the next pod has the next one."""

    def write_config(self) -> Path:
        """The manifests' voicebot.yaml, with the addresses of this machine."""
        config = yaml.safe_load(manifest("ConfigMap")["data"]["voicebot.yaml"])
        config["ari"]["url"] = self.asterisk.ari_url
        config["media"].update(port_start=31_600, port_end=31_999)
        config["web"].update(host=HOST, port=self.web_port)
        urls = {"stt": self.workers.stt_url, "tts": self.workers.tts_url, "llm": self.workers.llm_url}
        for name, url in urls.items():
            config["workers"][name]["url"] = url
        # a worker that serves another model than is asked for is not ready
        self.workers.llm.model = config["workers"]["llm"]["model"]
        config["workers"]["cache_dir"] = str(self.folder / "cache")
        path = self.folder / "voicebot.yaml"
        path.write_text(yaml.safe_dump(config))
        return path

    def environment(self, index: int) -> dict[str, str]:
        """What the container's `env` names."""
        given = {
            "POD_INDEX": str(index),
            "NODE_IP": HOST,
            "ARI_PASSWORD": self.asterisk.ari_password.get_secret_value(),
            "WEB_TOKEN": "t0ken-of-the-web",
            "VOICEBOT_API_KEY": WORKERS_KEY,
        }
        (container,) = manifest("StatefulSet")["spec"]["template"]["spec"]["containers"]
        assert given.keys() == {variable["name"] for variable in container["env"]}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return {"PATH": path, "HOME": str(self.folder), **given}


class Pod:
    """A running one."""

    def __init__(self, site: Site, index: int, running: asyncio.subprocess.Process) -> None:
        self._site = site
        self._index = index
        self._running = running
        self._spec = manifest("StatefulSet")["spec"]["template"]["spec"]
        (self._container,) = self._spec["containers"]

    async def calls(self) -> int:
        """How many it has, as its web port says."""
        url = f"http://{HOST}:{self._site.web_port + self._index}/ready"
        async with aiohttp.request("GET", url) as answer:
            return int((await answer.json())["calls"])

    async def passes(self, probe: str) -> bool:
        """Ask a probe once: startupProbe, readinessProbe, livenessProbe."""
        words = [
            word.replace(f"$(({WEB_PORT} + POD_INDEX))", str(self._site.web_port + self._index))
            for word in self._container[probe]["exec"]["command"]
        ]
        asking = await asyncio.create_subprocess_exec(
            *words, env=self._site.environment(self._index), stderr=asyncio.subprocess.DEVNULL
        )
        return await asking.wait() == 0

    @asynccontextmanager
    async def deleted(self) -> AsyncIterator["asyncio.Task[int]"]:
        """From the moment it is to go; what is given is its end: `preStop`, SIGTERM, and SIGKILL after what is left of
        the grace period. The task has the exit code of the container.
        """
        going = asyncio.create_task(self._go())
        try:
            yield going
        finally:
            going.cancel()
            await asyncio.wait((going,))

    async def _go(self) -> int:
        ended = asyncio.create_task(self._running.wait())
        try:
            async with asyncio.timeout(self._spec["terminationGracePeriodSeconds"]):
                hook = self._container["lifecycle"]["preStop"]["exec"]["command"]
                await (await asyncio.create_subprocess_exec(*hook)).wait()
                self._running.send_signal(signal.SIGTERM)
                return await asyncio.shield(ended)
        except TimeoutError:
            self._running.send_signal(signal.SIGKILL)
            await ended
            return KILLED
        finally:
            ended.cancel()
            await asyncio.wait((ended,))


@asynccontextmanager
async def pod(site: Site, index: int) -> AsyncIterator[Pod]:
    """A started one, ready or not; nothing of it is left at the end."""
    (container,) = manifest("StatefulSet")["spec"]["template"]["spec"]["containers"]
    words = [*container["command"], *container["args"]]
    assert MOUNTED in words[-1]
    words[-1] = words[-1].replace(MOUNTED, str(site.folder / "voicebot.yaml"))
    with log_of(site, index).open("ab") as output:
        running = await asyncio.create_subprocess_exec(
            *words, env=site.environment(index), stdout=output, stderr=output, cwd=site.folder
        )
    try:
        yield Pod(site, index, running)
    finally:
        if running.returncode is None:
            running.kill()
        await running.wait()


def log_of(site: Site, index: int) -> Path:
    return site.folder / f"log-{index}"


def logs(site: Site) -> Iterator[str]:
    for index in range(manifest("StatefulSet")["spec"]["replicas"]):
        yield log_of(site, index).read_text()
