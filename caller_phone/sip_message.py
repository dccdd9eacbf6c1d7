"""SIP messages as bytes and back (RFC 3261 sections 7, 8 and 25). Pure.

`parse` raises SipError and nothing else, whatever the bytes: all that later code relies on (Via, From, To, Call-ID,
CSeq) is checked here once and kept in `ids`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from caller_phone.errors import SipError

SIP_PORT = 5060
Fields = tuple[tuple[str, str], ...]

# The largest UDP payload; a datagram can't be longer, a message we build must not be.
MAX_MESSAGE_BYTES = 65_507

_COMPACT = {
    "c": "content-type",
    "e": "content-encoding",
    "f": "from",
    "i": "call-id",
    "k": "supported",
    "l": "content-length",
    "m": "contact",
    "s": "subject",
    "t": "to",
    "v": "via",
}
_TOKEN = re.compile(r"[A-Za-z0-9\-.!%*_+`'~]+")
_STATUS_LINE = re.compile(r"SIP/2\.0 ([1-6][0-9][0-9]) (.*)")
_REQUEST_LINE = re.compile(r"([A-Z]{1,32}) (\S+) SIP/2\.0")
_CSEQ = re.compile(r"([0-9]{1,10})\s+([A-Za-z0-9\-.!%*_+`'~]+)")
_VIA = re.compile(r"SIP\s*/\s*2\.0\s*/\s*([A-Za-z0-9\-]+)\s+([^\s;,]+)\s*((?:;.*)?)")
# no two neighbouring repeats can match the same character, so hostile input costs linear time
_NAME_ADDR = re.compile(r'(?:"(?:[^"\\]|\\.)*")?[^<"]*<([^<>]*)>\s*((?:;.*)?)')
_URI = re.compile(r"sip:(?:([^@\s]*)@)?(\[[0-9A-Fa-f:.]+\]|[^:;?\s@\[\]]+)(?::([0-9]{1,5}))?([;?]\S*)?")
_MAX_CSEQ = 2**31


@dataclass(frozen=True, slots=True)
class Ids:
    """What tells transactions and dialogs apart. `method` is the one of CSeq."""

    branch: str
    sent_by: str
    call_id: str
    cseq: int
    method: str
    from_tag: str | None
    to_tag: str | None


@dataclass(frozen=True, slots=True)
class Headers:
    """Header fields in the order of the wire; names compare without case, compact forms are expanded."""

    fields: Fields

    def all(self, name: str) -> tuple[str, ...]:
        return tuple(value for key, value in self.fields if key.lower() == name.lower())

    def first(self, name: str) -> str | None:
        return next(iter(self.all(name)), None)

    def need(self, name: str) -> str:
        """The first value; SipError when the header is missing."""
        value = self.first(name)
        if value is None:
            raise SipError(f"no {name} header")
        return value


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    uri: str
    headers: Headers
    body: bytes
    ids: Ids


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    reason: str
    headers: Headers
    body: bytes
    ids: Ids


@dataclass(frozen=True, slots=True)
class SipUri:
    """A `sip:` URI (RFC 3261 section 19.1) over UDP; `host` without the brackets of IPv6."""

    user: str | None
    host: str
    port: int | None


def make_request(method: str, uri: str, fields: Iterable[tuple[str, str]], body: bytes = b"") -> Request:
    """A request of these header fields; SipError if one that every request needs is missing or malformed."""
    headers = Headers(tuple(fields))
    return Request(method, uri, headers, body, _ids(headers))


def make_response(
    request: Request,
    status: int,
    reason: str,
    to_tag: str | None = None,
    fields: Fields = (),
    body: bytes = b"",
) -> Response:
    """The answer to a request (RFC 3261 section 8.2.6): Via, From, To, Call-ID, CSeq and Record-Route copied."""
    to = request.headers.need("To")
    if to_tag is not None and request.ids.to_tag is None:
        to = f"{to};tag={to_tag}"
    copied: list[tuple[str, str]] = [("Via", via) for via in request.headers.all("Via")]
    copied += [("Record-Route", route) for route in request.headers.all("Record-Route")]
    copied += [("From", request.headers.need("From")), ("To", to)]
    copied += [("Call-ID", request.ids.call_id), ("CSeq", request.headers.need("CSeq")), *fields]
    headers = Headers(tuple(copied))
    return Response(status, reason, headers, body, _ids(headers))


def to_bytes(message: Request | Response) -> bytes:
    """The message for the wire, Content-Length added. SipError if a field holds a line break or it is too long."""
    if isinstance(message, Request):
        start = f"{message.method} {message.uri} SIP/2.0"
    else:
        start = f"SIP/2.0 {message.status} {message.reason}"
    lines = [start, *(f"{name}: {value}" for name, value in message.headers.fields)]
    lines.append(f"Content-Length: {len(message.body)}")
    if any("\r" in line or "\n" in line for line in lines):
        raise SipError("a header with a line break in it: check the names and addresses given")
    data = "\r\n".join(lines).encode("utf-8", "replace") + b"\r\n\r\n" + message.body
    if len(data) > MAX_MESSAGE_BYTES:
        raise SipError(f"a SIP message of {len(data)} bytes does not fit into a datagram")
    return data


def parse(datagram: bytes) -> Request | Response:
    """One datagram as a message. Raises SipError only."""
    head, separator, body = datagram.lstrip(b"\r\n").partition(b"\r\n\r\n")
    if not separator:
        raise SipError("no empty line after the headers")
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SipError("the headers are not UTF-8") from error
    start, *lines = re.sub(r"\r\n[ \t]+", " ", text).split("\r\n")
    headers = Headers(tuple(_field(line) for line in lines))
    body = _cut_body(headers, body)
    ids = _ids(headers)
    if status_line := _STATUS_LINE.fullmatch(start):
        return Response(int(status_line[1]), status_line[2], headers, body, ids)
    if request_line := _REQUEST_LINE.fullmatch(start):
        if request_line[1] != ids.method:
            raise SipError(f"a {request_line[1]} whose CSeq says {ids.method}")
        return Request(request_line[1], request_line[2], headers, body, ids)
    raise SipError("neither a SIP/2.0 request line nor a status line")


def parse_uri(text: str) -> SipUri:
    """A sip: URI. SipError for anything else (sips: and tel: included: this phone has UDP only)."""
    match = _URI.fullmatch(text.strip())
    if match is None:
        raise SipError(f"not a sip: URI (want sip:USER@HOST[:PORT]): {text[:80]!r}")
    port = None if match[3] is None else int(match[3])
    if port is not None and not 1 <= port <= 65535:
        raise SipError(f"no such port: {port}")
    return SipUri(match[1], match[2].strip("[]"), port)


def parse_name_addr(text: str) -> tuple[str, dict[str, str]]:
    """`"Name" <sip:...>;tag=x` or `sip:...;tag=x` as (URI, header parameters) (RFC 3261 section 20.10)."""
    if match := _NAME_ADDR.fullmatch(text.strip()):
        return match[1].strip(), _params(match[2])
    if "<" in text or '"' in text:
        raise SipError(f"not a name and address: {text[:80]!r}")
    uri, _, rest = text.strip().partition(";")
    if not uri:
        raise SipError("an empty address")
    return uri, _params(f";{rest}" if rest else "")


def split_list(values: Iterable[str]) -> list[str]:
    """Comma-separated header values as single ones; commas inside quotes or <> do not count."""
    return [
        part.strip()
        for value in values
        for part in re.findall(r'(?:"(?:[^"\\]|\\.)*"|<[^<>]*>|[^,"<])+', value)
    ]


def q850_cause(headers: Headers) -> int | None:
    """The Q.850 cause of the Reason header (RFC 3326), if there is one."""
    for value in split_list(headers.all("Reason")):
        protocol, _, rest = value.partition(";")
        cause = _params(f";{rest}").get("cause", "")
        if protocol.strip().upper() == "Q.850" and re.fullmatch(r"[0-9]{1,3}", cause):
            return int(cause)
    return None


def _field(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    name = name.rstrip(" \t")
    if not colon or not _TOKEN.fullmatch(name):
        raise SipError("a header line without a name")
    if any(ord(char) < 32 and char != "\t" for char in value):
        raise SipError(f"a control character in the {name} header")
    return _COMPACT.get(name.lower(), name), value.strip(" \t")


def _cut_body(headers: Headers, body: bytes) -> bytes:
    length = headers.first("Content-Length")
    if length is None:
        return body
    if not re.fullmatch(r"[0-9]{1,6}", length):
        raise SipError("Content-Length is not a number")
    # RFC 3261 section 18.3: what is longer is cut, what is shorter is an error
    if int(length) > len(body):
        raise SipError(f"Content-Length {length}, but {len(body)} bytes came")
    return body[: int(length)]


def _ids(headers: Headers) -> Ids:
    via = _VIA.fullmatch(next(iter(split_list([headers.need("Via")])), ""))
    if via is None:
        raise SipError("a malformed Via header")
    branch = _params(via[3]).get("branch", "")
    cseq = _CSEQ.fullmatch(headers.need("CSeq"))
    if cseq is None or int(cseq[1]) >= _MAX_CSEQ:
        raise SipError("a malformed CSeq header")
    _, from_params = parse_name_addr(headers.need("From"))
    _, to_params = parse_name_addr(headers.need("To"))
    call_id = headers.need("Call-ID")
    if not branch or not call_id:
        raise SipError("an empty branch or Call-ID")
    return Ids(
        branch,
        via[2],
        call_id,
        int(cseq[1]),
        cseq[2],
        from_params.get("tag") or None,
        to_params.get("tag") or None,
    )


def _params(text: str) -> dict[str, str]:
    params: dict[str, str] = {}
    for part in re.findall(r';\s*((?:"(?:[^"\\]|\\.)*"|[^;"])+)', text):
        name, _, value = part.partition("=")
        params[name.strip().lower()] = value.strip().strip('"')
    return params
