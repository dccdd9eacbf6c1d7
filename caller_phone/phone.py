"""A telephone that stands outside the product and speaks SIP and RTP only.

async with Phone() as phone, phone.call("sip:1000@127.0.0.1:5060") as call:
    await call.wait_for_bot_speech(timeout_s=5)
    said = await call.say("question.wav")
"""

import asyncio
import contextlib
import secrets
import socket
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from types import TracebackType

from caller_phone.call import Call
from caller_phone.dialog import ALLOW
from caller_phone.errors import CallFailed, PhoneError
from caller_phone.media import Address, MediaEngine
from caller_phone.placing import Wish, answered, placed
from caller_phone.sdp import Codec
from caller_phone.sip_auth import Credentials
from caller_phone.sip_message import SIP_PORT, Fields, parse_uri
from caller_phone.transaction import Timers
from caller_phone.user_agent import ServerExchange, UserAgent

_CALLER = "caller"


def local_host_for(uri: str) -> str:
    """The address of this machine that the host of a sip: URI can reach, for `Phone(local_host=...)`. PhoneError."""
    target = parse_uri(uri)
    try:
        found = socket.getaddrinfo(target.host, target.port or SIP_PORT, type=socket.SOCK_DGRAM)
        with socket.socket(found[0][0], socket.SOCK_DGRAM) as probe:
            # connecting a UDP socket sends nothing; the kernel only picks the route
            probe.connect(found[0][4])
            return str(probe.getsockname()[0])
    except OSError as error:
        raise PhoneError(
            f"no way to {target.host}: {error.strerror}; check the name and the network"
        ) from error


class Phone:
    """Any number of calls at once over one SIP socket and two media threads.

    `local_host` is the address the far end sends to, so no wildcard. `sip_port` 0 lets the system choose;
    `rtp_ports` limits the ports of the media (a range; even ones are used), for the sake of a firewall.
    """

    def __init__(
        self,
        local_host: str = "127.0.0.1",
        *,
        sip_port: int = 0,
        rtp_ports: range | None = None,
        timers: Timers = Timers(),  # noqa: B008 - frozen
    ) -> None:
        if local_host in {"0.0.0.0", "::", ""}:  # noqa: S104 - refused, not bound
            raise PhoneError("a phone needs the one address that the far end sends to, not a wildcard")
        self._host = local_host
        self._ports = rtp_ports
        self._agent = UserAgent(local_host, sip_port, timers, self._take)
        self._engine = MediaEngine()
        self._calls: dict[str, Call] = {}
        self._waiting: deque[asyncio.Future[ServerExchange]] = deque()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> "Phone":
        async with AsyncExitStack() as stack:
            stack.enter_context(self._engine)
            await stack.enter_async_context(self._agent)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    @property
    def address(self) -> Address:
        """Where this phone takes SIP: (host, port)."""
        return self._agent.address

    def call(
        self,
        uri: str,
        *,
        caller: str = _CALLER,
        codecs: Sequence[Codec] = (Codec.PCMU, Codec.PCMA),
        credentials: Credentials | None = None,
        answer_timeout_s: float = 60.0,
        headers: Fields = (),
    ) -> contextlib.AbstractAsyncContextManager[Call]:
        """Call a `sip:` URI; the block runs once it is answered, and its end hangs up.

        `caller` is the user part of From, `headers` are added to the INVITE. CallFailed when the call is not answered,
        with the SIP status and a sentence for whoever runs the far end; SipError when the URI or an answer is no SIP.
        """
        wish = Wish(uri, caller, tuple(codecs), credentials, answer_timeout_s, headers)
        return placed(self._agent, self._engine, self._ports, self._calls, wish)

    @contextlib.asynccontextmanager
    async def answer(self, *, ring_s: float = 0.0, timeout_s: float | None = None) -> AsyncIterator[Call]:
        """Wait for a call, let it ring for `ring_s`, and take it. While nobody waits here, callers are told 486 busy.

        TimeoutError when none comes within `timeout_s`, CallFailed when the caller gives up first.
        """
        future: asyncio.Future[ServerExchange] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        try:
            async with asyncio.timeout(timeout_s):
                invite = await future
        finally:
            with contextlib.suppress(ValueError):
                self._waiting.remove(future)
        async with answered(self._agent, self._engine, self._ports, self._calls, invite, ring_s) as call:
            yield call

    def _take(self, exchange: ServerExchange) -> None:
        request = exchange.request
        call = self._calls.get(request.ids.to_tag or "")
        waiting = next((future for future in self._waiting if not future.done()), None)
        if call is not None:
            call.take(exchange)
        elif request.method == "OPTIONS":
            fields = (("Allow", ALLOW), ("Accept", "application/sdp"))
            self._agent.answer(exchange, 200, "OK", secrets.token_hex(4), fields)
        elif request.method == "INVITE" and request.ids.to_tag is None and waiting is not None:
            waiting.set_result(exchange)
        elif request.method == "INVITE" and request.ids.to_tag is None:
            self._agent.answer(exchange, 486, "Busy Here", secrets.token_hex(4))
        elif request.method != "ACK":
            self._agent.answer(exchange, 481, "Call/Transaction Does Not Exist", secrets.token_hex(4))


__all__ = ["Call", "CallFailed", "Codec", "Credentials", "Phone", "Timers", "local_host_for"]
