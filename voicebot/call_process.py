"""`voicebot run`: the call process, made from the configuration."""

import asyncio
from pathlib import Path

from stasis_app.application import Setup, run
from voicebot import logs
from voicebot.config import PASSWORD_VARIABLE, Config, cache_dir
from voicebot.errors import ConfigError
from voicebot.interrupts import run_until_told


def run_call_process(config: Config, transcript: Path | None) -> int:
    """Take calls until SIGTERM or Ctrl-C, then let running calls finish; a second signal ends them at once.

    0 after SIGTERM, 130 after Ctrl-C. Raises ConfigError, AriFailure, MediaError, WebPortError.
    """
    if config.ari.password is None:
        raise ConfigError(
            "ari.password is missing: write the one of Asterisk's ari.conf, or ${NAME} to take it from the environment"
            f" (or set {PASSWORD_VARIABLE})"
        )
    logs.configure(config.log)
    return run_until_told(lambda stop: _serve(config, transcript, stop))


async def _serve(config: Config, transcript: Path | None, stop: asyncio.Event) -> None:
    setup = Setup(
        ari=config.ari,
        media=config.media,
        calls=config.calls,
        web=config.web,
        workers=config.workers,
        profiles=config.profiles,
        phrases_dir=cache_dir(config) / "phrases",
        transcript=transcript,
    )
    await run(setup, stop)
