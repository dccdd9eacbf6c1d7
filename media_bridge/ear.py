"""One call's hearing: from the peer's packets to 20 ms frames, and from frames to what the caller does."""

from collections import Counter

from media_bridge.conceal import Concealer
from media_bridge.endpoint import Endpoint
from media_bridge.events import EndpointEvent, Utterance
from media_bridge.g711 import CODECS
from media_bridge.jitter import Frame, JitterBuffer, Lost
from media_bridge.playout import FRAME_BYTES
from media_bridge.rtp import RtpPacket
from media_bridge.settings import MediaSettings
from media_bridge.source import SourceGuard, Verdict
from media_bridge.stats import MediaStats
from media_bridge.udp import RtpTransport
from media_bridge.vad import Vad

_SILENCE = bytes(FRAME_BYTES)
_SIGNS_OF_LIFE = frozenset({Verdict.ACCEPT, Verdict.RESTART, Verdict.NOT_VOICE})
_NOT_HEARD = {Verdict.NOT_VOICE: "not_voice", Verdict.UNKNOWN_TYPE: "unknown_type"}


class Ear:
    """From the peer's packets to 20 ms frames of pcm, and from frames to what the caller does."""

    def __init__(self, settings: MediaSettings, vad: Vad) -> None:
        codec = CODECS[settings.codec]
        self._decode = codec.decode
        self._guard = SourceGuard(codec.payload_type)
        self._jitter = JitterBuffer(settings.jitter, bytes_per_sample=codec.bytes_per_sample)
        self._concealer = Concealer()
        self._vad = vad
        self._endpoint = Endpoint(settings.endpoint, settings.voice)
        self._concealed = 0
        self.last_packet_at: float | None = None

    def put(self, packet: RtpPacket, arrived: float) -> None:
        """Take a packet from the peer's address."""
        verdict = self._guard.accept(packet, arrived)
        if verdict in _SIGNS_OF_LIFE:
            self.last_packet_at = arrived
        if verdict is Verdict.ACCEPT:
            self._jitter.put(packet, arrived)
        elif verdict is Verdict.RESTART:
            self._jitter.restart()
            for held, held_at in self._guard.held:
                self._jitter.put(held, held_at)

    def frame(self, now: float) -> bytes:
        """The next 20 ms of the caller. Call it once each 20 ms."""
        taken = self._jitter.take(now)
        if isinstance(taken, Frame):
            return self._concealer.good(self._decode(taken.payload))
        if isinstance(taken, Lost):
            self._concealed += 1
            return self._concealer.lost()
        return self._concealer.good(_SILENCE)

    def listen(self, pcm: bytes, now: float, bot_level_dbfs: float | None) -> list[EndpointEvent]:
        """What this frame says about the caller's speech."""
        return self._endpoint.feed(pcm, self._vad.feed(pcm), now, bot_level_dbfs)

    def so_far(self) -> Utterance | None:
        return self._endpoint.so_far()

    def set_end_wait(self, utterance: int, wait_ms: int) -> None:
        self._endpoint.set_end_wait(utterance, wait_ms)

    def stats(self, transport: RtpTransport, skipped: int, max_late_ms: float, underruns: int) -> MediaStats:
        source, jitter = self._guard.stats, self._jitter.stats
        dropped = Counter(transport.dropped)
        for verdict, why in _NOT_HEARD.items():
            dropped[why] += source.verdicts.get(verdict, 0)
        dropped["empty"] += jitter.empty
        dropped["overflow"] += jitter.overflow
        return MediaStats(
            packets_in=transport.packets_in,
            packets_out=transport.packets_out,
            lost=source.lost,
            late=jitter.late,
            duplicates=source.verdicts.get(Verdict.DUPLICATE, 0) + jitter.duplicate,
            concealed=self._concealed,
            jitter_ms=source.jitter_ms,
            underruns=underruns,
            dropped={why: count for why, count in dropped.items() if count},
            send_errors=transport.send_errors,
            receive_errors=transport.receive_errors,
            skipped=skipped,
            max_late_ms=max_late_ms,
        )
