"""Digest authentication, the client's side (RFC 8760 and RFC 7616 as SIP uses them). Pure."""

import hashlib
import re
from dataclasses import dataclass, field

from caller_phone.errors import SipError
from caller_phone.sip_message import Response

_PARAM = re.compile(r'([A-Za-z]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^\s,]+)')


@dataclass(frozen=True, slots=True)
class Credentials:
    user: str
    password: str = field(repr=False)


def authorise(response: Response, method: str, uri: str, who: Credentials, cnonce: str) -> tuple[str, str]:
    """The header field (name, value) that answers a 401 or 407.

    `cnonce` is a fresh random token. SipError if no challenge is one we can answer (Digest with MD5 or SHA-256).
    """
    asked, answered = (
        ("WWW-Authenticate", "Authorization")
        if response.status == 401
        else ("Proxy-Authenticate", "Proxy-Authorization")
    )
    for challenge in response.headers.all(asked):
        scheme, _, rest = challenge.strip().partition(" ")
        params = {name.lower(): value.strip('"') for name, value in _PARAM.findall(rest)}
        algorithm = params.get("algorithm", "MD5")
        if scheme.lower() == "digest" and algorithm.upper() in {"MD5", "SHA-256"} and "nonce" in params:
            return answered, _digest(params, algorithm, method, uri, who, cnonce)
    raise SipError(f"{response.status} without a Digest challenge of MD5 or SHA-256")


def _digest(
    params: dict[str, str], algorithm: str, method: str, uri: str, who: Credentials, cnonce: str
) -> str:
    def hashed(*parts: str) -> str:
        data = ":".join(parts).encode()
        # MD5 is what RFC 3261 telephony speaks; nothing here is kept or trusted by it
        return (hashlib.sha256(data) if algorithm.upper() == "SHA-256" else hashlib.md5(data)).hexdigest()  # noqa: S324

    realm, nonce = params.get("realm", ""), params["nonce"]
    secret, request = hashed(who.user, realm, who.password), hashed(method, uri)
    fields = [f'username="{who.user}"', f'realm="{realm}"', f'nonce="{nonce}"', f'uri="{uri}"']
    if "auth" in [quality.strip() for quality in params.get("qop", "").split(",")]:
        proof = hashed(secret, nonce, "00000001", cnonce, "auth", request)
        fields += ["qop=auth", "nc=00000001", f'cnonce="{cnonce}"']
    else:
        proof = hashed(secret, nonce, request)
    fields += [f'response="{proof}"', f"algorithm={algorithm}"]
    if "opaque" in params:
        fields.append(f'opaque="{params["opaque"]}"')
    return "Digest " + ", ".join(fields)
