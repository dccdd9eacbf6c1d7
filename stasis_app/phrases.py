"""Ready phrases: made once by the TTS worker, kept on disk, so that they play with every worker down."""

import asyncio
import hashlib
import logging
import os
from pathlib import Path

from gpu_workers.client import TtsClient
from gpu_workers.errors import WorkerError
from media_bridge.resample import Resampler
from stasis_app.settings import Profile

log = logging.getLogger(__name__)

RATE = 8000
_RETRY_S = 2.0


class PhraseBook:
    """Phrases as 8 kHz pcm by voice and text; the folder outlives the process."""

    def __init__(self, tts: TtsClient, directory: Path, made_by: str) -> None:
        """`made_by` names what the worker speaks with: another model makes other sound."""
        self._tts = tts
        self._directory = directory
        self._made_by = made_by
        self._pcm: dict[tuple[str | None, str], bytes] = {}

    def get(self, text: str, voice: str | None) -> bytes | None:
        """The phrase as pcm, or None while it was never made."""
        return self._pcm.get((voice, text))

    def knows(self, profile: Profile) -> bool:
        """True when a call with this profile can be greeted and consoled without any worker."""
        return all((profile.voice, text) in self._pcm for text in _texts(profile))

    async def learn(self, profiles: list[Profile]) -> None:
        """Read or make every phrase of these profiles; tries again until the TTS worker has made the last one."""
        wanted = {(profile.voice, text) for profile in profiles for text in _texts(profile)}
        for voice, text in wanted:
            pcm = await asyncio.to_thread(_read, self._path(text, voice))
            if pcm:
                self._pcm[voice, text] = pcm
        while missing := wanted - self._pcm.keys():
            try:
                for voice, text in sorted(missing, key=lambda phrase: phrase[1]):
                    self._pcm[voice, text] = await self._make(text, voice)
            except WorkerError as error:
                log.info("ready phrases: %s; trying again in %g s", error, _RETRY_S)
                await asyncio.sleep(_RETRY_S)

    async def _make(self, text: str, voice: str | None) -> bytes:
        pcm = bytearray()
        async with self._tts.speak(text, voice=voice, call_id="phrases") as speech:
            resampler = Resampler(speech.rate, RATE)
            async for chunk in speech:
                pcm += resampler.feed(chunk)
            pcm += resampler.feed(b"", last=True)
        await asyncio.to_thread(_write, self._path(text, voice), bytes(pcm))
        return bytes(pcm)

    def _path(self, text: str, voice: str | None) -> Path:
        name = hashlib.sha256(f"{self._made_by}\0{voice}\0{RATE}\0{text}".encode()).hexdigest()
        return self._directory / f"{name[:32]}.pcm"


def _texts(profile: Profile) -> list[str]:
    said = profile.phrases
    texts = [
        profile.greeting,
        said.apology,
        said.goodbye,
        said.trouble,
        said.not_heard,
        said.still_there,
        said.filler,
    ]
    return [text for text in texts if text]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _write(path: Path, pcm: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_bytes(pcm)
    part.replace(path)
