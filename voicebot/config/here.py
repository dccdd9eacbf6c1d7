"""What this machine itself says about a configuration: names that are not known, addresses it does not have."""

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

from voicebot.config.checks import transports_in_use
from voicebot.config.media_addresses import (
    ADVERTISE,
    BIND,
    Finding,
    finding,
    is_loopback,
    unreachable,
)
from voicebot.config.model import Config


def check_here(config: Config) -> Iterator[Finding]:
    """For the machine that the call process runs on, of a configuration that `check` finds nothing wrong with.

    Asks the resolver; ari.url's own name may be unknown still, the call process tries that until it is there.
    """
    media, asterisk = config.media, urlsplit(config.ari.url).hostname or ""
    bind = _resolved(media.bind_host)
    if bind is None:
        yield finding(
            f"{media.bind_host} is not known here as a name: write an address of this machine", BIND
        )
    elif not _is_ours(bind):
        yield finding(
            f"{media.bind_host} is no address of this machine: write {_own_address(asterisk)}; where"
            " Asterisk reaches it at another (NAT), set media.bind_host to 0.0.0.0 and media.advertise_host to that",
            BIND,
        )
    if transports_in_use(config) == {"websocket"} or bind is None:
        return
    told = media.advertise_host
    address = None if told is None else _resolved(told)
    if told is not None and address is None:
        yield finding(
            f"{told!r} is not known as a name: write the address Asterisk reaches this machine at", ADVERTISE
        )
        return
    # a machine's own name is often a loopback address to itself (/etc/hosts)
    wrong = list(unreachable(media.model_copy(update={"bind_host": bind}), config.ari.url))
    yield from wrong
    here = config.asterisk.start and is_loopback(asterisk)
    if not wrong and here and address is not None and not _is_ours(address):
        yield finding(
            f"{told} is no address of this machine, where Asterisk is started and sends the sound: leave it out, or"
            " set asterisk.start to false and ari.url to the Asterisk that is meant",
            ADVERTISE,
        )


def _resolved(host: str) -> str | None:
    """Its first address; None when it has none."""
    try:
        return str(socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_DGRAM)[0][4][0])
    except (OSError, UnicodeError):
        return None


def _is_ours(address: str) -> bool:
    with socket.socket(_family(address), socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True


def _own_address(asterisk: str) -> str:
    """What this machine would reach Asterisk from: a connected UDP socket sends nothing, it only picks the way."""
    theirs = _resolved(asterisk)
    if theirs is None or is_loopback(theirs):
        return "127.0.0.1" if theirs is None or ":" not in theirs else "::1"
    with socket.socket(_family(theirs), socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((theirs, 9))
        except OSError:
            return "one that it has"
        return f"{probe.getsockname()[0]}, its own towards Asterisk at {asterisk}"


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET
