"""Captures of calls that never were: SIP and RTP as a tap would have written them, with sound at known instants."""

from collections.abc import Sequence

import numpy as np

from benchmarks.load_kit.pcap import HEADER, record
from caller_phone.g711 import encode
from caller_phone.rtp import PACKET_SAMPLES, SAMPLE_RATE, RtpPacket, pack
from caller_phone.sdp import Codec, Media, describe

HOST = "127.0.0.1"
SIPP, ASTERISK = (HOST, 5070), (HOST, 5060)
CALLER_MEDIA, ASTERISK_MEDIA = (HOST, 6000), (HOST, 7000)
EPOCH_NS = 1_790_000_000_000_000_000

Span = tuple[float, float]
"""From when to when somebody is heard, in seconds after the call was answered."""


def call(
    caller: Sequence[Span],
    bot: Sequence[Span],
    *,
    seconds: float = 12.0,
    setup_s: float = 0.05,
    bye: str | None = "caller",
    cause: int | None = None,
    status: int = 200,
    bot_jitter_s: Sequence[float] = (0.0,),
    lost: range = range(0),
) -> bytes:
    """One call of so many seconds after its answer. `bye`: who ends it. `bot_jitter_s` delays the bot's packets in
    turn, `lost` are the numbers of those that never come.
    """
    rows: list[tuple[float, bytes]] = []

    def put(at_s: float, source: tuple[str, int], target: tuple[str, int], data: bytes) -> None:
        rows.append((at_s, record(EPOCH_NS + round(at_s * 1e9), source, target, data)))

    offer = describe(Media(HOST, CALLER_MEDIA[1], (Codec.PCMU,)), 1)
    answer = describe(Media(HOST, ASTERISK_MEDIA[1], (Codec.PCMU,)), 2)
    put(0.0, SIPP, ASTERISK, _message("INVITE sip:1000@127.0.0.1 SIP/2.0", "1 INVITE", offer))
    put(
        setup_s,
        ASTERISK,
        SIPP,
        _message(f"SIP/2.0 {status} Said", "1 INVITE", answer if status < 300 else b""),
    )
    if status < 300:
        for spans, source, target, ssrc in (
            (caller, CALLER_MEDIA, ASTERISK_MEDIA, 1),
            (bot, ASTERISK_MEDIA, CALLER_MEDIA, 2),
        ):
            for number, payload in enumerate(_payloads(spans, seconds)):
                if ssrc == 2 and number in lost:
                    continue
                late_s = bot_jitter_s[number % len(bot_jitter_s)] if ssrc == 2 else 0.0
                packet = RtpPacket(0, number == 0, number, number * PACKET_SAMPLES, ssrc, payload)
                put(setup_s + number * 0.02 + late_s, source, target, pack(packet))
        if bye is not None:
            ends = (SIPP, ASTERISK) if bye == "caller" else (ASTERISK, SIPP)
            reason = f"Reason: Q.850;cause={cause}\r\n" if cause is not None else ""
            put(setup_s + seconds, *ends, _message("BYE sip:caller@127.0.0.1 SIP/2.0", "2 BYE", b"", reason))
            put(setup_s + seconds + 0.01, ends[1], ends[0], _message("SIP/2.0 200 OK", "2 BYE", b""))
    return HEADER + b"".join(row for _, row in sorted(rows, key=lambda row: row[0]))


def _payloads(spans: Sequence[Span], seconds: float) -> list[bytes]:
    """A tone of full strength in each span, exact to the sample, on a silent line."""
    length = round(seconds / 0.02) * PACKET_SAMPLES
    line = np.zeros(length, np.int16)
    for start_s, end_s in spans:
        start, end = round(start_s * SAMPLE_RATE), min(round(end_s * SAMPLE_RATE), length)
        # a cosine: its first sample is already loud
        at = np.arange(max(end - start, 0)) / SAMPLE_RATE
        line[start:end] = (12_000 * np.cos(2 * np.pi * 500 * at)).astype(np.int16)
    coded = encode(line, Codec.PCMU)
    return [coded[at : at + PACKET_SAMPLES] for at in range(0, length, PACKET_SAMPLES)]


def _message(start: str, cseq: str, body: bytes, extra: str = "") -> bytes:
    head = (
        f"{start}\r\nVia: SIP/2.0/UDP {HOST}:5070;branch=z9hG4bK-1\r\nFrom: <sip:caller@{HOST}>;tag=1\r\n"
        f"To: <sip:1000@{HOST}>;tag=2\r\nCall-ID: one@{HOST}\r\nCSeq: {cseq}\r\n{extra}"
        f"Content-Type: application/sdp\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
