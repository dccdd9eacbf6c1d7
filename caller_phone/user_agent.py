"""SIP over one UDP socket: the shell around the transaction machines.

It moves datagrams and looks at the clock; what is sent again and when is decided in `transaction`.
"""

import asyncio
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType

from caller_phone.dialog import ack_of_failure
from caller_phone.errors import CallFailed
from caller_phone.media import Address
from caller_phone.sip_message import (
    SIP_PORT,
    Fields,
    Request,
    Response,
    SipUri,
    make_response,
    to_bytes,
)
from caller_phone.sip_socket import SipSocket
from caller_phone.transaction import Action, Event, Kind, State, Timers, Transaction


@dataclass(slots=True)
class ClientExchange:
    """A request of ours and what was answered so far."""

    request: Request
    peer: Address
    transaction: Transaction
    provisional: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    final: Response | None = None
    failure: CallFailed | None = None

    async def answer(self) -> Response:
        """The final response. CallFailed when none came, saying why."""
        await self.over.wait()
        if self.final is None:
            raise self.failure or CallFailed(None, "the phone was closed before an answer came")
        return self.final


@dataclass(slots=True)
class ServerExchange:
    """A request of the far end, to be answered once with `UserAgent.answer` (after any number of 1xx)."""

    request: Request
    peer: Address
    transaction: Transaction
    acknowledged: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)


