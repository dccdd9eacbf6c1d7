"""Leases of RTP ports, on real sockets and by hand-made instants."""

import socket
import time
from collections.abc import Iterator

import pytest

from media_bridge.errors import MediaError
from media_bridge.ports import NoPortError, PortPool
from media_bridge.settings import MediaSettings

HOST = "127.0.0.1"


def free_even_port(count: int = 2) -> int:
    """The first of `count` even ports that nobody has right now."""
    for start in range(31000, 60000, 2 * count):
        socks = []
        try:
            for port in range(start, start + 2 * count, 2):
                sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                socks.append(sock)
                sock.bind((HOST, port))
        except OSError:
            continue
        else:
            return start
        finally:
            for sock in socks:
                sock.close()
    raise AssertionError("no free ports")


@pytest.fixture
def start() -> int:
    return free_even_port()


@pytest.fixture
def pool(start: int) -> Iterator[PortPool]:
    """Two ports, resting 10 s."""
    with PortPool(MediaSettings(port_start=start, port_end=start + 3), HOST) as pool:
        yield pool


def send_to(port: int, data: bytes = b"late") -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(data, (HOST, port))


def test_ports_are_even_and_bound(pool: PortPool, start: int) -> None:
    first, second = pool.lease(0.0), pool.lease(0.0)
    assert {first.port, second.port} == {start, start + 2}
    assert first.sock.getsockname() == (HOST, first.port)
    assert pool.stats().leased == 2


def test_an_odd_start_is_rounded_up(start: int) -> None:
    with PortPool(MediaSettings(port_start=start - 1, port_end=start), HOST) as pool:
        assert pool.lease(0.0).port == start


def test_when_none_is_left_the_error_says_which_settings_to_change(pool: PortPool, start: int) -> None:
    pool.give_back(pool.lease(0.0), 0.0)
    pool.lease(0.0)
    with pytest.raises(
        NoPortError, match=rf"media\.port_start {start} .* 1 serve calls, 1 rest .*calls\.max_calls"
    ):
        pool.lease(9.9)
    assert issubclass(NoPortError, MediaError)


def test_a_used_port_rests_bound_and_drained(pool: PortPool, start: int) -> None:
    lease = pool.lease(0.0)
    pool.give_back(lease, 100.0)
    send_to(lease.port)
    time.sleep(0.01)
    pool.sweep(105.0)
    assert pool.stats().late_datagrams == 1
    with pytest.raises(OSError, match="in use"), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind((HOST, lease.port))


def test_after_its_rest_a_port_serves_again_and_hears_nothing_old(pool: PortPool) -> None:
    lease, _other = pool.lease(0.0), pool.lease(0.0)
    pool.give_back(lease, 0.0)
    for _ in range(20):
        send_to(lease.port)
    time.sleep(0.01)
    again = pool.lease(10.0)
    assert again.port == lease.port
    with pytest.raises(BlockingIOError):
        again.sock.recv(100)
    assert pool.stats().late_datagrams == 20


def test_the_port_unused_for_longest_comes_first(pool: PortPool) -> None:
    first = pool.lease(0.0)
    pool.give_back(first, 0.0)
    pool.sweep(10.0)
    assert pool.lease(10.0).port != first.port


def test_a_port_another_program_has_is_passed_over(pool: PortPool, start: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind((HOST, start))
        assert pool.lease(0.0).port == start + 2
        with pytest.raises(NoPortError, match="1 are taken by other programs"):
            pool.lease(0.0)
    assert pool.lease(0.0).port == start


def test_an_address_that_is_not_ours_is_named(start: int) -> None:
    settings = MediaSettings(bind_host="192.0.2.1", port_start=start, port_end=start + 2)
    with (
        PortPool(settings, "192.0.2.1") as pool,
        pytest.raises(NoPortError, match=r"media\.bind_host 192\.0\.2\.1"),
    ):
        pool.lease(0.0)


def test_leaving_closes_every_socket(start: int) -> None:
    with PortPool(MediaSettings(port_start=start, port_end=start + 3), HOST) as pool:
        leased, rested = pool.lease(0.0), pool.lease(0.0)
        pool.give_back(rested, 0.0)
    assert leased.sock.fileno() == rested.sock.fileno() == -1
