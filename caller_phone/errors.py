"""Everything the phone raises. One base; each says whose fault it was."""

_WHAT_TO_CHECK = {
    401: "the endpoint wants a password, and none or a wrong one was given"
    " (voicebot call: --user NAME, its password in VOICEBOT_CALL_PASSWORD): check `auth` of the endpoint in pjsip.conf",
    403: "the credentials were refused, or no endpoint in pjsip.conf identifies this caller's address",
    404: "this extension is not in the dialplan context of the caller's endpoint: check `dialplan show`",
    407: "the proxy wants a password, and none or a wrong one was given"
    " (voicebot call: --user NAME, its password in VOICEBOT_CALL_PASSWORD)",
    408: "the far end gave up waiting",
    480: "nobody is registered there, or nobody answered",
    484: "no extension matches a number as short as this: check `dialplan show`",
    486: "the called phone is busy",
    488: "no codec in common: allow ulaw or alaw on the endpoint in pjsip.conf",
    503: "the far end is overloaded or starting: check that Asterisk is fully booted",
    603: "the dialplan hung up; with Stasis() this usually means that no application is connected: "
    "check `ari show apps`",
}


class PhoneError(Exception):
    """Base of all errors of this package."""


class SipError(PhoneError):
    """These bytes are not a SIP message or session description that we can use. The sender's fault."""


class RtpError(PhoneError):
    """These bytes are not an RTP packet. The sender's fault."""


class SpeechFileError(PhoneError):
    """A recording to be spoken can't be used; the message names the file and what would do."""


class CallEnded(PhoneError):  # noqa: N818 - it says what happened
    """The call was over before what was asked of it could be done."""


class CallFailed(PhoneError):  # noqa: N818 - it says what happened
    """The call was never answered.

    `status` and `reason` are the SIP answer (status is None when none came at all), `cause` is the Q.850 cause of
    its Reason header (RFC 3326), if any.
    """

    def __init__(self, status: int | None, reason: str, cause: int | None = None) -> None:
        self.status = status
        self.reason = reason
        self.cause = cause
        text = reason if status is None else f"{status} {reason}"
        if cause is not None:
            text += f" (Q.850 cause {cause})"
        if status in _WHAT_TO_CHECK:
            text += f": {_WHAT_TO_CHECK[status]}"
        super().__init__(text)
