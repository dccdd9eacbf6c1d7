"""Where a password or what callers say would cross a network unencrypted. Pure."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from voicebot.config.checks import dotted, worker_parts
from voicebot.config.media_addresses import is_loopback
from voicebot.config.model import Config
from voicebot.config.source import KeyPath


def in_clear_text(config: Config) -> Iterator[str]:
    """A sentence for each address that is no https:// and not on this machine."""
    addresses: list[tuple[KeyPath, str, str]] = [
        (("ari", "url"), config.ari.url, "the ARI password and the callers' numbers")
    ]
    addresses += [
        (("workers", name, key), url, "what is said in calls, and the api_key if there is one,")
        for name, worker in worker_parts(config).items()
        for key, urls in (("url", (worker.url,)), ("more_urls", worker.more_urls))
        for url in urls
        if url
    ]
    addresses += [
        (
            ("profiles", name, "tools", "http", tool, "url"),
            request.url,
            "its headers and what the model asks it",
        )
        for name, profile in config.profiles.items()
        for tool, request in profile.tools.http.items()
    ]
    for path, url, what in addresses:
        parts = urlsplit(url)
        if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
            yield (
                f"{dotted(path)} is plain http to another machine: {what} can be read on the way."
                " Use https, or a network that nobody else is on"
            )
