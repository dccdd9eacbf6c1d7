"""What can go wrong in the media bridge."""

from typing import Literal

RtpFault = Literal["short", "version", "rtcp", "csrc", "extension", "padding"]

_RTP_FAULTS: dict[RtpFault, str] = {
    "short": "it is shorter than the 12 bytes of a header",
    "version": "its version is not 2",
    "rtcp": "it is RTCP, multiplexed on the RTP port",
    "csrc": "its CSRC list runs past its end",
    "extension": "its header extension runs past its end",
    "padding": "its padding is empty or longer than its payload",
}


class MediaError(Exception):
    """Base of every error the media bridge raises on purpose."""


class RtpError(MediaError):
    """A datagram is no RTP packet. `why` is a short word fit for a metric's label."""

    def __init__(self, why: RtpFault) -> None:
        super().__init__(f"Not an RTP packet: {_RTP_FAULTS[why]}")
        self.why: RtpFault = why
