"""A dialog: what both ends remember of each other, and the requests built from it (RFC 3261 section 12). Pure."""

from dataclasses import dataclass

from caller_phone.errors import SipError
from caller_phone.sip_message import (
    Fields,
    Request,
    Response,
    make_request,
    parse_name_addr,
    parse_uri,
    split_list,
)

ALLOW = "INVITE, ACK, BYE, CANCEL, OPTIONS"
AGENT = "caller-phone"


@dataclass(slots=True)
class Dialog:
    """`local` and `remote` are From/To values without their tags; `target` is the far end's Contact."""

    here: str
    """Our host:port, for Via and Contact."""
    user: str
    call_id: str
    local: str
    remote: str
    local_tag: str
    target: str
    remote_tag: str | None = None
    route: tuple[str, ...] = ()
    cseq: int = 0

    @classmethod
    def answering(cls, invite: Request, here: str, user: str, local_tag: str) -> "Dialog":
        """The dialog of a call that came in. SipError when the INVITE has no usable Contact."""
        return cls(
            here=here,
            user=user,
            call_id=invite.ids.call_id,
            local=_without_tag(invite.headers.need("To")),
            remote=_without_tag(invite.headers.need("From")),
            local_tag=local_tag,
            target=_contact(invite),
            remote_tag=invite.ids.from_tag,
            route=tuple(split_list(invite.headers.all("Record-Route"))),
        )

    @property
    def contact(self) -> tuple[str, str]:
        return "Contact", f"<sip:{self.user}@{self.here}>"

    def request(self, method: str, branch: str, extra: Fields = (), body: bytes = b"") -> Request:
        """The next request of this dialog; the CSeq number grows by one."""
        self.cseq += 1
        return self._request(method, self.cseq, branch, extra, body)

    def accepted(self, response: Response) -> None:
        """A 2xx to our INVITE makes the dialog (section 12.1.2). SipError when it has no usable Contact."""
        self.remote_tag = response.ids.to_tag
        self.route = tuple(reversed(split_list(response.headers.all("Record-Route"))))
        self.target = _contact(response)

    def refreshed(self, invite: Request) -> None:
        """A re-INVITE may move the far end's Contact (section 12.2.2)."""
        if invite.headers.first("Contact") is not None:
            self.target = _contact(invite)

    def ack(self, cseq: int, branch: str) -> Request:
        """The ACK of a 2xx: a request of its own (section 13.2.2.4), with the CSeq number of its INVITE."""
        return self._request("ACK", cseq, branch, (), b"")

    def next_hop(self) -> str:
        """The URI whose address the next request goes to: the first route, else the target."""
        return parse_name_addr(self.route[0])[0] if self.route else self.target

    def _request(self, method: str, cseq: int, branch: str, extra: Fields, body: bytes) -> Request:
        to = self.remote if self.remote_tag is None else f"{self.remote};tag={self.remote_tag}"
        fields: list[tuple[str, str]] = [
            ("Via", f"SIP/2.0/UDP {self.here};rport;branch={branch}"),
            ("Max-Forwards", "70"),
            *(("Route", route) for route in self.route),
            ("From", f"{self.local};tag={self.local_tag}"),
            ("To", to),
            ("Call-ID", self.call_id),
            ("CSeq", f"{cseq} {method}"),
            self.contact,
            ("User-Agent", AGENT),
            ("Allow", ALLOW),
            *extra,
        ]
        return make_request(method, self.target, fields, body)


def cancel_of(invite: Request) -> Request:
    """The CANCEL of an INVITE: same branch, address and CSeq number (section 9.1)."""
    return _companion(invite, "CANCEL", invite.headers.need("To"))


def ack_of_failure(invite: Request, response: Response) -> Request:
    """The ACK of a 3xx-6xx: part of the INVITE's own transaction (section 17.1.1.3)."""
    return _companion(invite, "ACK", response.headers.need("To"))


def _companion(invite: Request, method: str, to: str) -> Request:
    headers = invite.headers
    fields = [
        ("Via", headers.need("Via")),
        ("Max-Forwards", "70"),
        *(("Route", route) for route in headers.all("Route")),
        ("From", headers.need("From")),
        ("To", to),
        ("Call-ID", invite.ids.call_id),
        ("CSeq", f"{invite.ids.cseq} {method}"),
    ]
    return make_request(method, invite.uri, fields)


def _contact(message: Request | Response) -> str:
    contacts = split_list([message.headers.need("Contact")])
    if not contacts:
        raise SipError("an empty Contact header")
    uri, _ = parse_name_addr(contacts[0])
    parse_uri(uri)
    return uri


def _without_tag(value: str) -> str:
    uri, params = parse_name_addr(value)
    if "tag" not in params:
        return value
    # the display name is ours to repeat, but no check needs it
    return f"<{uri}>"