class UserAgent:
    """`async with UserAgent(host, port, timers, on_request) as agent`.

    `on_request` gets every new request and every ACK that belongs to a 2xx, in the loop's thread; it must not block.
    """

    def __init__(
        self, host: str, port: int, timers: Timers, on_request: Callable[[ServerExchange], None]
    ) -> None:
        self._socket = SipSocket(host, port, self._take, self._unreachable)
        self._timers = timers
        self._on_request = on_request
        self._clients: dict[tuple[str, str], ClientExchange] = {}
        self._servers: dict[tuple[str, str, str], ServerExchange] = {}
        self._alarm: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> "UserAgent":
        self._loop = asyncio.get_running_loop()
        self._socket.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()
        if self._alarm is not None:
            self._alarm.cancel()
        for exchange in self._clients.values():
            exchange.over.set()

    @property
    def address(self) -> Address:
        return self._socket.address

    @property
    def patience_s(self) -> float:
        """How long the far end may take to react to anything (64*T1)."""
        return self._timers.give_up_s

    @property
    def here(self) -> str:
        """host:port as it stands in Via and Contact."""
        host, port = self.address
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    @staticmethod
    def new_branch() -> str:
        # the magic cookie of RFC 3261 section 8.1.1.7
        return "z9hG4bK" + secrets.token_hex(8)

    async def resolve(self, uri: SipUri) -> Address:
        """The address of a URI's host (A or AAAA record only). CallFailed when the name is not known."""
        port = uri.port or SIP_PORT
        try:
            found = await self._loop.getaddrinfo(
                uri.host, port, family=self._socket.family, type=socket.SOCK_DGRAM
            )
        except (OSError, UnicodeError) as error:
            raise CallFailed(None, f"can't find the host {uri.host}: {error}; check the name") from error
        return str(found[0][4][0]), port

    def send(self, message: Request | Response, peer: Address) -> bytes:
        """One message outside of any transaction (the ACK of a 2xx)."""
        data = to_bytes(message)
        self._socket.send(data, peer)
        return data

    def start(self, request: Request, peer: Address) -> ClientExchange:
        """Send a request of ours in a transaction of its own."""
        kind = Kind.INVITE_CLIENT if request.method == "INVITE" else Kind.CLIENT
        transaction = Transaction(kind, self._timers, self._loop.time(), message=to_bytes(request))
        exchange = ClientExchange(request, peer, transaction)
        self._clients[request.ids.branch, request.method] = exchange
        self._socket.send(transaction.message, peer)
        self._set_alarm()
        return exchange

    def answer(
        self,
        exchange: ServerExchange,
        status: int,
        reason: str,
        to_tag: str | None = None,
        fields: Fields = (),
        body: bytes = b"",
    ) -> None:
        """A response to a request of the far end, sent again for as long as the machine says."""
        response = make_response(exchange.request, status, reason, to_tag, fields, body)
        data = to_bytes(response)
        event = Event.PROVISIONAL if status < 200 else Event.SUCCESS if status < 300 else Event.FAILURE
        actions = exchange.transaction.step(event, self._loop.time())
        # a second final answer (we took the call while the caller gave up) changes nothing
        if Action.SEND in actions:
            exchange.transaction.message = data
        self._act_server(exchange, actions)
        self._set_alarm()

    def _take(self, message: Request | Response, peer: Address) -> None:
        if isinstance(message, Response):
            self._take_response(message)
        elif message.method == "ACK":
            self._take_ack(message, peer)
        else:
            self._take_request(message, peer)
        self._set_alarm()

    def _take_response(self, response: Response) -> None:
        exchange = self._clients.get((response.ids.branch, response.ids.method))
        if exchange is None:
            return
        if response.status >= 300 and exchange.request.method == "INVITE" and not exchange.transaction.ack:
            exchange.transaction.ack = to_bytes(ack_of_failure(exchange.request, response))
        event = (
            Event.PROVISIONAL
            if response.status < 200
            else Event.SUCCESS
            if response.status < 300
            else Event.FAILURE
        )
        self._act_client(exchange, exchange.transaction.step(event, self._loop.time()), response)

    def _take_request(self, request: Request, peer: Address) -> None:
        key = (request.ids.branch, request.ids.sent_by, request.method)
        if (known := self._servers.get(key)) is not None:
            self._act_server(known, known.transaction.step(Event.REQUEST, self._loop.time()))
            return
        kind = Kind.INVITE_SERVER if request.method == "INVITE" else Kind.SERVER
        exchange = ServerExchange(request, peer, Transaction(kind, self._timers, self._loop.time()))
        self._servers[key] = exchange
        if request.method == "CANCEL":
            self._take_cancel(exchange)
        else:
            self._on_request(exchange)

    def _take_cancel(self, exchange: ServerExchange) -> None:
        ids = exchange.request.ids
        target = self._servers.get((ids.branch, ids.sent_by, "INVITE"))
        if target is None:
            self.answer(exchange, 481, "Call/Transaction Does Not Exist")
            return
        self.answer(exchange, 200, "OK")
        if target.transaction.state is State.PROCEEDING:
            target.cancelled.set()
            self.answer(target, 487, "Request Terminated", to_tag=secrets.token_hex(4))

    def _take_ack(self, ack: Request, peer: Address) -> None:
        for exchange in self._servers.values():
            ids = exchange.request.ids
            if exchange.request.method == "INVITE" and (ids.call_id, ids.cseq) == (
                ack.ids.call_id,
                ack.ids.cseq,
            ):
                delivered = exchange.transaction.step(Event.ACK, self._loop.time())
                if Action.DELIVER in delivered:
                    exchange.acknowledged.set()
                    self._on_request(ServerExchange(ack, peer, exchange.transaction))

    def _act_client(
        self, exchange: ClientExchange, actions: tuple[Action, ...], response: Response | None = None
    ) -> None:
        transaction = exchange.transaction
        host, port = exchange.peer
        for action in actions:
            match action:
                case Action.SEND:
                    self._socket.send(transaction.message, exchange.peer)
                case Action.SEND_ACK if transaction.ack:
                    self._socket.send(transaction.ack, exchange.peer)
                case Action.DELIVER if response is not None:
                    exchange.provisional.set()
                    if response.status >= 200:
                        exchange.final = response
                        exchange.over.set()
                case Action.TIMED_OUT:
                    waited = f"{self._timers.give_up_s:g} s"
                    exchange.failure = CallFailed(
                        None,
                        f"no answer to {exchange.request.method} from udp {host}:{port} within {waited}: check the "
                        "address, that Asterisk has a UDP transport there, and the firewall between",
                    )
                    exchange.over.set()
                case Action.UNREACHABLE:
                    exchange.failure = CallFailed(
                        None,
                        f"nothing listens on udp {host}:{port}: check that Asterisk runs and that `pjsip show "
                        "transports` names this address and port",
                    )
                    exchange.over.set()
                case _:
                    pass

    def _act_server(self, exchange: ServerExchange, actions: tuple[Action, ...]) -> None:
        if Action.SEND in actions and exchange.transaction.message:
            self._socket.send(exchange.transaction.message, exchange.peer)

    def _unreachable(self, peer: Address) -> None:
        for exchange in tuple(self._clients.values()):
            if exchange.peer == peer:
                self._act_client(exchange, exchange.transaction.step(Event.UNREACHABLE, self._loop.time()))

    def _ring(self) -> None:
        now = self._loop.time()
        for client in tuple(self._clients.values()):
            self._act_client(client, client.transaction.expire(now))
        for server in tuple(self._servers.values()):
            self._act_server(server, server.transaction.expire(now))
        self._set_alarm()

    def _set_alarm(self) -> None:
        """Forget what is over and wake up for the next timer of any transaction."""
        over = State.TERMINATED
        self._clients = {key: one for key, one in self._clients.items() if one.transaction.state is not over}
        self._servers = {key: one for key, one in self._servers.items() if one.transaction.state is not over}
        waits = [one.transaction.due() for one in self._clients.values()]
        waits += [one.transaction.due() for one in self._servers.values()]
        due = min((wait for wait in waits if wait is not None), default=None)
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = None if due is None else self._loop.call_at(due, self._ring)
