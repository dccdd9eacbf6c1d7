"""What can go wrong between the bot and Asterisk. Everything raised by this package is an AriFailure."""


class AriFailure(Exception):  # noqa: N818 - the members are named after what happened
    """The base; never raised itself."""


class AriError(AriFailure):
    """A request to Asterisk failed.

    `status` is the HTTP status, None when no answer came. The request's query and body, which may hold a
    caller's number, are not part of the message.
    """

    def __init__(self, status: int | None, method: str, path: str, message: str) -> None:
        self.status = status
        self.method = method
        self.path = path
        self.message = message
        answer = "no answer" if status is None else f"HTTP {status}"
        super().__init__(f"{method} {path}: {answer}: {message}")

    @property
    def gone(self) -> bool:
        """Whether the channel or bridge the request was about is no longer there.

        Asterisk says so in four ways: 404; 409 and 422 for a channel that is leaving or has left Stasis; and
        400 "Channel not found" from addChannel.
        """
        return self.status in (404, 409, 422) or (self.status == 400 and self.message == "Channel not found")


class AriRefused(AriError):  # noqa: N818 - as above
    """401 or 403: no retry helps until someone changes the configuration."""

    def __init__(self, status: int, method: str, path: str, username: str) -> None:
        super().__init__(
            status,
            method,
            path,
            f"Asterisk refuses the user {username!r}: ari.username and ari.password in voicebot.yaml must be "
            f"those of a section with type=user and read_only=no in Asterisk's ari.conf, and its acl must "
            f"permit this machine",
        )


class AriEventError(AriFailure):
    """A text from the event socket is not an event."""


class AsteriskTooOld(AriFailure):
    """This Asterisk lacks what the bot is built on."""


class AppReplaced(AriFailure):
    """Another client opened the event socket of the same app; Asterisk now sends every event to that one."""

    def __init__(self, app: str) -> None:
        super().__init__(
            f"another client took over the ARI app {app!r}: every bot process needs its own ari.app in "
            f"voicebot.yaml, and its own Stasis() step in the dialplan"
        )


class LegFailed(AriFailure):
    """The call could not be given its media; what was begun is undone.

    `caller_gone`: the caller had hung up, nothing is wrong.
    """

    def __init__(self, call_id: str, reason: str, *, caller_gone: bool = False) -> None:
        self.call_id = call_id
        self.reason = reason
        self.caller_gone = caller_gone
        super().__init__(f"call {call_id}: {reason}")
