"""An Asterisk of our own: started with asterisk_conf/ in a private run folder, and gone without a trace.

Nothing of the host's Asterisk is read or written, so both can run side by side on different ports.
"""

import asyncio
import contextlib
import errno
import os
import re
import shutil
import signal
import socket
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import SecretStr

from asterisk_conf import CONF_DIR
from gpu_workers.leash import leashed
from voicebot.errors import PortTakenError
from voicebot.programs import AsteriskError, AsteriskInstall, find_or_fetch
from voicebot.run_folder import run_folder

__all__ = ["AsteriskError", "AsteriskInstall", "AsteriskProcess", "find_or_fetch"]

HTTP_HOST = "127.0.0.1"  # ARI is never open to the network
BOOT_TIMEOUT_S = 30.0
CLI_TIMEOUT_S = 10.0
STOP_TIMEOUT_S = 5.0
POLL_S = 0.05
PORTS_A_CALL = 4


class AsteriskProcess:
    """One running Asterisk, as an async context manager.

    Entering returns when it is fully booted; it raises PortTakenError before anything is started, AsteriskError
    when Asterisk does not come up. Leaving stops it (its calls are hung up) and removes its folder. It also ends
    when this process is killed.
    """

    http_host = HTTP_HOST

    def __init__(
        self,
        install: AsteriskInstall,
        *,
        ari_password: SecretStr,
        ari_user: str = "voicebot",
        sip_host: str = "127.0.0.1",
        sip_port: int = 5060,
        http_port: int = 8088,
        rtp_start: int = 10000,
        rtp_end: int = 19998,
        bot_processes: int = 1,
        conf_dir: Path = CONF_DIR,
    ) -> None:
        self.version = install.version
        self.ari_user = ari_user
        self.ari_password = ari_password
        self.sip_host = sip_host
        self.sip_port = sip_port
        self.http_port = http_port
        self.rtp_ports = (rtp_start, rtp_end)
        self.bot_processes = bot_processes
        self._install = install
        self._conf_dir = conf_dir
        self._local = self._local_files()
        self._stack = AsyncExitStack()
        self._folder: Path
        self._process: asyncio.subprocess.Process

    @property
    def ari_url(self) -> str:
        """Where ARI answers, for `ari.url`."""
        return f"http://{HTTP_HOST}:{self.http_port}"

    @property
    def pid(self) -> int:
        """The process id of Asterisk itself."""
        return self._process.pid

    @property
    def log_path(self) -> Path:
        """Asterisk's log; removed with the run folder."""
        return self._folder / "log" / "messages"

    async def __aenter__(self) -> Self:
        self._refuse_used_ports()
        async with AsyncExitStack() as stack:
            self._folder = stack.enter_context(run_folder())
            self._render()
            await self._start(stack)
            await self._booted()
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def cli(self, command: str) -> str:
        """What Asterisk's console prints on `command`, such as "core show channels". Raises AsteriskError."""
        process = await asyncio.create_subprocess_exec(
            *self._command("-rx", command),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(CLI_TIMEOUT_S):
                output, _ = await process.communicate()
        except TimeoutError:
            raise AsteriskError(f"Asterisk did not answer `{command}` within {CLI_TIMEOUT_S:.0f} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        text = output.decode(errors="replace").strip()
        if process.returncode != 0:
            raise AsteriskError(f"Asterisk did not take `{command}`: {text or 'no answer'}")
        return text

    async def channels(self) -> int:
        """How many channels are up, external media included."""
        found = re.search(r"^(\d+) active channel", await self.cli("core show channels count"), re.MULTILINE)
        if found is None:
            raise AsteriskError("Asterisk does not tell how many channels are up")
        return int(found[1])

    async def wait(self) -> int:
        """Wait until Asterisk has ended, by itself or not; its exit status."""
        return await self._process.wait()

    def kill(self) -> None:
        """End it at once, as a power cut would: callers are not told."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGKILL)

    def _local_files(self) -> dict[str, str]:
        """What asterisk_conf/ includes from voicebot_local/: the values of this one installation."""
        password = self.ari_password.get_secret_value()
        if not re.fullmatch(r"[!-:<-~]+", password):
            raise AsteriskError(
                "the ARI password cannot be written into ari.conf: use letters, digits and signs other than `;`, "
                "and no spaces"
            )
        if not re.fullmatch(r"[A-Za-z0-9_.-]+", self.ari_user):
            raise AsteriskError(f"ari.username {self.ari_user!r}: use letters, digits and _ . - only")
        start, end = self.rtp_ports
        if end - start + 1 < PORTS_A_CALL:
            raise AsteriskError(
                f"asterisk.rtp_start {start} to asterisk.rtp_end {end} is not enough for one call"
            )
        return {
            "ari.conf": f"[{self.ari_user}](voicebot-user)\npassword = {password}\n",
            "extensions.conf": f"VOICEBOT_PROCESSES = {self.bot_processes}\n",
            "http.conf": f"bindaddr = {HTTP_HOST}\nbindport = {self.http_port}\n",
            "pjsip.conf": f"bind = {self.sip_host}:{self.sip_port}\n",
            "rtp.conf": f"rtpstart = {start}\nrtpend = {end}\n",
        }

    def _refuse_used_ports(self) -> None:
        _refuse_used_port("asterisk.sip_port", "SIP", socket.SOCK_DGRAM, self.sip_host, self.sip_port)
        _refuse_used_port("asterisk.http_port", "ARI", socket.SOCK_STREAM, HTTP_HOST, self.http_port)

    def _render(self) -> None:
        etc = self._folder / "etc"
        shutil.copytree(self._conf_dir, etc, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
        (etc / "voicebot_local").mkdir()
        for name, text in self._local.items():
            (etc / "voicebot_local" / name).write_text(text)
        folders = {
            "astetcdir": etc,
            "astmoddir": self._install.module_dir,
            "astdatadir": self._install.data_dir,
            "astvarlibdir": self._folder / "lib",
            "astdbdir": self._folder / "lib",
            "astkeydir": self._folder / "lib",
            "astcachedir": self._folder / "cache",
            "astspooldir": self._folder / "spool",
            "astrundir": self._folder / "run",
            "astlogdir": self._folder / "log",
        }
        lines = [f"{name} => {path}" for name, path in folders.items() if path is not None]
        (self._folder / "asterisk.conf").write_text(
            "\n".join(["[directories]", *lines, f"#include {etc / 'asterisk.conf'}", ""])
        )
        for name in ("lib", "cache", "spool", "run", "log"):
            (self._folder / name).mkdir()

    def _command(self, *arguments: str) -> tuple[str, ...]:
        return (*self._install.command, "-C", str(self._folder / "asterisk.conf"), *arguments)

    async def _start(self, stack: AsyncExitStack) -> None:
        with (self._folder / "console").open("wb") as console:
            self._process = await asyncio.create_subprocess_exec(
                *leashed(self._command("-f")),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                start_new_session=True,  # Ctrl-C is for us: we stop it when the calls are closed
                cwd=self._folder,
            )
        stack.push_async_callback(self._stop)

    async def _booted(self) -> None:
        control = self._folder / "run" / "asterisk.ctl"
        try:
            async with asyncio.timeout(BOOT_TIMEOUT_S):
                while self._process.returncode is None:
                    if control.exists() and await self._says_booted():
                        break
                    await asyncio.sleep(POLL_S)
        except TimeoutError:
            raise AsteriskError(
                f"Asterisk was not up within {BOOT_TIMEOUT_S:.0f} s. {self._complaints()}"
            ) from None
        # a module whose library is missing does not always end Asterisk, although it is "required"
        if self._process.returncode is not None or "- Required" in self._log():
            raise AsteriskError(f"Asterisk {self.version} did not start. {self._complaints()}")

    async def _says_booted(self) -> bool:
        with contextlib.suppress(AsteriskError):  # it takes commands a moment after the socket is there
            return "fully booted" in await self.cli("core waitfullybooted")
        return False

    async def _stop(self) -> None:
        process = self._process
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                if process.returncode is None:
                    with contextlib.suppress(AsteriskError):
                        await self.cli("core stop now")
                await process.wait()
        except TimeoutError:
            pass
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()

    def _log(self) -> str:
        paths = (self.log_path, self._folder / "console")
        return "".join(path.read_text(errors="replace") for path in paths if path.exists())

    def _complaints(self) -> str:
        lines = [line for line in self._log().splitlines() if "ERROR" in line]
        return "It says: " + (" / ".join(lines[-3:]) or "nothing")


def _refuse_used_port(setting: str, what: str, kind: socket.SocketKind, host: str, port: int) -> None:
    with socket.socket(socket.AF_INET, kind) as probe:
        if kind is socket.SOCK_STREAM:  # a port that only waits after an earlier close is free
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            protocol = "TCP" if kind is socket.SOCK_STREAM else "UDP"
            if error.errno == errno.EADDRINUSE:
                raise PortTakenError(
                    f"{what} port {port} ({protocol}) on {host} is in use by another program. Is an Asterisk or "
                    f"a phone running here? Stop it, or set {setting} to another port."
                ) from None
            also = " or asterisk.sip_host" if kind is socket.SOCK_DGRAM else ""
            raise AsteriskError(
                f"{what} port {port} ({protocol}) cannot be opened on {host}: {error.strerror}. "
                f"Change {setting}{also}."
            ) from None
