"""Whisper on CTranslate2 with a short encoder window.

Whisper pads every sound to 30 s and its encoder costs the same for "yes" as for half a minute. CTranslate2 takes fewer
frames, so a short answer is decoded in a window of its length and a margin. A window that ends with the speech makes
the decoder loop; hence the margin, a limit of tokens, and one more try with the full window when a decoding ran away.
"""

import logging
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
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
from gpu_workers.stt.audio import WHISPER_RATE, Samples, loudness_dbfs
from gpu_workers.stt.gates import SILENT_DBFS, Decoding, is_runaway, spoken_text, token_limit
from gpu_workers.stt.scheduler import Transcript, Utterance

log = logging.getLogger(__name__)

_FULL_WINDOW_S: Final = 30.0
_SHORTEST_WINDOW_S: Final = 10.0
_MARGIN_S: Final = 4.0
_WINDOW_STEP_S: Final = 5.0
_HOP: Final = 160
_PROMPT_TOKENS: Final = 100
_GPU_BATCH: Final = 8


class WhisperRecogniser:
    """A loaded model. On a GPU what waits is decoded as a batch; on a CPU a batch costs the sum of its members."""

    def __init__(self, folder: Path, device: str, compute_type: str, threads: int, copies: int) -> None:
        on_gpu = device.startswith("cuda")
        self.batch_limit = _GPU_BATCH if on_gpu else 1
        try:
            self._model = WhisperModel(
                str(folder),
                device="cuda" if on_gpu else "cpu",
                device_index=device_index(device) if on_gpu else 0,
                compute_type=compute_type,
                cpu_threads=threads,
                num_workers=copies,
            )
        except (RuntimeError, ValueError, OSError) as error:
            raise ModelError(
                f"Whisper in {folder} cannot be loaded on {device} as {compute_type}: {error}; check "
                "workers.stt.model, workers.stt.device and workers.stt.compute_type"
            ) from error
        self._multilingual = bool(self._model.model.is_multilingual)
        self._tokenizer = lru_cache(maxsize=None)(self._make_tokenizer)
        self._suppressed = list(get_suppressed_tokens(self._tokenizer("en"), [-1]))

    def warm_up(self) -> None:
        """The first decoding is slower than the rest; it should not be a caller's."""
        noise = np.random.default_rng(0).normal(0, 0.1, WHISPER_RATE).astype(np.float32)
        self.transcribe([Utterance(noise, "en")])

    def check_language(self, language: str | None) -> None:
        """Raises RequestError 400 for a language that this model does not speak."""
        if language is None or (language in _LANGUAGE_CODES and (self._multilingual or language == "en")):
            return
        known = "a code such as en, de or fr" if self._multilingual else "en, this model knows English only"
        raise RequestError(
            400, f"unknown language {language!r}: use {known}", code="invalid_language", param="language"
        )

    def window_s(self, length_s: float) -> float:
        needed = max(_SHORTEST_WINDOW_S, length_s + _MARGIN_S)
        if self.batch_limit > 1:
            needed = -(-needed // _WINDOW_STEP_S) * _WINDOW_STEP_S
        return min(_FULL_WINDOW_S, needed)

    def transcribe(self, batch: Sequence[Utterance]) -> list[Transcript]:
        """Blocks. Silence and noise give an empty text."""
        transcripts: dict[int, Transcript] = {}
        short: list[tuple[int, Utterance]] = []
        for place, utterance in enumerate(batch):
            if loudness_dbfs(utterance.samples) < SILENT_DBFS:
                transcripts[place] = Transcript("", utterance.language or "", utterance.length_s, 1.0, 0.0)
            elif utterance.length_s > _FULL_WINDOW_S:
                transcripts[place] = self._long(utterance)
            else:
                short.append((place, utterance))
        for (place, utterance), decoding in zip(short, self._guarded([one for _, one in short]), strict=True):
            transcripts[place] = _judged(decoding, utterance)
        return [transcripts[place] for place in range(len(batch))]

    def _guarded(self, batch: Sequence[Utterance]) -> list[Decoding]:
        if not batch:
            return []
        window = max(self.window_s(utterance.length_s) for utterance in batch)
        decodings = self._decode(batch, window)
        for place, utterance in enumerate(batch):
            if window < _FULL_WINDOW_S and is_runaway(decodings[place], utterance.length_s):
                log.debug("a decoding of %.1f s ran away in a window of %.0f s", utterance.length_s, window)
                decodings[place] = self._decode([utterance], _FULL_WINDOW_S)[0]
        return decodings

    def _decode(self, batch: Sequence[Utterance], window_s: float) -> list[Decoding]:
        features = np.stack([self._features(utterance.samples, window_s) for utterance in batch])
        encoded = self._model.encode(features)
        languages = self._languages(batch, encoded)
        if len(batch) == 1:
            return self._generate(encoded, batch, languages)
        # CTranslate2 wants prompts of one length within a batch
        prompts = [len(self._prompt(one, language)) for one, language in zip(batch, languages, strict=True)]
        if len(set(prompts)) == 1:
            return self._generate(encoded, batch, languages)
        found: dict[int, Decoding] = {}
        by_length = sorted(range(len(batch)), key=lambda place: prompts[place])
        for _, group in groupby(by_length, key=lambda place: prompts[place]):
            places = list(group)
            part = self._model.encode(features[places])
            some = self._generate(part, [batch[n] for n in places], [languages[n] for n in places])
            found.update(zip(places, some, strict=True))
        return [found[place] for place in range(len(batch))]

    def _features(self, samples: Samples, window_s: float) -> NDArray[np.float32]:
        # padding the sound, not the features, keeps the no-speech probability of noise well apart from speech's
        wanted = int(window_s * WHISPER_RATE)
        padded = np.pad(samples, (0, max(0, wanted - len(samples))))[:wanted]
        mel = self._model.feature_extractor(padded)[:, : wanted // _HOP]
        return np.ascontiguousarray(mel, np.float32)

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
            beam_size=1,
            max_length=len(prompts[0]) + limit,
            return_scores=True,
            return_no_speech_prob=True,
            suppress_blank=True,
            suppress_tokens=self._suppressed,
        )
        return [self._decoding(result, language) for result, language in zip(results, languages, strict=True)]

    def _decoding(self, result: Any, language: str) -> Decoding:
        tokens = result.sequences_ids[0]
        # the score is a mean over the tokens; the end of text counts too
        mean = result.scores[0] * len(tokens) / (len(tokens) + 1)
        text = self._tokenizer(language).decode(tokens).strip()
        return Decoding(text, len(tokens), result.no_speech_prob, mean, language)

    def _prompt(self, utterance: Utterance, language: str) -> list[int]:
        tokenizer = self._tokenizer(language)
        said = (
            tokenizer.encode(" " + utterance.prompt.strip())[-_PROMPT_TOKENS:]
            if utterance.prompt.strip()
            else []
        )
        before = [tokenizer.sot_prev, *said] if said else []
        return [*before, *tokenizer.sot_sequence, tokenizer.no_timestamps]

    def _make_tokenizer(self, language: str) -> Tokenizer:
        return Tokenizer(self._model.hf_tokenizer, self._multilingual, task="transcribe", language=language)

    def _long(self, utterance: Utterance) -> Transcript:
        """More than one window: faster-whisper's own way through it, judged piece by piece."""
        segments, info = self._model.transcribe(
            utterance.samples,
            language=utterance.language,
            initial_prompt=utterance.prompt or None,
            beam_size=1,
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


def _judged(decoding: Decoding, utterance: Utterance) -> Transcript:
    text = spoken_text(decoding, utterance.length_s, loudness_dbfs(utterance.samples))
    return Transcript(
        text, decoding.language, utterance.length_s, decoding.no_speech_prob, decoding.avg_logprob
    )
