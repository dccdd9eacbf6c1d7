"""RTP over UDP on real sockets: who is heard, what is sent, and what the network may do to us."""

import errno
import logging
import os
import socket
import time
from collections.abc import Iterator
from typing import Any, Literal

import pytest

from media_bridge.errors import MediaError
from media_bridge.log_gate import LogGate
from media_bridge.rtp import RtpPacket, build, parse
from media_bridge.udp import RtpSocket
from tests.support.relay import Impairment, Network

HOST = "127.0.0.1"
ULAW_SILENCE = b"\xff" * 160


def udp_socket(host: str = HOST, family: int = socket.AF_INET) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_DGRAM)
    sock.bind((host, 0))
    sock.settimeout(1)
    return sock


def packet(sequence: int, payload: bytes = ULAW_SILENCE) -> bytes:
    return build(RtpPacket(0, sequence, 160 * sequence, 7, payload))


@pytest.fixture
def peer() -> Iterator[socket.socket]:
    with udp_socket() as sock:
        yield sock


@pytest.fixture
def stranger() -> Iterator[socket.socket]:
    with udp_socket() as sock:
        yield sock


@pytest.fixture
def bot() -> Iterator[socket.socket]:
    with udp_socket() as sock:
        sock.setblocking(False)
        yield sock


@pytest.fixture
def transport(bot: socket.socket) -> RtpSocket:
    return RtpSocket("call-1", bot, 0, LogGate(), time.monotonic)


def sequences(transport: RtpSocket) -> list[int]:
    return [packet.sequence for packet, _arrived in transport.receive()]


