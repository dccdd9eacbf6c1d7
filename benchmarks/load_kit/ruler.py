"""One call as the caller had it, read off a capture of its SIP and RTP. Pure.

The sounds are judged by the caller's phone's own ruler (`caller_phone.ruler`); here is only what a load test asks of
them: which utterances were questions, which of them were answered, and how the call ended.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from benchmarks.load_kit.pcap import Address, Datagram, datagrams
from caller_phone.errors import RtpError, SipError
from caller_phone.recording import Recording, StampedPacket
from caller_phone.rtp import parse as parse_rtp
from caller_phone.ruler import (
    TALKED_ON_MS,
    PacketFigures,
    arrival_gaps_ms,
    cut_ms,
    early_ms,
    packet_figures,
    response_ms,
    talkspurts,
)
from caller_phone.sdp import understand
from caller_phone.sip_message import Request, Response, q850_cause
from caller_phone.sip_message import parse as parse_sip
from caller_phone.talkspurt import Talkspurt

# Q.850: the dialplan says that all lines are busy
BUSY = 17
# Pauses inside a sentence of a caller are shorter, those between two utterances longer.
UTTERANCE_JOIN_MS = 700.0
# This much sound of a caller is speech; a cut-off first syllable of who hangs up at once is not.
_MIN_UTTERANCE_MS = 150.0


class Outcome(Enum):
    """FINISHED: the caller hung up. REFUSED: the dialplan said that the lines are busy. LOST: all else."""

    FINISHED = "finished"
    REFUSED = "refused"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Utterance:
    """Something the caller said. `waited_s`: how long they then kept quiet, until they spoke again or hung up.

    `response_ms` to the first sound that began in that time; `early`: the bot began before the caller's end; `cut_ms`
    for what began while the bot was speaking. A bot that talked through it has not answered.
    """

    first_s: float
    last_s: float
    waited_s: float
    response_ms: float | None
    early: bool
    cut_ms: float | None

    def answered(self, patience_s: float) -> bool | None:
        """None: nobody can say, the caller did not wait so long."""
        if self.early or self.response_ms is not None:
            return True
        return False if self.waited_s >= patience_s else None

    def response(self, patience_s: float) -> float | None:
        """What goes into the percentiles: infinity for an answer that never came; None for what does not tell how long
        callers wait, because the bot began early or the caller did not wait.
        """
        if self.early:
            return None
        return math.inf if self.answered(patience_s) is False else self.response_ms


@dataclass(frozen=True, slots=True)
class CallFigures:
    """`setup_ms`: INVITE to its 200. `greeting_ms`: that to the first sound. `began_s`: wall clock of the INVITE.

    `gaps_ms` are the times between neighbouring packets from Asterisk, and from the last one to the end;
    `caller_gaps_ms` those between packets of the caller.
    """

    outcome: Outcome
    why: str
    began_s: float
    seconds: float
    setup_ms: float | None
    greeting_ms: float | None
    utterances: tuple[Utterance, ...]
    packets: PacketFigures
    gaps_ms: tuple[float, ...] = field(repr=False)
    caller_gaps_ms: tuple[float, ...] = field(repr=False)


@dataclass(slots=True)
class _Signalling:
    """What the messages of a call said, with their instants."""

    caller: Address
    invite_s: float
    media: Address | None = None
    answered_s: float | None = None
    rejected: int | None = None
    bye_s: float | None = None
    bye_by_caller: bool = False
    cause: int | None = None


def judge(capture: bytes) -> CallFigures:
    """The figures of the one call in this capture. Raises PcapError, or SipError for one without an INVITE."""
    packets = list(datagrams(capture))
    signalling = _signalling(packets)
    recording = _recording(packets, signalling.media)
    outcome, why = _outcome(signalling)
    end_s = signalling.bye_s or max((packet.at_s for packet in packets), default=signalling.invite_s)
    bot = talkspurts(recording.bot())
    answered_s = signalling.answered_s
    greeting = None if answered_s is None else response_ms(bot, answered_s)
    return CallFigures(
        outcome=outcome,
        why=why,
        began_s=signalling.invite_s,
        seconds=end_s - signalling.invite_s,
        setup_ms=None if answered_s is None else 1000 * (answered_s - signalling.invite_s),
        greeting_ms=greeting,
        # who was refused heard a message of the dialplan
        utterances=() if outcome is Outcome.REFUSED else _utterances(recording, bot, end_s),
        packets=packet_figures(recording.received, end_s),
        gaps_ms=tuple(arrival_gaps_ms(recording.received, end_s)),
        caller_gaps_ms=tuple(arrival_gaps_ms(recording.sent, None)),
    )


def _utterances(recording: Recording, bot: Sequence[Talkspurt], end_s: float) -> tuple[Utterance, ...]:
    spoken = [
        spurt
        for spurt in talkspurts(recording.caller(), UTTERANCE_JOIN_MS)
        if spurt.sound_ms >= _MIN_UTTERANCE_MS and spurt.start_s < end_s
    ]
    # each lasts until the next one, the last one until the end
    ends = [*(spurt.start_s for spurt in spoken[1:]), end_s]
    return tuple(_utterance(spurt, until_s, bot) for spurt, until_s in zip(spoken, ends, strict=False))


def _utterance(spoken: Talkspurt, until_s: float, bot: Sequence[Talkspurt]) -> Utterance:
    first_s, last_s = spoken.start_s, spoken.end_s
    meanwhile = [spurt for spurt in bot if spurt.start_s < until_s]
    over_the_bot = any(spurt.start_s <= first_s <= spurt.end_s for spurt in bot)
    cut = cut_ms(bot, first_s) if over_the_bot else None
    talked_on = cut is not None and cut >= TALKED_ON_MS
    return Utterance(
        first_s=first_s,
        last_s=last_s,
        waited_s=max(0.0, until_s - last_s),
        response_ms=None if talked_on else response_ms(meanwhile, last_s),
        early=not talked_on and early_ms(bot, first_s, last_s) is not None,
        cut_ms=cut,
    )


def _signalling(packets: Iterable[Datagram]) -> _Signalling:
    found: _Signalling | None = None
    for packet in packets:
        if not packet.data or packet.data[0] >> 6 == 2:  # RTP version 2, which no letter of SIP begins with
            continue
        try:
            message = parse_sip(packet.data)
        except SipError:
            continue
        if found is None:
            if not isinstance(message, Request) or message.method != "INVITE":
                continue
            found = _Signalling(packet.source, packet.at_s, _media(message.body, packet.source))
        _note(found, packet, message)
    if found is None:
        raise SipError("a capture without an INVITE")
    return found


def _note(found: _Signalling, packet: Datagram, message: Request | Response) -> None:
    by_caller = packet.source == found.caller
    if isinstance(message, Request):
        if message.method == "BYE" and found.bye_s is None:
            found.bye_s, found.bye_by_caller = packet.at_s, by_caller
            found.cause = q850_cause(message.headers)
    elif message.ids.method == "INVITE" and not by_caller:
        if 200 <= message.status < 300 and found.answered_s is None:
            found.answered_s = packet.at_s
        elif message.status >= 300:
            found.rejected = message.status


def _media(body: bytes, caller: Address) -> Address | None:
    try:
        media = understand(body)
    except SipError:
        return None
    return caller[0], media.port


def _outcome(signalling: _Signalling) -> tuple[Outcome, str]:
    if signalling.rejected is not None:
        return Outcome.LOST, f"rejected with {signalling.rejected}"
    if signalling.answered_s is None:
        return Outcome.LOST, "never answered"
    if signalling.bye_s is None:
        return Outcome.LOST, "no BYE"
    if signalling.bye_by_caller:
        return Outcome.FINISHED, ""
    if signalling.cause == BUSY:
        return Outcome.REFUSED, ""
    return Outcome.LOST, f"hung up on, cause {signalling.cause}"


def _recording(packets: Iterable[Datagram], media: Address | None) -> Recording:
    """Sent is what came from where the caller listens, received what went there."""
    sent: list[StampedPacket] = []
    received: list[StampedPacket] = []
    for packet in packets:
        side = sent if packet.source == media else received if packet.target == media else None
        if side is None:
            continue
        try:
            side.append(StampedPacket(packet.at_s, parse_rtp(packet.data)))
        except RtpError:
            continue
    return Recording(tuple(sent), tuple(received))
