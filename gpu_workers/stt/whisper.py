"""Whisper on CTranslate2 with a short encoder window.

Whisper pads every sound to 30 s and its encoder costs the same for "yes" as for half a minute. CTranslate2 takes fewer
frames, so a short answer is decoded in a window of its length and a margin (`windows`). A window that ends with the
speech makes the decoder repeat itself; hence the margin, a limit of tokens, and more tries in longer windows.
"""

import logging
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import ctranslate2  # type: ignore[import-untyped]
import numpy as np
from faster_whisper import WhisperModel  # type: ignore[import-untyped]
from faster_whisper.tokenizer import _LANGUAGE_CODES, Tokenizer  # type: ignore[import-untyped]
from faster_whisper.transcribe import get_suppressed_tokens  # type: ignore[import-untyped]
from numpy.typing import NDArray

from gpu_workers.errors import ModelError, RequestError
from gpu_workers.serving import device_index
from gpu_workers.stt.audio import WHISPER_RATE, loudness_dbfs
from gpu_workers.stt.batch_size import best_batch, most_at_once, parts
from gpu_workers.stt.features import features
from gpu_workers.stt.first_words import first_tokens, is_worth_it, share_logprob
from gpu_workers.stt.gates import (
    SILENT_DBFS,
    Decoding,
    ends_badly,
    is_doubtful,
    spoken_text,
    token_limit,
)
from gpu_workers.stt.scheduler import Transcript, Utterance
from gpu_workers.stt.windows import FULL_WINDOW_S, coarse_window_s, fine_window_s, safe_window_s

log = logging.getLogger(__name__)

_PROMPT_TOKENS: Final = 100
_CPU_BATCH: Final = 2
_DRAFT_BEAM: Final = 1


