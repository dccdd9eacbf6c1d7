"""A call that is up: speak, listen, press keys, hang up."""

import asyncio
import logging
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from ipaddress import ip_address
from pathlib import Path

from caller_phone.dialog import ALLOW, Dialog
from caller_phone.errors import CallEnded, CallFailed, SipError
from caller_phone.media import Address, MediaLeg
from caller_phone.outgoing import OutgoingStream, Said
from caller_phone.recording import Recording
from caller_phone.sdp import Direction, Media, describe, understand
from caller_phone.sip_message import SIP_PORT, Fields, Request, parse_uri, q850_cause
from caller_phone.speech_file import load
from caller_phone.user_agent import ClientExchange, ServerExchange, UserAgent

_log = logging.getLogger(__name__)

# A BYE nobody answers is sent again meanwhile; the call counts as over either way.
_BYE_PATIENCE_S = 4.0
_POLL_S = 0.02


class Call:
    """Made by `Phone.call` and `Phone.answer`. All instants are seconds of `time.monotonic()`."""

    def __init__(self, agent: UserAgent, dialog: Dialog, leg: MediaLeg, ours: Media, far: Address) -> None:
        self._agent = agent
        self._dialog = dialog
        self._leg = leg
        self._ours = ours
        self._version = 1
        self._far = far
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        self._waiting: set[asyncio.Future[Said]] = set()
        self.answered_s = self._loop.time()
        self.ended_s: float | None = None
        self.ended_by_far_end = False
        self.cause: int | None = None
        """Q.850 cause of the far end's BYE, if it gave one."""
        self.bye_status: int | None = None
        """The answer to our BYE; None while there is none."""

    @property
    def is_up(self) -> bool:
        return not self._over.is_set()

    async def say(self, source: bytes | str | Path) -> Said:
        """Speak a WAV file or pcm (8 kHz mono s16le) after whatever is queued already.

        Returns when the last sample has left. SpeechFileError for what can't be spoken, CallEnded if the call ends
        before the end of it.
        """
        samples = await asyncio.to_thread(load, source)
        return await self._until_sent(lambda stream, done: stream.say(samples, done))

    async def press(self, digits: str) -> None:
        """Press keys one after another (RFC 4733): 0-9 * # A-D. ValueError for others, CallEnded as in `say`."""
        for digit in digits:
            await self._until_sent(partial(_press, digit))

    async def wait_for_bot_speech(
        self, timeout_s: float, since_s: float | None = None, began_after_s: float = -math.inf
    ) -> float:
        """The instant at which the far end is first heard after `since_s` (from now, if not given).

        With `began_after_s` only a talkspurt that began later counts: the rest of one that is being interrupted is no
        answer. TimeoutError when nothing comes, CallEnded when the far end hangs up instead.
        """
        since = self._loop.time() if since_s is None else since_s
        give_up_s = self._loop.time() + timeout_s
        while (heard_s := self._leg.ear.audible_after(since, began_after_s)) is None:
            await self._sleep_until(min(self._loop.time() + _POLL_S, give_up_s))
            if self._loop.time() >= give_up_s:
                raise TimeoutError(f"the far end said nothing for {timeout_s:g} s")
        return heard_s

    async def wait_for_bot_quiet(self, quiet_ms: float, timeout_s: float) -> float:
        """Wait until the far end has been quiet for `quiet_ms`; the instant of its last audible sample.

        That is the answer of the call for one that never spoke. Pauses between the sentences of one answer last up to
        about 800 ms. TimeoutError when it talks on, CallEnded when it hangs up first.
        """
        give_up_s = self._loop.time() + timeout_s
        while True:
            last_s = self._leg.ear.last_audible_s() or self.answered_s
            quiet_at_s = last_s + quiet_ms / 1000
            if self._loop.time() >= quiet_at_s:
                return last_s
            if self._loop.time() >= give_up_s:
                raise TimeoutError(f"the far end talked on for {timeout_s:g} s")
            await self._sleep_until(min(quiet_at_s, give_up_s))

    async def wait_for_end(self, timeout_s: float) -> None:
        """Until the far end hangs up. TimeoutError when it does not."""
        async with asyncio.timeout(timeout_s):
            await self._over.wait()

    async def sleep(self, seconds: float) -> None:
        """Let time pass. CallEnded when the far end hangs up meanwhile."""
        await self._sleep_until(self._loop.time() + seconds)

    async def hang_up(self) -> None:
        """End the call with a BYE and wait for its answer (`bye_status`). Nothing happens when it is over already."""
        if not self.is_up:
            return
        self._end()
        exchange = self._agent.start(self._dialog.request("BYE", self._agent.new_branch()), self._next_hop())
        try:
            async with asyncio.timeout(_BYE_PATIENCE_S):
                self.bye_status = (await exchange.answer()).status
        except (TimeoutError, CallFailed) as error:
            _log.warning("the BYE was not answered: %s", error or f"nothing within {_BYE_PATIENCE_S:g} s")

    async def hold(self) -> None:
        """Put the far end on hold, as the key of a telephone does (RFC 3264 section 8.4).

        Nothing is sent until `unhold`. CallFailed when the far end refuses or does not answer.
        """
        await self._change(Direction.SEND)

    async def unhold(self) -> None:
        """Take the far end off hold. CallFailed as in `hold`."""
        await self._change(Direction.BOTH)

    def suppress_silence(self) -> None:
        """From now on nothing is sent while nothing is said, not even comfort noise."""
        if self._leg.stream is None:
            raise CallEnded("the call is over")
        self._leg.stream.suppresses = True

    async def request(self, method: str, fields: Fields = (), body: bytes = b"") -> int:
        """Send a request of another kind inside this call, such as REFER or INFO; the status of its answer.

        CallFailed when there is none, CallEnded when the call is over.
        """
        if not self.is_up:
            raise CallEnded("the call is over")
        request = self._dialog.request(method, self._agent.new_branch(), fields, body)
        return (await self._agent.start(request, self._next_hop()).answer()).status

    def recording(self) -> Recording:
        """What was sent and received so far; also after the end."""
        return self._leg.recording()

    @property
    def skipped_ticks(self) -> int:
        """Packets that were not sent because this machine slept: a measurement with any is worth little."""
        return self._leg.skipped_ticks

    def acknowledge(self, exchange: ClientExchange) -> None:
        """Send the ACK of the 2xx that made or changed this call, again for every repetition of it."""
        ack = self._dialog.ack(exchange.request.ids.cseq, self._agent.new_branch())
        exchange.transaction.ack = self._agent.send(ack, self._next_hop())

    def take(self, exchange: ServerExchange) -> None:
        """A request of the far end inside this call. Called by the phone."""
        match exchange.request.method:
            case "BYE":
                self._agent.answer(exchange, 200, "OK")
                self._end(exchange.request)
            case "ACK":
                # the answer to an offer of ours comes in the ACK (RFC 3261 section 13.2.1)
                if exchange.request.body and self.is_up:
                    self._redirect(exchange.request.body)
            case "INVITE" if self.is_up:
                self._take_reinvite(exchange)
            case "INVITE":
                self._agent.answer(exchange, 481, "Call/Transaction Does Not Exist")
            case _:
                self._agent.answer(exchange, 405, "Method Not Allowed", fields=(("Allow", ALLOW),))

    def _take_reinvite(self, exchange: ServerExchange) -> None:
        try:
            self._dialog.refreshed(exchange.request)
        except SipError as error:
            _log.warning("a change of the call was refused: %s", error)
            self._agent.answer(exchange, 400, "Bad Request")
            return
        if exchange.request.body and not self._redirect(exchange.request.body):
            self._agent.answer(exchange, 488, "Not Acceptable Here")
            return
        fields = (self._dialog.contact, ("Content-Type", "application/sdp"))
        body = describe(self._ours, self._ours.port, self._version)
        self._agent.answer(exchange, 200, "OK", fields=fields, body=body)

    def _redirect(self, body: bytes) -> bool:
        """The far end moved, or put us on hold; False if we can't follow."""
        try:
            theirs = understand(body)
        except SipError as error:
            _log.warning("a change of the call was refused: %s", error)
            return False
        self._leg.talk_to(theirs)
        direction = theirs.direction.mirrored()
        if direction is not self._ours.direction:
            # RFC 3264 section 8: what changed has a higher version, what did not has the same
            self._ours, self._version = replace(self._ours, direction=direction), self._version + 1
        return True

    async def _change(self, direction: Direction) -> None:
        """Offer the far end another direction in a re-INVITE (RFC 3261 section 14.1)."""
        if not self.is_up:
            raise CallEnded("the call is over")
        ours, version = replace(self._ours, direction=direction), self._version + 1
        fields = (("Content-Type", "application/sdp"),)
        body = describe(ours, ours.port, version)
        request = self._dialog.request("INVITE", self._agent.new_branch(), fields, body)
        exchange = self._agent.start(request, self._next_hop())
        response = await exchange.answer()
        if response.status >= 300:
            raise CallFailed(response.status, response.reason, q850_cause(response.headers))
        self.acknowledge(exchange)
        theirs = understand(response.body)
        self._ours, self._version = ours, version
        # a telephone on hold without music sends nothing, though "sendonly" would let it
        self._leg.talk_to(
            theirs if direction is Direction.BOTH else replace(theirs, direction=Direction.NONE)
        )

    async def _until_sent(self, queue: Callable[[OutgoingStream, Callable[[Said], None]], None]) -> Said:
        """Queue something and wait until the sender's thread reports that it left."""
        stream = self._leg.stream
        if stream is None:
            raise CallEnded("the call is over")
        future: asyncio.Future[Said] = self._loop.create_future()
        self._waiting.add(future)
        try:
            queue(stream, lambda said: self._settle(future, said))
            return await future
        finally:
            self._waiting.discard(future)

    def _settle(self, future: asyncio.Future[Said], said: Said) -> None:
        self._loop.call_soon_threadsafe(partial(_resolve, future, said))

    async def _sleep_until(self, instant_s: float) -> None:
        try:
            async with asyncio.timeout_at(instant_s):
                await self._over.wait()
        except TimeoutError:
            return
        raise CallEnded("the far end hung up")

    def _next_hop(self) -> Address:
        """Where requests of this call go; a name instead of an address stands for where the call was set up."""
        try:
            uri = parse_uri(self._dialog.next_hop())
            ip_address(uri.host)
        except (SipError, ValueError):
            return self._far
        return uri.host, uri.port or SIP_PORT

    def _end(self, bye: Request | None = None) -> None:
        if not self.is_up:
            return
        self._over.set()
        self.ended_s = self._loop.time()
        if bye is not None:
            self.ended_by_far_end = True
            self.cause = q850_cause(bye.headers)
        self._leg.fall_silent()
        for future in self._waiting:
            if not future.done():
                future.set_exception(CallEnded("the call ended before everything was said"))


def _resolve(future: asyncio.Future[Said], said: Said) -> None:
    # the end of the call may have settled it already
    if not future.done():
        future.set_result(said)


def _press(digit: str, stream: OutgoingStream, done: Callable[[Said], None]) -> None:
    # a key has no voiced sample
    stream.press(digit, lambda: done(Said(0.0, 0.0)))
