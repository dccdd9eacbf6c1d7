"""Where what listens is reached."""

import ipaddress
from contextlib import suppress


def reachable(host: str) -> str:
    """`host`, a name or an address to listen on, as a URL of this machine has it.

    0.0.0.0 and :: are no addresses to connect to; IPv6 stands in brackets (RFC 3986 section 3.2.2).
    """
    with suppress(ValueError):  # a name
        address = ipaddress.ip_address(host)
        if address.is_unspecified:
            host = "127.0.0.1" if address.version == 4 else "::1"
    return f"[{host}]" if ":" in host else host
