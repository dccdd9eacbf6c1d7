"""`voicebot run`: the call process, made from the configuration."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from gpu_workers.client import LlmClient, SttClient, TtsClient
from media_bridge.turn_end import EndWaits, end_wait_ms
from stasis_app.application import Setup, run
from voicebot import logs
from voicebot.config import PASSWORD_VARIABLE, Config, cache_dir
from voicebot.errors import ConfigError
from voicebot.interrupts import run_until_told


def run_call_process(config: Config, transcript: Path | None) -> int:
    """Take calls until SIGTERM or Ctrl-C, then let running calls finish; a second signal ends them at once.

    0 after SIGTERM, 130 after Ctrl-C. Raises ConfigError, AriFailure, MediaError, WebPortTaken.
    """
    if config.ari.password is None:
        raise ConfigError(
            "ari.password is missing: write the one of Asterisk's ari.conf, or ${NAME} to take it from the environment"
            f" (or set {PASSWORD_VARIABLE})"
        )
    logs.configure(config.log)
    return run_until_told(lambda stop: _serve(config, transcript, stop))


async def _serve(config: Config, transcript: Path | None, stop: asyncio.Event) -> None:
    waits = EndWaits.around(config.media.endpoint.end_ms)
    async with _clients(config) as (stt, llm, tts):
        setup = Setup(
            ari=config.ari,
            media=config.media,
            calls=config.calls,
            web=config.web,
            profiles=config.profiles,
            stt=stt,
            llm=llm,
            tts=tts,
            end_wait=lambda text: end_wait_ms(text, None, waits),
            phrases_dir=cache_dir(config) / "phrases",
            made_by=f"{config.workers.tts.base_url} {config.workers.tts.voice}",
            transcript=transcript,
        )
        await run(setup, stop)


@contextlib.asynccontextmanager
async def _clients(config: Config) -> AsyncIterator[tuple[SttClient, LlmClient, TtsClient]]:
    workers = config.workers
    async with SttClient(workers.stt) as stt, LlmClient(workers.llm) as llm, TtsClient(workers.tts) as tts:
        yield stt, llm, tts
