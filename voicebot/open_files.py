"""How many calls the limit on open files is enough for (`ulimit -n`, LimitNOFILE= of a unit)."""

import logging

from gpu_workers.leash import raise_open_files
from voicebot.config import Config
from voicebot.errors import UsageError

log = logging.getLogger(__name__)

EACH_CALL = 12
"""Its UDP port and one that rests, two connections to each worker (eager work beside the other), a tool's and one that
is kept alive, two files of a flight."""
ALL_CALLS = 100
"""Libraries, the event loop, logs, Asterisk's connections, whoever reads /ready and /metrics."""


def with_places_for(config: Config) -> Config:
    """The limit is raised as far as it may be; `config`, with fewer calls where even that is not enough for all.

    Without file descriptors a call could reach no worker and its caller would hear apologies: who comes too much goes
    back to the dialplan instead (`full`). Raises UsageError where there is no room for a single call.
    """
    limit, wanted = raise_open_files(), config.calls.max_calls
    places = (limit - ALL_CALLS) // EACH_CALL
    if places < 1:
        raise UsageError(
            f"the limit on open files is {limit}, which is not enough for one call: raise it to"
            f" {ALL_CALLS + EACH_CALL * wanted} (ulimit -n, LimitNOFILE= of the unit)"
        )
    log.info("up to %d open files", limit)
    if places >= wanted:
        return config
    log.warning(
        "calls.max_calls is %d, but the limit on open files, %d, is enough for %d calls: no more are taken. Raise it to"
        " %d (ulimit -n, LimitNOFILE= of the unit)",
        wanted, limit, places, ALL_CALLS + EACH_CALL * wanted,
    )  # fmt: skip
    return config.model_copy(update={"calls": config.calls.model_copy(update={"max_calls": places})})
