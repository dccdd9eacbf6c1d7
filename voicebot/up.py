"""Everything on this machine: Asterisk, the three model workers and the call process, as children of this one."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import SecretStr

from gpu_workers.client import worker_session
from gpu_workers.devices.plan import Plan
from voicebot import health
from voicebot.addresses import sip_address, web_url
from voicebot.asterisk import AsteriskProcess, find_or_fetch
from voicebot.call_process import call_children
from voicebot.child_log import set_aside
from voicebot.config import Config, cache_dir, worker_parts
from voicebot.config.processes import parts_of
from voicebot.errors import PartError
from voicebot.fetch_child import fetch_missing
from voicebot.health import State
from voicebot.keep_asterisk import kept_asterisk
from voicebot.planning import plan_of
from voicebot.ports import listeners, refuse_taken
from voicebot.run_folder import run_folder
from voicebot.start_workers import START_S, started_workers
from voicebot.supervise import Part, Say, supervised
from voicebot.table import table

_POLL_S = 0.25
_WATCH_S = 2.0
_SAY_EVERY_S = 10.0
_ELSEWHERE_S = 10.0  # how long to wait for what runs elsewhere


@dataclass
class System:
    """All parts as they run now. `asterisk` is its version, "" when it is not ours."""

    config: Config
    asterisk: str
    log_directory: Path
    plan: Plan
    parts: dict[str, Part] = field(default_factory=dict)
    states: dict[str, State] = field(default_factory=dict)

    async def refresh(self) -> None:
        """Ask every part how it is."""
        async with worker_session() as http:
            probes: dict[str, Awaitable[State]] = {
                name: health.worker_state(http, worker) for name, worker in worker_parts(self.config).items()
            }
            for name, share in parts_of(self.config).items():
                probes[name] = health.call_state(http, web_url(share))
            answers = await asyncio.gather(*probes.values())
        for name, state in zip(probes, answers, strict=True):
            part = self.parts.get(name)
            if part and part.down:
                state = State(part.down)
            elif part and state.ready:
                part.was_ready = True
            elif part and state.why.startswith("cannot connect"):
                state = State("is starting")
            self.states[name] = state

    def table(self) -> str:
        """Each part, its device, its address, ready or why not."""
        asterisk = self.config.asterisk
        met = any("asterisk" not in self.states[name].why for name in parts_of(self.config))
        theirs = (
            "Asterisk",
            "-",
            self.config.ari.url,
            "connected" if met else f"not connected, see {self.log_directory}/calls.log",
        )
        ours = (
            "Asterisk",
            "-",
            f"{sip_address(self.config)}, {self.config.ari.url}",
            f"ready ({self.asterisk})",
        )
        rows = [ours if asterisk.start else theirs]
        for name, worker in worker_parts(self.config).items():
            state = self.states[name]
            placed = self.plan.of(name)
            device = placed.label if placed else state.device
            rows.append((name, device, worker.base_url, _described(state)))
        rows += [
            (name, "cpu", web_url(share), _described(self.states[name]))
            for name, share in parts_of(self.config).items()
        ]
        return table(("part", "device", "address", "state"), rows)

    async def watch(self, say: Say) -> None:
        """Say whenever a part stops being ready, or is so again; for ever."""
        told = {name: (state.ready, self._restarts(name)) for name, state in self.states.items()}
        while True:
            await asyncio.sleep(_WATCH_S)
            await self.refresh()
            for name, state in self.states.items():
                now = (state.ready, self._restarts(name))
                if state.ready and now != told[name]:  # also when all of it happened between two looks
                    say(f"{name} is ready again.")
                elif told[name][0] and not state.ready:
                    say(f"{name} is not ready: {state.why}")
                told[name] = now if state.ready else (False, told[name][1])

    def _restarts(self, name: str) -> int:
        part = self.parts.get(name)
        return part.restarts if part else 0


@asynccontextmanager
async def running(
    config: Config, text: str, say: Say, hurry: asyncio.Event, transcript: Path | None = None
) -> AsyncIterator[System]:
    """Everything up and ready; at the end of the block everything stopped, the call process first.

    `text` is what `config` was read from: the children get a copy, so that editing the file meanwhile does no harm.
    `hurry`, once set, cuts waiting for a clean end short. `transcript`: where the call process writes what was said.
    Raises VoicebotError, alone or inside an exception group.
    """
    plan = plan_of(config)
    refuse_taken(listeners(config))
    for warning in plan.warnings:
        say(f"Warning: {warning}.")
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(run_folder())
        copy = folder / "voicebot.yaml"
        copy.touch(mode=0o600)
        copy.write_text(text, encoding="utf-8")
        await fetch_missing(copy, say)
        password = config.ari.password or SecretStr(secrets.token_urlsafe(24))
        system = System(config, "", config.log.directory, plan)
        set_old_logs_aside(config)
        if config.asterisk.start:
            system.asterisk = await stack.enter_async_context(_asterisk(config, password, say))
        workers = started_workers(config, plan, copy, say, hurry)
        for part in await stack.enter_async_context(workers):
            system.parts[part.child.name] = part
        with_password = config.model_copy(
            update={"ari": config.ari.model_copy(update={"password": password})}
        )
        calls = call_children(
            with_password, copy, transcript, lambda name: config.log.directory / f"{name}.log"
        )
        for part in await stack.enter_async_context(supervised(calls, say, hurry)):
            system.parts[part.child.name] = part
        await _until_ready(system, say)
        yield system


@asynccontextmanager
async def _asterisk(config: Config, password: SecretStr, say: Say) -> AsyncIterator[str]:
    """Our Asterisk; its version."""
    settings = config.asterisk
    install = find_or_fetch(cache_dir(config), lambda _: None, settings.binary)  # there already

    def make() -> AsteriskProcess:
        return AsteriskProcess(
            install,
            ari_password=password,
            ari_user=config.ari.username,
            sip_host=settings.sip_host,
            sip_port=settings.sip_port,
            http_port=settings.http_port,
            rtp_start=settings.rtp_start,
            rtp_end=settings.rtp_end,
            bot_processes=config.calls.processes,
        )

    async with kept_asterisk(make, say):
        say(f"Asterisk {install.version} is up.")
        yield install.version


def set_old_logs_aside(config: Config) -> None:
    """Each run writes new files; those of the run before become NAME.log.1, as when a file is full. Where that cannot
    be, they are written on, or who writes them says that they cannot be written. Other programs may have files of
    theirs in the same directory.
    """
    with contextlib.suppress(OSError):
        config.log.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name in (*worker_parts(config), *parts_of(config)):
            if (log := config.log.directory / f"{name}.log").exists():
                set_aside(log)


async def _until_ready(system: System, say: Say) -> None:
    """Return when every part is ready, or when only what runs elsewhere, and what waits for it, is not."""
    loop = asyncio.get_running_loop()
    began = here_since = loop.time()
    next_word = began + _SAY_EVERY_S
    ready: set[str] = set()
    calls = parts_of(system.config)
    while True:
        await system.refresh()
        now = loop.time()
        for name, state in system.states.items():
            if state.ready and name not in ready:
                ready.add(name)
                say(f"{name} is ready after {now - began:.1f} s{f' ({state.about})' if state.about else ''}.")
        waiting = {name: state for name, state in system.states.items() if not state.ready}
        if not waiting:
            return
        if any(name in system.parts and name not in calls for name in waiting):
            here_since = now
        elsewhere = not system.config.asterisk.start or any(name not in system.parts for name in waiting)
        if elsewhere and now - here_since > _ELSEWHERE_S:
            return
        why = "; ".join(f"{name}: {state.why}" for name, state in waiting.items())
        if now - began > START_S:
            raise PartError(
                f"not ready after {START_S:.0f} s: {why}. See the logs in {system.log_directory}."
            )
        if now >= next_word:
            say(f"waiting for {why}")
            next_word = now + _SAY_EVERY_S
        await asyncio.sleep(_POLL_S)


def _described(state: State) -> str:
    if state.ready:
        return f"ready ({state.about})" if state.about else "ready"
    return f"not ready: {state.why}"


async def stay_up(config: Config, text: str, say: Say, hurry: asyncio.Event) -> int:
    """`voicebot up`: bring everything up, say how to call it, and keep it up until cancelled."""
    async with running(config, text, say, hurry) as system:
        say(f"\n{system.table()}\n\n{how_to_call(config)}")
        await system.watch(say)
    return 0


def how_to_call(config: Config) -> str:
    """What to do next, for the terminal."""
    lines = [
        (
            "Watch it:",
            f"{web_url(config)}/ready and /metrics{_further(config)}; one log file for each part in"
            f" {config.log.directory}/",
        ),
        ("Stop it:", "Ctrl-C"),
    ]
    if config.asterisk.start:
        host, _, port = sip_address(config).removeprefix("sip:").rpartition(":")
        lines.insert(
            0, ("Call it:", f"sip:1000@{host}:{port} with any SIP phone on this machine (UDP, no account),")
        )
        lines.insert(
            1, ("", "or `voicebot call` in another terminal: a test phone that asks recorded questions")
        )
    else:
        lines.insert(
            0,
            (
                "Call it:",
                f"the extension of your dialplan that gives its calls to {config.ari.app}, as 1000 does",
            ),
        )
    return "\n".join(f"{label:<10}{text}" for label, text in lines)


def _further(config: Config) -> str:
    """The other ports of the call processes, if there are any."""
    last = config.web.port + config.calls.processes - 1
    return "" if last == config.web.port else f" (and up to port {last}, one for each call process)"
