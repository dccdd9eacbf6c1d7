"""Whether Asterisk can send a call's sound where it would be told to. Pure: names are looked up in `here`."""

import ipaddress
from collections.abc import Iterator
from urllib.parse import urlsplit

from media_bridge.settings import MediaSettings
from voicebot.config.source import KeyPath, Problem

Finding = tuple[Problem, tuple[KeyPath, ...]]

BIND, ADVERTISE, URL = ("media", "bind_host"), ("media", "advertise_host"), ("ari", "url")


def finding(message: str, *paths: KeyPath) -> Finding:
    """`message` about the first of `paths`; the others are what it contradicts."""
    return Problem(paths[0], message), paths


def address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """None for a name."""
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    address = address_of(host)
    return host == "localhost" if address is None else address.is_loopback


def is_any(host: str) -> bool:
    """True for 0.0.0.0 and ::, which are fit for listening and for nothing else."""
    address = address_of(host)
    return address is not None and address.is_unspecified


def unreachable(media: MediaSettings, ari_url: str) -> Iterator[Finding]:
    """The first reason why no sound would come."""
    bind, advertise = media.bind_host, media.advertise_host
    asterisk = urlsplit(ari_url).hostname or ""
    if advertise is None and is_any(bind):
        message = (
            f"is missing while media.bind_host is {bind}: name the address Asterisk reaches this machine at"
        )
        yield finding(message, ADVERTISE, BIND)
        return
    told, key = (bind, BIND) if advertise is None else (advertise, ADVERTISE)
    address = address_of(told)
    if address is not None and (address.is_unspecified or address.is_multicast or _is_broadcast(told)):
        yield finding(f"{told} is no address to send to: name the one Asterisk reaches this machine at", key)
    elif is_loopback(told) and not is_loopback(asterisk):
        message = (
            f"Asterisk at {asterisk} (ari.url) cannot send sound to {told}: set media.bind_host to"
            " 0.0.0.0 and media.advertise_host to the address Asterisk reaches this machine at"
        )
        yield finding(message, key, URL)
    elif advertise is not None:
        yield from _never_arrives(bind, advertise)


def _never_arrives(bind: str, advertise: str) -> Iterator[Finding]:
    """What is sent to the one address and awaited on the other."""
    ours, told = address_of(bind), address_of(advertise)
    if is_loopback(bind) and not is_loopback(advertise):
        everywhere = "::" if ":" in advertise else "0.0.0.0"  # noqa: S104 - advice, not bound
        message = (
            f"nothing that Asterisk sends to {advertise} (media.advertise_host) arrives on {bind}: set it to"
            f" {everywhere}, or to the address of this machine that it is forwarded to"
        )
        yield finding(message, BIND, ADVERTISE)
    elif ours is not None and told is not None and ours.version != told.version:
        message = (
            f"{advertise} is IPv{told.version}, but sound is received on IPv{ours.version} (media.bind_host {bind}):"
            f" write an IPv{ours.version} address, or set media.bind_host to"
            f" {'::' if told.version == 6 else '0.0.0.0'}"  # noqa: S104 - advice, not bound
        )
        yield finding(message, ADVERTISE, BIND)


def _is_broadcast(host: str) -> bool:
    return host == "255.255.255.255"