class WhisperRecogniser:
    """A loaded model. `batch_limit` is measured: on a CPU a batch of two saves a seventh and a larger one nothing more
    (docs/decisions/0011), a GPU is tried when it warms up."""

    def __init__(
        self, folder: Path, device: str, compute_type: str, threads: int, copies: int, beam: int = 5
    ) -> None:
        self._on_gpu = on_gpu = device.startswith("cuda")
        self._beam = beam
        self.batch_limit = _CPU_BATCH
        try:
            self._model = WhisperModel(
                str(folder),
                device="cuda" if on_gpu else "cpu",
                device_index=device_index(device) if on_gpu else 0,
                compute_type=compute_type,
                cpu_threads=threads,
                num_workers=copies,
            )
        # the tokenizer's errors have no base of their own; this is where files of the user's own are opened
        except Exception as error:
            raise ModelError(
                f"Whisper in {folder} cannot be loaded on {device} as {compute_type}: {error}; check "
                "workers.stt.model, workers.stt.device and workers.stt.compute_type"
            ) from error
        self._multilingual = bool(self._model.model.is_multilingual)
        # tiny.en says every other sentence twice in a short window: there it would only cost a second decoding
        on_cpu = fine_window_s if self._multilingual else safe_window_s
        self._window_of = coarse_window_s if on_gpu else on_cpu
        self._tokenizer = lru_cache(maxsize=None)(self._make_tokenizer)
        self._begin = lru_cache(maxsize=64)(self._begin_tokens)
        self._suppressed = list(get_suppressed_tokens(self._tokenizer("en"), [-1]))

    def warm_up(self) -> None:
        """The first decoding is slower than the rest; it should not be a caller's. On a GPU also finds its batch."""
        noise = np.random.default_rng(0).normal(0, 0.1, WHISPER_RATE).astype(np.float32)
        utterance = Utterance(noise, "en")
        self.transcribe([utterance])
        if self._on_gpu:
            most = most_at_once(self.window_s(utterance.length_s))
            self.batch_limit = best_batch(lambda size: self._seconds([utterance] * size), most)
            log.info("up to %d utterances are decoded at once", self.batch_limit)

    def _seconds(self, batch: Sequence[Utterance]) -> float:
        """For decoding it, infinite without the memory. The first of a size is left out: kernels are chosen in it."""
        window = self.window_s(batch[0].length_s)
        try:
            self._decode(batch, window)
            began = time.perf_counter()
            self._decode(batch, window)
        except RuntimeError:
            return math.inf
        return time.perf_counter() - began

    def check_language(self, language: str | None) -> None:
        """Raises RequestError 400 for a language that this model does not speak."""
        if language is None or (language in _LANGUAGE_CODES and (self._multilingual or language == "en")):
            return
        known = "a code such as en, de or fr" if self._multilingual else "en, this model knows English only"
        raise RequestError(
            400, f"unknown language {language!r}: use {known}", code="invalid_language", param="language"
        )

    def window_s(self, length_s: float) -> float:
        return length_s if length_s > FULL_WINDOW_S else self._window_of(length_s)

    def transcribe(self, batch: Sequence[Utterance]) -> list[Transcript]:
        """Blocks. Silence and noise give an empty text."""
        transcripts: dict[int, Transcript] = {}
        short: list[tuple[int, Utterance]] = []
        for place, utterance in enumerate(batch):
            if loudness_dbfs(utterance.samples) < SILENT_DBFS:
                transcripts[place] = Transcript("", utterance.language or "", utterance.length_s, 1.0, 0.0)
            elif utterance.length_s > FULL_WINDOW_S:
                transcripts[place] = self._long(utterance)
            else:
                short.append((place, utterance))
        for (place, utterance), decoding in zip(short, self._guarded([one for _, one in short]), strict=True):
            transcripts[place] = _judged(decoding, utterance)
        return [transcripts[place] for place in range(len(batch))]

    def _guarded(self, batch: Sequence[Utterance]) -> list[Decoding]:
        """All in one window; what is doubtful once more in a longer one, what ends badly there too in all 30 s."""
        if not batch:
            return []
        window = max(self.window_s(utterance.length_s) for utterance in batch)
        decodings = self._decode(batch, window)
        return [
            self._surer(utterance, decoding, window)
            for utterance, decoding in zip(batch, decodings, strict=True)
        ]

    def _surer(self, utterance: Utterance, decoding: Decoding, window_s: float) -> Decoding:
        while (longer := _longer_s(utterance, decoding, window_s)) is not None:
            log.debug("%.1f s are doubtful in a window of %.0f s", utterance.length_s, window_s)
            decoding, window_s = self._decode([utterance], longer)[0], longer
        return decoding

    def _decode(self, batch: Sequence[Utterance], window_s: float) -> list[Decoding]:
        """One call of encoder and decoder for all of one beam and one length of prompt, as CTranslate2 wants it."""
        groups: dict[tuple[int, int], list[int]] = {}
        for place, utterance in enumerate(batch):
            kind = len(self._said_before(utterance)), self._beam_for(utterance)
            groups.setdefault(kind, []).append(place)
        found: dict[int, Decoding] = {}
        at_once = most_at_once(window_s)
        for places in (part for group in groups.values() for part in parts(group, at_once)):
            some = [batch[place] for place in places]
            log_mel = self._model.feature_extractor
            encoded = self._model.encode(np.stack([features(log_mel, one.samples, window_s) for one in some]))
            languages = self._languages(some, encoded)
            decodings = self._generate(encoded, some, languages)
            firsts = self._first_words(encoded, some, decodings, window_s)
            for place, decoding, first in zip(places, decodings, firsts, strict=True):
                found[place] = replace(decoding, first_words_logprob=first)
        return [found[place] for place in range(len(batch))]

    def _languages(self, batch: Sequence[Utterance], encoded: ctranslate2.StorageView) -> list[str]:
        given = [utterance.language or ("" if self._multilingual else "en") for utterance in batch]
        if all(given):
            return given
        ranked = self._model.model.detect_language(encoded)
        return [one or str(best[0][0]).strip("<|>") for one, best in zip(given, ranked, strict=True)]

    def _generate(
        self, encoded: ctranslate2.StorageView, batch: Sequence[Utterance], languages: Sequence[str]
    ) -> list[Decoding]:
        prompts = [self._prompt(one, language) for one, language in zip(batch, languages, strict=True)]
        limit = max(token_limit(utterance.length_s) for utterance in batch)
        results = self._model.model.generate(
            encoded,
            prompts,
            beam_size=self._beam_for(batch[0]),
            max_length=len(prompts[0]) + limit,
            return_scores=True,
            return_no_speech_prob=True,
            suppress_blank=True,
            suppress_tokens=self._suppressed,
        )
        return [self._decoding(result, language) for result, language in zip(results, languages, strict=True)]

    def _first_words(
        self,
        encoded: ctranslate2.StorageView,
        batch: Sequence[Utterance],
        decodings: Sequence[Decoding],
        window_s: float,
    ) -> list[float | None]:
        """One step of the decoder for all, if it says anything of one whose decoding stands."""
        asked = [
            is_worth_it(decoding.text, utterance.first_words)
            and _longer_s(utterance, decoding, window_s) is None
            for utterance, decoding in zip(batch, decodings, strict=True)
        ]
        if not any(asked):
            return [None] * len(batch)
        prompts = [self._prompt(one, said.language) for one, said in zip(batch, decodings, strict=True)]
        # nothing is suppressed, and CTranslate2 returns no logits of a search with beams
        results = self._model.model.generate(
            encoded,
            prompts,
            beam_size=1,
            max_length=len(prompts[0]) + 1,
            return_logits_vocab=True,
            suppress_blank=False,
            suppress_tokens=[],
        )
        return [
            share_logprob(_on_host(result.logits[0][0]), self._begin(utterance.first_words))
            if wanted
            else None
            for wanted, result, utterance in zip(asked, results, batch, strict=True)
        ]

    def _begin_tokens(self, first_words: tuple[str, ...]) -> list[int]:
        return first_tokens(first_words, self._tokenizer("en").encode)

    def _beam_for(self, utterance: Utterance) -> int:
        return _DRAFT_BEAM if utterance.draft else self._beam

    def _decoding(self, result: Any, language: str) -> Decoding:
        tokens = result.sequences_ids[0]
        # the score is a mean over the tokens; the end of text counts too
        mean = result.scores[0] * len(tokens) / (len(tokens) + 1)
        text = self._tokenizer(language).decode(tokens).strip()
        return Decoding(text, len(tokens), result.no_speech_prob, mean, language)

    def _prompt(self, utterance: Utterance, language: str) -> list[int]:
        tokenizer = self._tokenizer(language)
        return [*self._said_before(utterance), *tokenizer.sot_sequence, tokenizer.no_timestamps]

    def _said_before(self, utterance: Utterance) -> list[int]:
        """The end of the request's prompt in tokens; they are those of any language."""
        tokenizer, prompt = self._tokenizer("en"), utterance.prompt.strip()
        if not prompt:
            return []
        return [tokenizer.sot_prev, *tokenizer.encode(" " + prompt)[-_PROMPT_TOKENS:]]

    def _make_tokenizer(self, language: str) -> Tokenizer:
        return Tokenizer(self._model.hf_tokenizer, self._multilingual, task="transcribe", language=language)

    def _long(self, utterance: Utterance) -> Transcript:
        """More than one window: faster-whisper's own way through it, judged piece by piece."""
        segments, info = self._model.transcribe(
            utterance.samples,
            language=utterance.language,
            initial_prompt=utterance.prompt or None,
            beam_size=self._beam_for(utterance),
            temperature=0.0,
            condition_on_previous_text=False,
        )
        pieces = [
            (
                segment,
                Decoding(segment.text, len(segment.tokens), segment.no_speech_prob, segment.avg_logprob, ""),
            )
            for segment in segments
        ]
        texts = []
        for segment, decoding in pieces:
            sound = utterance.samples[int(segment.start * WHISPER_RATE) : int(segment.end * WHISPER_RATE)]
            texts.append(spoken_text(decoding, segment.end - segment.start, loudness_dbfs(sound)))
        no_speech = min((piece.no_speech_prob for _, piece in pieces), default=1.0)
        logprob = float(np.mean([piece.avg_logprob for _, piece in pieces])) if pieces else 0.0
        return Transcript(
            " ".join(filter(None, texts)), info.language, utterance.length_s, no_speech, logprob
        )


def _longer_s(utterance: Utterance, decoding: Decoding, window_s: float) -> float | None:
    """The window to hear it again in; None: this decoding stands."""
    safe = safe_window_s(utterance.length_s)
    if window_s < safe and is_doubtful(decoding, utterance.length_s):
        return safe
    if window_s < FULL_WINDOW_S and not utterance.draft and ends_badly(decoding, utterance.length_s):
        return FULL_WINDOW_S
    return None


def _on_host(logits: ctranslate2.StorageView) -> NDArray[np.float32]:
    on_cpu = logits.to_device(ctranslate2.Device.cpu).to(ctranslate2.DataType.float32)
    return np.array(on_cpu).ravel()


def _judged(decoding: Decoding, utterance: Utterance) -> Transcript:
    text = spoken_text(decoding, utterance.length_s, loudness_dbfs(utterance.samples))
    return Transcript(
        text,
        decoding.language,
        utterance.length_s,
        decoding.no_speech_prob,
        decoding.avg_logprob,
        first_words_logprob=decoding.first_words_logprob if text else None,
    )
