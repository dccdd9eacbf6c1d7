"""The base of every error this package raises on purpose. Each message names the thing and the mend."""


class VoicebotError(Exception):
    """Something the user can mend; the message is shown as it is, without a traceback.

    `exit_code` is what the command ends with.
    """

    exit_code = 1


class ConfigError(VoicebotError):
    """voicebot.yaml cannot be used; the message lists every problem found in it."""

    exit_code = 2


class UsageError(VoicebotError):
    """The command line asks for something that cannot be done as asked."""

    exit_code = 2


class PlanError(VoicebotError):
    """The models do not fit the devices; the message has the sums and what would mend it."""

    exit_code = 2


class PortTakenError(VoicebotError):
    """A port we need is in use by somebody else."""

    exit_code = 2


class PartError(VoicebotError):
    """A part of the system did not come up, or went down for good; the message has its last log lines."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code
