"""Ready phrases: made once by the TTS worker, kept on disk, so that they play with every worker down."""

import asyncio
import hashlib
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from gpu_workers.errors import WorkerError
from media_bridge.resample import Resampler
from stasis_app.disk_thread import on_disk
from stasis_app.seams import Speaker
from stasis_app.settings import Profile
from stasis_app.speakable import speakable

log = logging.getLogger(__name__)

_RETRY_S = 2.0
_NOBODY_WAITS_MS = 60_000


class _Phrase(NamedTuple):
    voice: str | None
    text: str
    rate: int


class PhraseBook:
    """Phrases as pcm by voice, text and rate; the folder outlives the process."""

    def __init__(
        self, tts: Speaker, directory: Path, made_by: str, rate_of: Callable[[Profile], int]
    ) -> None:
        """`made_by` names what the worker speaks with: another model makes other sound. `rate_of`: that of a
        profile's calls.
        """
        self._tts = tts
        self._directory = directory
        self._made_by = made_by
        self._rate_of = rate_of
        self._pcm: dict[_Phrase, bytes] = {}
        self._spoken: dict[_Phrase, str] = {}  # how each of them is said
        self._disk_complained = False

    def get(self, text: str, voice: str | None, rate: int) -> bytes | None:
        """The phrase as pcm of `rate`, or None while it was never made."""
        return self._pcm.get(_Phrase(voice, text, rate))

    def knows(self, profile: Profile) -> bool:
        """True when a call with this profile can be greeted and consoled without any worker."""
        return all(phrase in self._pcm for phrase in self._phrases(profile))

    async def learn(self, profiles: list[Profile]) -> None:
        """Read or make every phrase of these profiles; tries again until the TTS worker has made the last one."""
        for profile in profiles:
            self._spoken |= {
                phrase: speakable(phrase.text, profile.language, profile.pronounced) or phrase.text
                for phrase in self._phrases(profile)
            }
        wanted = set(self._spoken)
        for phrase in wanted:
            pcm = await on_disk(_read, self._path(phrase))
            if pcm:
                self._pcm[phrase] = pcm
        refused: set[_Phrase] = set()
        while missing := wanted - self._pcm.keys() - refused:
            if not await self._make_all(missing, refused):
                await asyncio.sleep(_RETRY_S)

    async def _make_all(self, missing: set[_Phrase], refused: set[_Phrase]) -> bool:
        """One round; False when the worker cannot be had now. What it will never make goes to `refused`."""
        for phrase in sorted(missing, key=lambda phrase: phrase.text):
            try:
                self._pcm[phrase] = await self._make(phrase)
            except WorkerError as error:
                if error.retryable:
                    log.info("ready phrases wait for the TTS worker: %s", error)
                    return False
                refused.add(phrase)
                log.error(  # noqa: TRY400 - the worker's answer says it all
                    "no calls for the profiles with voice %s: the greeting or phrase %r cannot be made: %s",
                    phrase.voice or "(the worker's own)",
                    phrase.text,
                    error,
                )
        return True

    def _phrases(self, profile: Profile) -> list[_Phrase]:
        rate = self._rate_of(profile)
        return [_Phrase(profile.voice, text, rate) for text in _texts(profile)]

    async def _make(self, phrase: _Phrase) -> bytes:
        pcm = bytearray()
        async with self._tts.speak(
            self._spoken[phrase], voice=phrase.voice, call_id="phrases", left_ms=_NOBODY_WAITS_MS
        ) as speech:
            resampler = Resampler(speech.rate, phrase.rate)
            async for chunk in speech:
                pcm += resampler.feed(chunk)
            pcm += resampler.feed(b"", last=True)
        try:
            await on_disk(_write, self._path(phrase), bytes(pcm))
        except OSError as error:
            if not self._disk_complained:
                self._disk_complained = True
                log.warning(
                    "ready phrases cannot be kept in %s (%s): they are made again at the next start;"
                    " free some space or set workers.cache_dir",
                    self._directory,
                    error.strerror,
                )
        return bytes(pcm)

    def _path(self, phrase: _Phrase) -> Path:
        key = "\0".join((self._made_by, str(phrase.voice), str(phrase.rate), self._spoken[phrase]))
        name = hashlib.sha256(key.encode()).hexdigest()
        return self._directory / f"{name[:32]}.pcm"


def _texts(profile: Profile) -> list[str]:
    said = profile.phrases
    texts = [
        profile.disclosure,
        profile.greeting,
        said.apology,
        said.goodbye,
        said.trouble,
        said.not_heard,
        said.still_there,
        said.filler,
    ]
    if transfer := profile.tools.transfer:
        texts += [transfer.announcement, *(map(transfer.asks, transfer.targets) if transfer.confirm else ())]
    return [text for text in texts if text]


def _read(path: Path) -> bytes:
    """Whole samples; empty: it is not there, or cannot be read, and is made anew."""
    try:
        pcm = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:
        log.warning("a ready phrase cannot be read and is made anew: %s: %s", path, error.strerror or error)
        return b""
    return pcm if len(pcm) % 2 == 0 else b""


def _write(path: Path, pcm: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = path.with_suffix(f".{os.getpid()}.part")
    try:
        part.touch(mode=0o600)
        part.write_bytes(pcm)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
