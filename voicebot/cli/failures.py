"""Which errors are the user's to mend, and what the command ends with for each."""

import sys

from voicebot.errors import VoicebotError

CONFIGURATION = 2
APP_TAKEN = 75  # EX_TEMPFAIL of sysexits.h: another process has the app
ARI_REFUSED = 78  # EX_CONFIG: Asterisk will not have us until someone changes something

# Bases of the other packages' errors. One that was never imported cannot have been raised, so nothing is imported here.
_BASES = (
    ("gpu_workers.errors", "GpuWorkersError"),
    ("media_bridge.errors", "MediaError"),
    ("stasis_app.ari.errors", "AriFailure"),
    ("stasis_app.web", "WebPortError"),
    ("caller_phone.errors", "PhoneError"),
)
_CODES = {
    "WebPortError": CONFIGURATION,
    "AppReplaced": APP_TAKEN,
    "AriRefused": ARI_REFUSED,
    "AsteriskTooOld": ARI_REFUSED,
}


def expected() -> tuple[type[BaseException], ...]:
    """Error classes that are shown as one line."""
    loaded = [(sys.modules[module], name) for module, name in _BASES if module in sys.modules]
    return (VoicebotError, *(getattr(module, name) for module, name in loaded))


def exit_code(error: BaseException) -> int:
    """The status the command ends with."""
    return error.exit_code if isinstance(error, VoicebotError) else _CODES.get(type(error).__name__, 1)


def leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    """The errors inside nested groups, in order."""
    found: list[BaseException] = []
    for error in group.exceptions:
        found += leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found
