"""What the keys about talks must agree on. Pure."""

from collections.abc import Iterator

from stasis_app.intents import words
from voicebot.config.media_addresses import Finding, finding
from voicebot.config.model import Config

DIALPLAN_LIMIT_S = 3600
"""TIMEOUT(absolute) in asterisk_conf/voicebot/extensions_voicebot.conf."""


def profile_findings(config: Config) -> Iterator[Finding]:
    """Each contradiction of a profile, with the keys it is about."""
    for name, profile in config.profiles.items():
        here = ("profiles", name)
        if profile.expect is not None and not profile.greeting and not profile.disclosure:
            message = "is what the greeting asks for, and there is no greeting: write one, or take this out"
            yield finding(message, (*here, "expect"), (*here, "greeting"))
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
    limit = ("calls", "max_call_s")
    if config.asterisk.start and config.calls.max_call_s >= DIALPLAN_LIMIT_S:
        message = (
            f"must be less than {DIALPLAN_LIMIT_S}, when the dialplan of the Asterisk that voicebot brings ends a call"
            f" without a goodbye: is `{config.calls.max_call_s:g}`"
        )
        yield finding(message, limit, ("asterisk", "start"))
