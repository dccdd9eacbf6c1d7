"""Languages that nobody knows, or that the recogniser's model does not, found before a call is. Pure."""

import difflib
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from babel import Locale

from gpu_workers.stt.languages import ENGLISH_ONLY, WHISPER_LANGUAGES
from stasis_app.short_words import language_code
from voicebot.config.media_addresses import Finding, finding
from voicebot.config.model import Config
from voicebot.config.source import KeyPath

_TAG: Final = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")
_OTHER_CODES: Final = {"nb": "no", "fil": "tl", "iw": "he", "jv": "jw", "in": "id"}
"""Of CLDR, and what Whisper calls the same language."""


def language_findings(config: Config) -> Iterator[Finding]:
    """Each `language` that would make the recogniser refuse every request, or the voice say numbers in English."""
    stt, known = config.workers.stt, ("workers", "stt", "model")
    keys: list[tuple[KeyPath, str | None]] = [(("workers", "stt", "language"), stt.language)]
    keys += [(("profiles", name, "language"), profile.language) for name, profile in config.profiles.items()]
    for path, language in keys:
        if language is None:
            continue
        code = language_code(language) or ""
        if not _TAG.fullmatch(language) or code not in _languages():
            yield finding(f"is `{language[:40]}`, which is no language: {_mend(language)}", path)
        elif path[0] == "workers" and language != code:
            yield finding(f"is `{language}`, which the recogniser does not know: write {code}", path)
        elif stt.start and code not in WHISPER_LANGUAGES:
            other = _OTHER_CODES.get(code)
            mend = (
                f'write "{other}", as it calls it'
                if other
                else "take it out, and let it find out what is spoken"
            )
            yield finding(f"is `{language}`, which Whisper does not know: {mend}", path, known)
        elif stt.start and stt.model.endswith(ENGLISH_ONLY) and code != "en":
            message = (
                f"is `{language}`, and workers.stt.model {stt.model} knows English only: take another one"
            )
            yield finding(message, path, known)


@lru_cache
def _languages() -> frozenset[str]:
    return frozenset(Locale("en").languages) | WHISPER_LANGUAGES


def _mend(language: str) -> str:
    names = {
        str(Locale("en").languages[code]).lower(): code
        for code in WHISPER_LANGUAGES & set(Locale("en").languages)
    }
    close = difflib.get_close_matches(language.lower(), names, n=1, cutoff=0.8)
    return f"write {names[close[0]]}" if close else "write a code like en, de or pt-BR"
