"""What the keys about talks must agree on. Pure."""

from collections.abc import Iterator

from stasis_app.history import MOST_WHOLE, fixed_tokens, room_for_talk
from stasis_app.intents import words
from stasis_app.settings import Profile
from stasis_app.speakable import speakable
from voicebot.config.media_addresses import Finding, finding
from voicebot.config.model import Config
from voicebot.config.source import KeyPath

_TOKEN_CHARS = 4
# no text has as many a token in the mean
_LONG_TOKEN_CHARS = 8
"""Characters that make a token, about: what fits is an estimate."""

LEAST_TALK_TOKENS = 300
"""Some questions and answers: with less the bot would remember next to nothing."""

DIALPLAN_LIMIT_S = 3600
"""TIMEOUT(absolute) in asterisk_conf/voicebot/extensions_voicebot.conf."""


def profile_findings(config: Config) -> Iterator[Finding]:
    """Each contradiction of a profile, with the keys it is about."""
    for name, profile in config.profiles.items():
        here = ("profiles", name)
        yield from _texts(here, profile)
        yield from _lengths(here, profile)
        if config.workers.llm.start:
            yield from _window(here, profile, config.workers.llm.context_tokens)
    limit = ("calls", "max_call_s")
    if config.asterisk.start and config.calls.max_call_s >= DIALPLAN_LIMIT_S:
        message = (
            f"must be less than {DIALPLAN_LIMIT_S}, when the dialplan of the Asterisk that voicebot brings ends a call"
            f" without a goodbye: is `{config.calls.max_call_s:g}`"
        )
        yield finding(message, limit, ("asterisk", "start"))


def _texts(here: KeyPath, profile: Profile) -> Iterator[Finding]:
    if profile.expect is not None and not profile.greeting and not profile.disclosure:
        message = "is what the greeting asks for, and there is no greeting: write one, or take this out"
        yield finding(message, (*here, "expect"), (*here, "greeting"))
    for key, text in _ready_texts(profile):
        if text and not speakable(text, profile.language, profile.pronounced):
            mend = "take it out" if key == ("disclosure",) else "write words"
            yield finding(f"holds nothing that a voice can say, is `{text[:40]}`: {mend}", (*here, *key))
    for index, passage in enumerate(profile.must_play):
        if not words(passage):
            message = f"has no words, is `{passage}`: write the passage as the bot says it, or take it out"
            yield finding(message, (*here, "must_play", index))


def _ready_texts(profile: Profile) -> Iterator[tuple[KeyPath, str]]:
    """What is said as it stands here: without a voice for one of them no call is taken."""
    yield ("disclosure",), profile.disclosure
    yield ("greeting",), profile.greeting
    for name, text in profile.phrases.model_dump().items():
        yield ("phrases", name), text
    if transfer := profile.tools.transfer:
        yield ("tools", "transfer", "announcement"), transfer.announcement


def _lengths(here: KeyPath, profile: Profile) -> Iterator[Finding]:
    for tool, request in profile.tools.http.items():
        if request.timeout_s >= profile.answer_timeout_s:
            yield finding(
                "must be less than answer_timeout_s, after which the caller hears an apology:"
                f" {request.timeout_s:g} is not less than {profile.answer_timeout_s:g}",
                (*here, "tools", "http", tool, "timeout_s"),
                (*here, "answer_timeout_s"),
            )
    most_chars = profile.max_tokens * _LONG_TOKEN_CHARS
    if "max_answer_chars" in profile.model_fields_set and profile.max_answer_chars > most_chars:
        yield finding(
            f"is never reached: max_tokens {profile.max_tokens} ends an answer before that, at {most_chars}"
            f" characters at most: raise that to {-(-profile.max_answer_chars // _TOKEN_CHARS)}, or lower this",
            (*here, "max_answer_chars"),
            (*here, "max_tokens"),
        )


def _window(here: KeyPath, profile: Profile, context_tokens: int) -> Iterator[Finding]:
    """What stands in the language model's window at the same time."""
    window = ("workers", "llm", "context_tokens")
    prompt, left = fixed_tokens(profile), room_for_talk(profile, context_tokens)
    if profile.max_tokens >= context_tokens:
        yield finding(
            f"leaves no room for the prompt: {profile.max_tokens} is not less than"
            f" workers.llm.context_tokens {context_tokens}",
            (*here, "max_tokens"),
            window,
        )
    elif left < LEAST_TALK_TOKENS:
        yield finding(
            f"is about {prompt} tokens with `private`, `examples` and `tools`, at {_TOKEN_CHARS} characters a token:"
            f" beside it and max_tokens {profile.max_tokens} workers.llm.context_tokens {context_tokens} has to"
            f" leave {LEAST_TALK_TOKENS} for the talk: shorten it, or raise that",
            (*here, "prompt"),
            (*here, "max_tokens"),
            window,
        )
    else:
        yield from _results_that_do_not_fit(here, profile, context_tokens)


def _results_that_do_not_fit(here: KeyPath, profile: Profile, context_tokens: int) -> Iterator[Finding]:
    """The prompt, the newest results of a tool and the answer stand in one window; a fuller one ends the call."""
    prompt, left = fixed_tokens(profile), room_for_talk(profile, context_tokens)
    for tool, request in profile.tools.http.items():
        most = left * _TOKEN_CHARS // MOST_WHOLE
        if request.max_answer_chars > most:
            mend = f"write at most {most}" if most >= 20 else "shorten the prompt"
            yield finding(
                f"is more than fits: {MOST_WHOLE} answers of {request.max_answer_chars} characters beside the prompt"
                f" (about {prompt} tokens, at {_TOKEN_CHARS} characters a token) and max_tokens {profile.max_tokens} in"
                f" workers.llm.context_tokens {context_tokens}: {mend}, or raise that",
                (*here, "tools", "http", tool, "max_answer_chars"),
                ("workers", "llm", "context_tokens"),
            )
