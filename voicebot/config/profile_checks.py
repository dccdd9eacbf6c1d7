"""What the keys about talks must agree on. Pure."""

from collections.abc import Iterator

from stasis_app.history import MOST_WHOLE
from stasis_app.intents import words
from stasis_app.settings import Profile
from stasis_app.speakable import speakable
from voicebot.config.media_addresses import Finding, finding
from voicebot.config.model import Config
from voicebot.config.source import KeyPath

_TOKEN_CHARS = 4
"""Characters that make a token, about: what fits is an estimate."""

DIALPLAN_LIMIT_S = 3600
"""TIMEOUT(absolute) in asterisk_conf/voicebot/extensions_voicebot.conf."""


def profile_findings(config: Config) -> Iterator[Finding]:
    """Each contradiction of a profile, with the keys it is about."""
    for name, profile in config.profiles.items():
        here = ("profiles", name)
        if profile.expect is not None and not profile.greeting and not profile.disclosure:
            message = "is what the greeting asks for, and there is no greeting: write one, or take this out"
            yield finding(message, (*here, "expect"), (*here, "greeting"))
        for key, text in _ready_texts(profile):
            if text and not speakable(text, profile.language, profile.pronounced):
                mend = "take it out" if key == ("disclosure",) else "write words"
                yield finding(f"holds nothing that a voice can say, is `{text[:40]}`: {mend}", (*here, *key))
        for index, passage in enumerate(profile.must_play):
            if not words(passage):
                message = (
                    f"has no words, is `{passage}`: write the passage as the bot says it, or take it out"
                )
                yield finding(message, (*here, "must_play", index))
        for tool, request in profile.tools.http.items():
            if request.timeout_s >= profile.answer_timeout_s:
                yield finding(
                    "must be less than answer_timeout_s, after which the caller hears an apology:"
                    f" {request.timeout_s:g} is not less than {profile.answer_timeout_s:g}",
                    (*here, "tools", "http", tool, "timeout_s"),
                    (*here, "answer_timeout_s"),
                )
        llm = config.workers.llm
        if llm.start and profile.max_tokens >= llm.context_tokens:
            yield finding(
                f"leaves no room for the prompt: {profile.max_tokens} is not less than"
                f" workers.llm.context_tokens {llm.context_tokens}",
                (*here, "max_tokens"),
                ("workers", "llm", "context_tokens"),
            )
        elif llm.start:
            yield from _results_that_do_not_fit(name, profile, llm.context_tokens)
    limit = ("calls", "max_call_s")
    if config.asterisk.start and config.calls.max_call_s >= DIALPLAN_LIMIT_S:
        message = (
            f"must be less than {DIALPLAN_LIMIT_S}, when the dialplan of the Asterisk that voicebot brings ends a call"
            f" without a goodbye: is `{config.calls.max_call_s:g}`"
        )
        yield finding(message, limit, ("asterisk", "start"))


def _ready_texts(profile: Profile) -> Iterator[tuple[KeyPath, str]]:
    """What is said as it stands here: without a voice for one of them no call is taken."""
    yield ("disclosure",), profile.disclosure
    yield ("greeting",), profile.greeting
    for name, text in profile.phrases.model_dump().items():
        yield ("phrases", name), text
    if transfer := profile.tools.transfer:
        yield ("tools", "transfer", "announcement"), transfer.announcement


def _results_that_do_not_fit(name: str, profile: Profile, context_tokens: int) -> Iterator[Finding]:
    """The prompt, the newest results of a tool and the answer stand in one window; a fuller one ends the call."""
    shown = "".join(example.caller + example.bot for example in profile.examples)
    prompt = -(-len(profile.instructions + shown) // _TOKEN_CHARS)
    left = context_tokens - prompt - profile.max_tokens
    for tool, request in profile.tools.http.items():
        most = left * _TOKEN_CHARS // MOST_WHOLE
        if request.max_answer_chars > most:
            mend = f"write at most {most}" if most >= 20 else "shorten the prompt"
            yield finding(
                f"is more than fits: {MOST_WHOLE} answers of {request.max_answer_chars} characters beside the prompt"
                f" (about {prompt} tokens, at {_TOKEN_CHARS} characters a token) and max_tokens {profile.max_tokens} in"
                f" workers.llm.context_tokens {context_tokens}: {mend}, or raise that",
                ("profiles", name, "tools", "http", tool, "max_answer_chars"),
                ("workers", "llm", "context_tokens"),
            )
