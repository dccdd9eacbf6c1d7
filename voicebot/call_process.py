"""`voicebot run`: the call process, made from the configuration; or several of them, supervised."""

import asyncio
import logging
import sys
from collections.abc import Callable
from pathlib import Path

from gpu_workers.client import worker_session
from stasis_app.application import Setup
from stasis_app.running import run
from voicebot import health, logs
from voicebot.addresses import web_url
from voicebot.config import PASSWORD_VARIABLE, Config, cache_dir
from voicebot.config.clear_text import in_clear_text
from voicebot.config.processes import parts_of, share_of
from voicebot.config.weak_secrets import weak_secrets
from voicebot.errors import ConfigError, UsageError
from voicebot.interrupts import run_until_interrupted, run_until_told
from voicebot.open_files import with_places_for
from voicebot.run_folder import run_folder
from voicebot.service_manager import told_of_stopping, will_stop_within
from voicebot.supervise import Child, Part, Say, supervised
from voicebot.time_to_end import QUICK_END_S, drain_within_s

log = logging.getLogger(__name__)

_WATCH_S = 1.0


def run_call_process(config: Config, transcript: Path | None, number: int | None = None) -> int:
    """Take calls until SIGTERM or Ctrl-C, then let running calls finish; a second signal ends them at once.

    `number`: which of calls.processes this one is, counted from 1. 0 after SIGTERM, 130 after Ctrl-C. Raises
    ConfigError, UsageError, AriFailure, MediaError, WebPortError.
    """
    _need_password(config)
    several = config.calls.processes > 1
    if number is not None and not 1 <= number <= config.calls.processes:
        raise UsageError(f"--number {number}: calls.processes is {config.calls.processes}")
    processes = config.calls.processes
    config = share_of(config, number or 1)
    logs.configure(config.log, config.ari.app if several else "")
    for warning in (*in_clear_text(config), *weak_secrets(config)):
        log.warning("%s", warning)
    config = with_places_for(config)
    return run_until_told(lambda stop: _serve(config, processes, number or 1, transcript, stop))


def run_call_processes(config: Config, text: str, transcript: Path | None, say: Say) -> int:
    """`calls.processes` of them as children of this one; a dead one is started again.

    The first signal lets their calls finish, a second one ends them at once; the status is that of a single one, and
    what ends one of them for good (another process took its app, Asterisk refuses) ends all. `text` is what `config`
    was read from.
    """
    _need_password(config)

    def stopping() -> None:
        will_stop_within(drain_within_s(config))
        say(
            f"Stopping. Running calls may go on for up to {config.calls.drain_s:g} s; a second signal ends them."
        )

    return run_until_interrupted(lambda hurry: _supervise(config, text, transcript, say, hurry), stopping)


def call_children(
    config: Config, config_file: Path, transcript: Path | None, log_of: Callable[[str], Path | None]
) -> list[Child]:
    """The call processes, to be supervised. `log_of`: where a part's log goes."""
    children = []
    for number, name in enumerate(parts_of(config), start=1):
        command = [sys.executable, "-P", "-m", "voicebot", "run", "-c", str(config_file)]
        command += ["--processes", str(config.calls.processes), "--number", str(number)]
        if transcript:
            command += ["--transcript-file", str(transcript)]
        children.append(
            Child(
                name,
                command,
                log_of(name),
                env={PASSWORD_VARIABLE: config.ari.password.get_secret_value()}
                if config.ari.password
                else {},
                grace_s=drain_within_s(config),
                quick_end_s=QUICK_END_S,
            )
        )
    return children


async def _supervise(
    config: Config, text: str, transcript: Path | None, say: Say, hurry: asyncio.Event
) -> int:
    with run_folder() as folder:
        copy = folder / "voicebot.yaml"  # editing the file meanwhile does no harm
        copy.touch(mode=0o600)
        copy.write_text(text, encoding="utf-8")
        children = call_children(config, copy, transcript, lambda _: None)
        async with supervised(children, say, hurry) as parts:
            await _watch(config, parts)
    return 0


async def _watch(config: Config, parts: tuple[Part, ...]) -> None:
    """Notice which of them have been ready, for ever: one that never was is given up after some deaths."""
    urls = [web_url(share) for share in parts_of(config).values()]
    async with worker_session() as http:
        while True:
            states = await asyncio.gather(*(health.call_state(http, url) for url in urls))
            for part, state in zip(parts, states, strict=True):
                part.was_ready |= state.ready
            await asyncio.sleep(_WATCH_S)


def _need_password(config: Config) -> None:
    if config.ari.password is None:
        raise ConfigError(
            "ari.password is missing: write the one of Asterisk's ari.conf, or ${NAME} to take it from the environment"
            f" (or set {PASSWORD_VARIABLE})"
        )


async def _serve(
    config: Config, processes: int, number: int, transcript: Path | None, stop: asyncio.Event
) -> None:
    setup = Setup(
        ari=config.ari,
        media=config.media,
        calls=config.calls,
        web=config.web,
        workers=config.workers,
        profiles=config.profiles,
        phrases_dir=cache_dir(config) / "phrases",
        transcript=transcript,
        processes=processes,
        number=number,
    )
    async with told_of_stopping(stop, drain_within_s(config)):
        await run(setup, stop)
