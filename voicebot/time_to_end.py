"""How long a call process may take to end, for whoever would kill it after that: supervisor, systemd, Kubernetes."""

from stasis_app.disk_thread import LAST_WRITES_S
from voicebot.config import Config

GOODBYE_S = 15.0
"""For a goodbye of the usual length, and what is under way before it."""
QUICK_END_S = 15.0
"""After a second signal: callers are handed back to the dialplan, nothing else is waited for."""
_UP_TO_GOODBYE_S = 5.0
_BYTES_A_SECOND = 8.0  # of UTF-8: a slow voice. English comes to 15, Chinese (3 bytes each) to the same
_DISKS = 2  # the transcript's and the flights'
_THE_REST_S = 5.0  # hang-ups, connections, Python itself


def drain_within_s(config: Config) -> float:
    """From the first signal to the end of the process at the latest.

    `calls.drain_s`, the longest goodbye, a request of a tool that was begun with the last words and may change
    something, disks that hang, and the rest.
    """
    profiles = config.profiles.values()
    closing = [
        text
        for said in (profile.phrases for profile in profiles)
        for text in (said.goodbye, said.trouble, said.not_heard)
    ]
    spoken_s = max(len(text.encode()) for text in closing) / _BYTES_A_SECOND
    goodbye_s = max(GOODBYE_S, spoken_s + _UP_TO_GOODBYE_S)
    requests = [request for profile in profiles for request in profile.tools.http.values()]
    request_s = max((request.timeout_s for request in requests), default=0.0)
    return config.calls.drain_s + goodbye_s + request_s + _DISKS * LAST_WRITES_S + _THE_REST_S
