"""How a call comes about: placed by us, or answered by us."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass

from caller_phone.call import Call
from caller_phone.dialog import Dialog, cancel_of
from caller_phone.errors import CallFailed, SipError
from caller_phone.media import Address, MediaEngine, MediaLeg
from caller_phone.sdp import Codec, Media, describe, understand
from caller_phone.sip_auth import Credentials, authorise
from caller_phone.sip_message import Fields, Response, parse_uri, q850_cause
from caller_phone.user_agent import ClientExchange, ServerExchange, UserAgent

# How long a caller who gives up waits for the far end to agree before it forgets the call.
_CANCEL_PATIENCE_S = 2.0
_SDP = ("Content-Type", "application/sdp")


@dataclass(frozen=True, slots=True)
class Wish:
    """What a call is placed with."""

    uri: str
    caller: str
    codecs: tuple[Codec, ...] = (Codec.PCMU, Codec.PCMA)
    credentials: Credentials | None = None
    answer_timeout_s: float = 60.0
    headers: Fields = ()


@contextlib.asynccontextmanager
async def placed(
    agent: UserAgent, engine: MediaEngine, ports: range | None, calls: dict[str, Call], wish: Wish
) -> AsyncIterator[Call]:
    """A call of ours, from its answer on; `calls` holds it under its local tag meanwhile. CallFailed, SipError."""
    far = await agent.resolve(parse_uri(wish.uri))
    with engine.leg(agent.address[0], ports) as leg:
        ours = Media(*leg.address, wish.codecs)
        dialog = Dialog(
            here=agent.here,
            user=wish.caller,
            call_id=f"{secrets.token_hex(12)}@{agent.address[0]}",
            local=f"<sip:{wish.caller}@{agent.here}>",
            remote=f"<{wish.uri}>",
            local_tag=secrets.token_hex(4),
            target=wish.uri,
        )
        exchange, answer = await _invite(agent, dialog, wish, describe(ours, leg.address[1]), far)
        call = await _established(agent, dialog, leg, ours, far, exchange, answer)
        engine.start(leg)
        async with _up(call, calls, dialog.local_tag):
            yield call


@contextlib.asynccontextmanager
async def answered(
    agent: UserAgent,
    engine: MediaEngine,
    ports: range | None,
    calls: dict[str, Call],
    invite: ServerExchange,
    ring_s: float,
) -> AsyncIterator[Call]:
    """A call of theirs, answered after `ring_s`. CallFailed when the caller gave up, or offered nothing we can use."""
    tag = secrets.token_hex(4)
    with engine.leg(agent.address[0], ports) as leg:
        try:
            theirs = understand(invite.request.body)
            dialog = Dialog.answering(
                invite.request, agent.here, parse_uri(invite.request.uri).user or "phone", tag
            )
        except SipError as error:
            agent.answer(invite, 488, "Not Acceptable Here", tag)
            raise CallFailed(488, f"Not Acceptable Here ({error})") from error
        await _ring(agent, invite, tag, ring_s)
        ours = Media(*leg.address, (theirs.codecs[0],), theirs.events, theirs.direction.mirrored())
        call = Call(agent, dialog, leg, ours, invite.peer)
        leg.talk_to(theirs)
        engine.start(leg)
        async with _up(call, calls, tag):
            agent.answer(invite, 200, "OK", tag, (dialog.contact, _SDP), describe(ours, leg.address[1]))
            try:
                async with asyncio.timeout(agent.patience_s):
                    await invite.acknowledged.wait()
            except TimeoutError as error:
                raise CallFailed(None, "the caller never acknowledged that its call was answered") from error
            yield call


@contextlib.asynccontextmanager
async def _up(call: Call, calls: dict[str, Call], tag: str) -> AsyncIterator[None]:
    calls[tag] = call
    try:
        yield
    finally:
        try:
            await call.hang_up()
        finally:
            del calls[tag]


async def _ring(agent: UserAgent, invite: ServerExchange, tag: str, ring_s: float) -> None:
    agent.answer(invite, 180, "Ringing", tag)
    try:
        async with asyncio.timeout(ring_s):
            await invite.cancelled.wait()
    except TimeoutError:
        pass
    except asyncio.CancelledError:
        agent.answer(invite, 480, "Temporarily Unavailable", tag)
        raise
    if invite.cancelled.is_set():
        raise CallFailed(487, "Request Terminated: the caller gave up while it rang")


async def _invite(
    agent: UserAgent, dialog: Dialog, wish: Wish, offer: bytes, far: Address
) -> tuple[ClientExchange, Response]:
    """Call until the 2xx; once more with a password when one is asked for. CallFailed for any other end."""
    extra: Fields = (*wish.headers, _SDP)
    asked = False
    while True:
        exchange = agent.start(dialog.request("INVITE", agent.new_branch(), extra, offer), far)
        try:
            async with asyncio.timeout(wish.answer_timeout_s):
                response = await exchange.answer()
        except TimeoutError as error:
            await _give_up(agent, dialog, exchange)
            raise CallFailed(None, f"it rang for {wish.answer_timeout_s:g} s and nobody answered") from error
        except asyncio.CancelledError:
            await _give_up(agent, dialog, exchange)
            raise
        if response.status < 300:
            return exchange, response
        if response.status not in {401, 407} or wish.credentials is None or asked:
            raise CallFailed(response.status, response.reason, q850_cause(response.headers))
        asked = True
        proof = authorise(response, "INVITE", dialog.target, wish.credentials, secrets.token_hex(8))
        extra = (*wish.headers, proof, _SDP)


async def _established(
    agent: UserAgent,
    dialog: Dialog,
    leg: MediaLeg,
    ours: Media,
    far: Address,
    exchange: ClientExchange,
    answer: Response,
) -> Call:
    """ACK the 2xx and begin to talk. A call whose answer is unusable is ended again: CallFailed."""
    dialog.accepted(answer)
    call = Call(agent, dialog, leg, ours, far)
    call.acknowledge(exchange)
    try:
        theirs = understand(answer.body)
    except SipError as error:
        await call.hang_up()
        raise CallFailed(488, f"the call was answered, but not in a way we can talk: {error}") from error
    leg.talk_to(theirs)
    return call


async def _give_up(agent: UserAgent, dialog: Dialog, exchange: ClientExchange) -> None:
    """CANCEL an INVITE (RFC 3261 section 9.1); an answer that crosses it is acknowledged and hung up."""
    with contextlib.suppress(TimeoutError, CallFailed):
        async with asyncio.timeout(_CANCEL_PATIENCE_S):
            # no CANCEL may leave before the first provisional answer came
            await exchange.provisional.wait()
            if exchange.final is None:
                agent.start(cancel_of(exchange.request), exchange.peer)
            response = await exchange.answer()
            if response.status < 300:
                dialog.accepted(response)
                branch = agent.new_branch()
                exchange.transaction.ack = agent.send(
                    dialog.ack(exchange.request.ids.cseq, branch), exchange.peer
                )
                await agent.start(dialog.request("BYE", agent.new_branch()), exchange.peer).answer()