class TestReceiving:
    def test_nothing_is_heard_before_the_peer_is_known(
        self, transport: RtpSocket, bot: socket.socket, peer: socket.socket
    ) -> None:
        peer.sendto(packet(1), bot.getsockname())
        assert sequences(transport) == []
        assert transport.dropped == {"no_peer": 1}

    def test_another_port_of_the_same_host_is_not_heard(
        self, transport: RtpSocket, bot: socket.socket, peer: socket.socket, stranger: socket.socket
    ) -> None:
        transport.set_peer(*peer.getsockname())
        stranger.sendto(packet(1), bot.getsockname())
        assert sequences(transport) == []
        assert transport.dropped == {"wrong_source": 1}
        peer.sendto(packet(2), bot.getsockname())
        assert sequences(transport) == [2]

    def test_once_the_peer_was_heard_the_kernel_turns_strangers_away(
        self, transport: RtpSocket, bot: socket.socket, peer: socket.socket, stranger: socket.socket
    ) -> None:
        transport.set_peer(*peer.getsockname())
        peer.sendto(packet(1), bot.getsockname())
        assert sequences(transport) == [1]
        # far more than the receive buffer holds: the peer's packet would find no room behind them
        for _ in range(5000):
            stranger.sendto(bytes(1400), bot.getsockname())
        peer.sendto(packet(2), bot.getsockname())
        assert sequences(transport) == [2]
        assert not transport.dropped

    def test_a_flood_is_turned_away_by_the_kernel_before_the_peer_was_heard(
        self, transport: RtpSocket, bot: socket.socket, peer: socket.socket, stranger: socket.socket
    ) -> None:
        transport.set_peer(*peer.getsockname())
        for _ in range(40):
            stranger.sendto(packet(1), bot.getsockname())
        assert sequences(transport) == []
        assert transport.dropped == {"wrong_source": 40}
        for _ in range(5000):
            stranger.sendto(bytes(1400), bot.getsockname())
        peer.sendto(packet(2), bot.getsockname())
        assert sequences(transport) == [2]
        assert transport.dropped == {"wrong_source": 40}

    def test_an_asterisk_behind_another_address_is_told_of_for_as_long_as_it_sends(
        self, transport: RtpSocket, bot: socket.socket, peer: socket.socket, stranger: socket.socket
    ) -> None:
        transport.set_peer(*peer.getsockname())
        for tick in range(1, 100):
            stranger.sendto(packet(tick), bot.getsockname())
            assert sequences(transport) == []
            assert transport.dropped == {"wrong_source": tick}

    def test_another_address_is_not_heard(
        self, transport: RtpSocket, bot: socket.socket, peer: socket.socket
    ) -> None:
        transport.set_peer(*peer.getsockname())
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.bind(("127.0.0.2", peer.getsockname()[1]))
            other.sendto(packet(1), bot.getsockname())
        assert sequences(transport) == []
        assert transport.dropped == {"wrong_source": 1}

    @pytest.mark.parametrize(
        ("datagram", "why"),
        [
            (b"", "short"),
            (b"\x80\x00\x01", "short"),
            (b"\x00" * 20, "version"),
            (b"\x80\xc8" + bytes(26), "rtcp"),
            (b"\x8f\x00" + bytes(12), "csrc"),
        ],
    )
    def test_what_is_no_packet_is_counted_by_reason(
        self, transport: RtpSocket, bot: socket.socket, peer: socket.socket, datagram: bytes, why: str
    ) -> None:
        transport.set_peer(*peer.getsockname())
        peer.sendto(datagram, bot.getsockname())
        peer.sendto(packet(2), bot.getsockname())
        assert sequences(transport) == [2]
        assert transport.dropped == {why: 1}

    def test_packets_carry_the_instant_they_arrived_not_the_one_they_were_read(
        self, transport: RtpSocket, bot: socket.socket, peer: socket.socket
    ) -> None:
        transport.set_peer(*peer.getsockname())
        for sequence in range(3):
            peer.sendto(packet(sequence), bot.getsockname())
            time.sleep(0.02)
        read_at = time.monotonic()
        arrivals = [arrived for _packet, arrived in transport.receive()]
        gaps = [later - earlier for earlier, later in zip(arrivals, [*arrivals[1:], read_at], strict=True)]
        assert all(gap > 0.015 for gap in gaps), gaps

    @pytest.mark.parametrize("step_s", [3.0, 0.3, -3.0])
    def test_a_wall_clock_that_is_set_while_a_packet_waits_moves_it_by_a_tick_at_most(
        self,
        transport: RtpSocket,
        bot: socket.socket,
        peer: socket.socket,
        monkeypatch: pytest.MonkeyPatch,
        step_s: float,
    ) -> None:
        """A packet that seems to be faster than all before it would move the jitter buffer's playhead."""
        transport.set_peer(*peer.getsockname())
        read_before = time.monotonic()
        assert transport.receive() == []
        peer.sendto(packet(1), bot.getsockname())
        wall = time.time
        monkeypatch.setattr("media_bridge.udp.time.time", lambda: wall() + step_s)
        ((_, arrived),) = transport.receive()
        assert read_before <= arrived <= time.monotonic()

    def test_a_packet_that_found_no_turn_keeps_its_stamp(
        self,
        transport: RtpSocket,
        bot: socket.socket,
        peer: socket.socket,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """A tick reads so many and no more: what is left over came before it."""
        monkeypatch.setattr("media_bridge.udp._MAX_DATAGRAMS", 2)
        transport.set_peer(*peer.getsockname())
        for sequence in range(3):
            peer.sendto(packet(sequence), bot.getsockname())
        sent_at = time.monotonic()
        assert sequences(transport) == [0, 1]
        time.sleep(0.02)
        ((_, arrived),) = transport.receive()
        assert arrived <= sent_at

    def test_a_flood_writes_one_line(
        self,
        transport: RtpSocket,
        bot: socket.socket,
        peer: socket.socket,
        stranger: socket.socket,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        transport.set_peer(*peer.getsockname())
        for _ in range(100):
            stranger.sendto(b"garbage", bot.getsockname())
            peer.sendto(b"garbage", bot.getsockname())
        with caplog.at_level(logging.DEBUG):
            assert sequences(transport) == []
        assert transport.dropped == {"wrong_source": 100, "version": 100}
        assert len(caplog.records) == 1
        assert "address translation" in caplog.text

    def test_one_tick_reads_only_so_much(
        self, transport: RtpSocket, bot: socket.socket, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # less than the smallest receive buffer holds
        monkeypatch.setattr("media_bridge.udp._MAX_DATAGRAMS", 100)
        with udp_socket() as sender:
            for _ in range(150):
                sender.sendto(b"x", bot.getsockname())
        transport.receive()
        assert transport.dropped == {"no_peer": 100}


class TestSending:
    def test_nothing_is_sent_before_the_peer_is_known(self, transport: RtpSocket) -> None:
        transport.send(ULAW_SILENCE, 160)
        assert transport.packets_out == 0

    def test_numbers_go_on_without_a_hole(self, transport: RtpSocket, peer: socket.socket) -> None:
        transport.set_peer(*peer.getsockname())
        transport.send(ULAW_SILENCE, 160, marker=True)
        transport.send(ULAW_SILENCE, 160)
        transport.send(ULAW_SILENCE, 160, left_out=480)
        first, second, third = (parse(peer.recv(2048)) for _ in range(3))
        assert [(second.sequence - first.sequence) % 65536, (third.sequence - first.sequence) % 65536] == [
            1,
            2,
        ]
        assert [
            (second.timestamp - first.timestamp) % 2**32,
            (third.timestamp - second.timestamp) % 2**32,
        ] == [
            160,
            640,
        ]
        assert [first.marker, second.marker, third.marker] == [True, False, False]
        assert len({first.ssrc, second.ssrc, third.ssrc}) == 1
        assert (first.payload_type, first.payload) == (0, ULAW_SILENCE)

    def test_two_calls_do_not_begin_with_the_same_numbers(
        self, bot: socket.socket, peer: socket.socket
    ) -> None:
        numbers = set()
        for _ in range(2):
            transport = RtpSocket("call", bot, 0, LogGate(), time.monotonic)
            transport.set_peer(*peer.getsockname())
            transport.send(ULAW_SILENCE, 160)
            sent = parse(peer.recv(2048))
            numbers.add((sent.sequence, sent.timestamp, sent.ssrc))
        assert len(numbers) == 2

    def test_a_closed_port_of_the_peer_is_counted_and_sending_goes_on(
        self, transport: RtpSocket, bot: socket.socket, caplog: pytest.LogCaptureFixture
    ) -> None:
        with udp_socket() as gone:
            address = gone.getsockname()
            transport.set_peer(*address)
            gone.sendto(packet(1), bot.getsockname())
            assert sequences(transport) == [1]
        for _ in range(10):
            transport.send(ULAW_SILENCE, 160)
            assert sequences(transport) == []
        # each ICMP error comes back once, at the next use of the socket
        assert transport.send_errors + transport.receive_errors >= 5
        # this is how the end of every call looks, so it is no warning
        assert caplog.records == []
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as back:
            back.bind(address)
            back.settimeout(1)
            transport.receive()
            transport.send(ULAW_SILENCE, 160)
            assert parse(back.recv(2048)).payload == ULAW_SILENCE

    def test_a_packet_the_system_refuses_is_counted_and_its_number_is_lost(
        self, transport: RtpSocket, peer: socket.socket
    ) -> None:
        transport.set_peer(*peer.getsockname())
        transport.send(ULAW_SILENCE, 160)
        # no datagram can be that long
        transport.send(bytes(70_000), 160)
        transport.send(ULAW_SILENCE, 160)
        first, third = (parse(peer.recv(2048)) for _ in range(2))
        assert (third.sequence - first.sequence) % 65536 == 2
        assert (transport.send_errors, transport.packets_out) == (1, 2)

    @pytest.mark.parametrize("connected", [False, True])
    @pytest.mark.parametrize("code", [errno.ENOBUFS, errno.EPERM, errno.ENETUNREACH, errno.EMSGSIZE])
    def test_a_way_out_that_is_blocked_is_counted_and_written_once(
        self, peer: socket.socket, caplog: pytest.LogCaptureFixture, code: int, connected: bool
    ) -> None:
        class Blocked(socket.socket):
            """A full queue of the network card, a firewall, no route."""

            blocked = True

            def send(self, *arguments: Any) -> int:
                if self.blocked:
                    raise OSError(code, os.strerror(code))
                return super().send(*arguments)

            def sendto(self, *arguments: Any) -> int:
                if self.blocked:
                    raise OSError(code, os.strerror(code))
                return super().sendto(*arguments)

        with Blocked(socket.AF_INET, socket.SOCK_DGRAM) as bot:
            bot.bind((HOST, 0))
            bot.setblocking(False)
            transport = RtpSocket("call-1", bot, 0, LogGate(), time.monotonic)
            transport.set_peer(*peer.getsockname())
            if connected:
                peer.sendto(packet(1), bot.getsockname())
                assert sequences(transport) == [1]
            for _ in range(50):
                transport.send(ULAW_SILENCE, 160)
            assert (transport.send_errors, transport.packets_out) == (50, 0)
            assert [record.message.split(": ", 1)[1] for record in caplog.records] == [
                f"cannot send to {peer.getsockname()}: {os.strerror(code)}"
            ]
            bot.blocked = False
            transport.send(ULAW_SILENCE, 160)
            assert parse(peer.recv(2048)).payload == ULAW_SILENCE


class TestPeer:
    @pytest.mark.parametrize("host", ["asterisk.example.org", "::1", ""])
    def test_a_peer_that_cannot_be_one_is_refused(self, transport: RtpSocket, host: str) -> None:
        with pytest.raises(MediaError, match=r"media\.bind_host is an IPv4 address"):
            transport.set_peer(host, 4000)

    def test_ipv6_addresses_match_however_they_are_written(self) -> None:
        with udp_socket("::1", socket.AF_INET6) as bot, udp_socket("::1", socket.AF_INET6) as peer:
            bot.setblocking(False)
            transport = RtpSocket("call", bot, 0, LogGate(), time.monotonic)
            transport.set_peer("0:0:0:0:0:0:0:1", peer.getsockname()[1])
            peer.sendto(packet(5), bot.getsockname())
            assert sequences(transport) == [5]
            transport.send(ULAW_SILENCE, 160)
            assert parse(peer.recv(2048)).payload == ULAW_SILENCE

    def test_the_peer_may_move(self, transport: RtpSocket, bot: socket.socket, peer: socket.socket) -> None:
        transport.set_peer(*peer.getsockname())
        peer.sendto(packet(1), bot.getsockname())
        assert sequences(transport) == [1]
        with udp_socket() as moved:
            transport.set_peer(*moved.getsockname())
            peer.sendto(packet(2), bot.getsockname())
            moved.sendto(packet(3), bot.getsockname())
            assert sequences(transport) == [3]


class TestBadNetwork:
    """The relay's own dice: tests lean on them."""

    @staticmethod
    def through(impairment: Impairment, count: int, seed: int = 1) -> list[tuple[float, int]]:
        network = Network(impairment, seed)
        arrived = [out for n in range(count) for out in network.carry(packet(n), n * 0.02)]
        return [(at, parse(data).sequence) for at, data in sorted(arrived, key=lambda pair: pair[0])]

    def test_a_good_network_changes_nothing(self) -> None:
        assert self.through(Impairment(), 50) == [(n * 0.02, n) for n in range(50)]

    def test_loss_is_repeatable(self) -> None:
        once, again = (self.through(Impairment(loss=0.1), 1000) for _ in range(2))
        assert once == again
        assert 850 < len(once) < 950
        assert self.through(Impairment(loss=0.1), 1000, seed=2) != once

    def test_a_burst_loses_just_those(self) -> None:
        assert [n for _at, n in self.through(Impairment(lost=range(3, 6)), 8)] == [0, 1, 2, 6, 7]

    def test_duplicates(self) -> None:
        assert [n for _at, n in self.through(Impairment(duplicate=1.0), 3)] == [0, 0, 1, 1, 2, 2]

    def test_reordering_lets_others_pass(self) -> None:
        assert [n for _at, n in self.through(Impairment(reorder_every=3, reorder_by=2), 8)] == [
            0,
            1,
            3,
            4,
            2,
            6,
            7,
            5,
        ]

    @pytest.mark.parametrize("shape", ["exponential", "normal", "pareto"])
    def test_jitter_delays_and_keeps_the_order(
        self, shape: Literal["exponential", "normal", "pareto"]
    ) -> None:
        arrived = self.through(Impairment(jitter_ms=60, shape=shape), 500)
        delays = [at - n * 0.02 for at, n in arrived]
        assert [n for _at, n in arrived] == list(range(500))
        assert min(delays) >= 0
        assert max(delays) > 0.1

    def test_chance_befalls_only_the_packets_it_may(self) -> None:
        arrived = self.through(Impairment(loss=1.0, duplicate=1.0, during=range(10, 20)), 30)
        assert arrived == [(n * 0.02, n) for n in range(30) if not 10 <= n < 20]

    def test_a_datagram_may_become_others(self) -> None:
        arrived = self.through(Impairment(rewrite=lambda data: [data, data], lost=range(3, 4)), 3)
        assert [n for _at, n in arrived] == [0, 0, 1, 2, 2]

    def test_a_jump_changes_the_numbers_from_there_on(self) -> None:
        network = Network(Impairment(jump_at=1, new_ssrc=9, sequence_jump=20_000, timestamp_jump=-1), 1)
        before, after = (parse(network.carry(packet(n), 0.0)[0][1]) for n in range(2))
        assert (before.ssrc, before.sequence, before.timestamp) == (7, 0, 0)
        assert (after.ssrc, after.sequence, after.timestamp) == (9, 20_001, 159)
