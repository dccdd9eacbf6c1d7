"""How long a call process may take to end, for whoever would kill it after that: supervisor, systemd, Kubernetes."""

from stasis_app.closing import longest_goodbye_s
from stasis_app.disk_thread import LAST_WRITES_S
from voicebot.config import Config

QUICK_END_S = 15.0
"""After a second signal: callers are handed back to the dialplan, nothing else is waited for."""
_DISKS = 2  # the transcript's and the flights'
_THE_REST_S = 5.0  # hang-ups, connections, Python itself


def drain_within_s(config: Config) -> float:
    """From the first signal to the end of the process at the latest.

    `calls.drain_s`, the longest goodbye, a request of a tool that was begun with the last words and may change
    something, disks that hang, and the rest.
    """
    profiles = config.profiles.values()
    requests = [request for profile in profiles for request in profile.tools.http.values()]
    request_s = max((request.timeout_s for request in requests), default=0.0)
    return (
        config.calls.drain_s + longest_goodbye_s(profiles) + request_s + _DISKS * LAST_WRITES_S + _THE_REST_S
    )
