"""The call process: takes calls from Asterisk while it is ready, and ends them politely when it is told to stop."""

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from gpu_workers.client import Health, LlmClient, SttClient, TtsClient, any_health, worker_session
from gpu_workers.settings import WorkersSettings
from media_bridge.codecs import WIRE
from media_bridge.plane import MediaPlane, check_addresses
from media_bridge.settings import MediaSettings, medium_of
from media_bridge.turn_end_waits import EndWaits
from stasis_app.admission import WORKERS, Admission, Resource, share
from stasis_app.ari.errors import AppReplaced, AriError
from stasis_app.ari.events import StasisStart
from stasis_app.ari.link import AriLink
from stasis_app.ari.stream import Connected, Down, LinkState
from stasis_app.call import Call
from stasis_app.flight_recorder import FlightRecorder
from stasis_app.metrics import Metrics
from stasis_app.phrases import PhraseBook
from stasis_app.record import CallRecord
from stasis_app.settings import AriSettings, CallSettings, Profile, WebSettings
from stasis_app.switchboard import Switchboard
from stasis_app.transcript import Transcript
from stasis_app.web import Readiness, web_server

log = logging.getLogger(__name__)

_HEALTH_EVERY_S = 2.0
_GOODBYE_S = 15.0  # beyond the longest goodbye of a call
_LOOK_FOR_ENDS_S = 1.0
_LAG_EVERY_S = 0.05  # a standstill is measured so much too short at most
_LAG_WINDOW = 100


@dataclass(frozen=True, slots=True)
class Setup:
    """All that `run` is told: the parts of voicebot.yaml that concern it, and where it may write.

    `processes`: how many call processes share the workers.
    """

    ari: AriSettings
    media: MediaSettings
    calls: CallSettings
    web: WebSettings
    workers: WorkersSettings
    profiles: Mapping[str, Profile]
    phrases_dir: Path
    transcript: Path | None = None
    processes: int = 1


class Application:
    """Admission, calls, readiness and drain."""

    def __init__(self, setup: Setup, board: Switchboard, group: asyncio.TaskGroup) -> None:
        self._setup = setup
        self._board = board
        self._group = group
        self._calls: dict[
            str, Call
        ] = {}  # by call id: a caller may come back before the first call is undone
        self._admission = Admission()
        self._workers: dict[str, Health] = {}
        self._rooms: dict[str, int | None] = {}
        self._idle = asyncio.Event()
        self._idle.set()

    # --- admission ---

    def on_call(self, start: StasisStart) -> None:
        """A caller has entered our Stasis application."""
        channel_id, call_id, name = start.channel.id, secrets.token_hex(4), _profile_name(start.args)
        profile = self._setup.profiles.get(name)
        if profile is None:
            log.error(
                "no profile %r in voicebot.yaml (there are: %s)",
                name,
                ", ".join(sorted(self._setup.profiles)),
            )
            self._refuse(channel_id, "unknown_profile")
        elif not self._board.phrases.knows(profile):
            self._refuse(channel_id, "not_ready")
        elif self._board.plane.overloaded:
            self._refuse(channel_id, "overloaded")
        elif reason := self._no_place(call_id, profile):
            self._refuse(channel_id, reason)
        else:
            call = self._calls[call_id] = Call(start, call_id, profile, self._board)
            self._idle.clear()
            carrying = self._group.create_task(self._carry(channel_id, call))
            # also when it was cancelled before it began
            carrying.add_done_callback(lambda _: self._over(call_id))

    def _refuse(self, channel_id: str, reason: str) -> None:
        log.info("a call is handed back to the dialplan: %s", reason)
        self._group.create_task(self._board.hand_back(channel_id, reason))

    def _no_place(self, call_id: str, profile: Profile) -> str | None:
        """Reserve all that the call needs; the word for VOICEBOT_REASON when there is no room."""
        limits = self._limits()
        ports = self._board.plane.usable_ports(profile.media)
        needs: set[Resource] = {"calls", *WORKERS}
        if ports is not None:
            needs.add("port")
            limits["port"] = ports
        return self._admission.reserve(call_id, needs, limits)

    def _limits(self) -> dict[Resource, int | None]:
        """How many calls at a time each part has room for: a worker's own word, else what voicebot.yaml says of it."""
        workers, processes = self._setup.workers, self._setup.processes
        written = {"stt": workers.stt, "llm": workers.llm, "tts": workers.tts}
        limits: dict[Resource, int | None] = {"calls": self._setup.calls.max_calls}
        for name in WORKERS:
            limits[name] = share(self._rooms.get(name) or written[name].max_calls, processes)
        return limits

    def _over(self, call_id: str) -> None:
        del self._calls[call_id]
        self._admission.release(call_id)
        if not self._calls:
            self._idle.set()

    async def _carry(self, channel_id: str, call: Call) -> None:
        metrics = self._board.metrics
        metrics.calls.inc()
        log.info("call %s begins", call.call_id)
        cause, began = "defect", time.monotonic()
        timer = asyncio.get_running_loop().call_later(self._setup.calls.max_call_s, call.end_politely)
        try:
            cause = await call.run()
        except Exception:
            log.exception("call %s ended by a defect", call.call_id)
            metrics.defects.labels("call").inc()
            await self._board.hand_back(channel_id, "defect")
        finally:
            timer.cancel()
            metrics.calls.dec()
            metrics.calls_ended.labels(cause).inc()
            record = CallRecord(call.call_id, cause, time.monotonic() - began, call.sound)
            log.info("%s", record, extra=record.fields())

    # --- readiness ---

    def readiness(self) -> Readiness:
        """What /ready says: each part and why it is not ready."""
        parts = {"asterisk": "" if self._board.link.connected else "no connection to ARI"}
        for name in ("stt", "llm", "tts"):
            health = self._workers.get(name)
            parts[name] = "" if health and health.ready else (health.detail if health else "not asked yet")
        known = all(map(self._board.phrases.knows, self._setup.profiles.values()))
        parts["phrases"] = "" if known else "greetings and apologies are not made yet"
        parts["media"] = "overloaded: no new calls" if self._board.plane.overloaded else ""
        parts["calls"] = "draining" if self._admission.closed else ""
        places = min(limit for limit in self._limits().values() if limit is not None)
        return Readiness(parts=parts, calls=len(self._calls), max_calls=places)

    def on_link(self, state: LinkState) -> None:
        """The connection to Asterisk has changed."""
        self._board.metrics.ari_connected.set(isinstance(state, Connected))
        if isinstance(state, Down):
            for call in self._calls.values():
                call.asterisk_is_down()

    async def watch_workers(self, session: aiohttp.ClientSession) -> None:
        workers = self._setup.workers
        named = {"stt": workers.stt, "llm": workers.llm, "tts": workers.tts}
        while True:
            asked = (
                any_health(session, worker.base_urls, api_key=worker.api_key) for worker in named.values()
            )
            self._workers = dict(zip(named, await asyncio.gather(*asked), strict=True))
            # one that is away says nothing new: a call meanwhile is admitted by what it said last
            self._rooms |= {name: said.max_calls for name, said in self._workers.items() if said.ready}
            await asyncio.sleep(_HEALTH_EVERY_S)

    async def watch_lag(self) -> None:
        """Keep the longest lateness of the loop over the last 5 s, and the load of media, as metrics (fault A17)."""
        metrics, plane = self._board.metrics, self._board.plane
        lags = [0.0] * _LAG_WINDOW
        while True:
            due = time.monotonic() + _LAG_EVERY_S
            await asyncio.sleep(_LAG_EVERY_S)
            lags = [*lags[1:], time.monotonic() - due]
            metrics.loop_lag.set(max(lags))
            metrics.media_busy.set(plane.load.busy)
            metrics.media_overloaded.set(plane.overloaded)

    # --- the end ---

    async def drain(self) -> None:
        """No new calls; running ones may finish within `calls.drain_s`, then they hear the goodbye."""
        self._admission.close()
        if not await self._wait_idle(self._setup.calls.drain_s):
            log.info("drain: %d calls get their goodbye", len(self._calls))
            for call in self._calls.values():
                call.end_politely()
            await self._wait_idle(_GOODBYE_S)

    async def _wait_idle(self, limit_s: float) -> bool:
        try:
            async with asyncio.timeout(limit_s):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True


def _profile_name(args: tuple[str, ...]) -> str:
    """Stasis(voicebot,profile=NAME) -> NAME; without one: default."""
    named = [arg.removeprefix("profile=") for arg in args if arg.startswith("profile=")]
    return named[0] if named else "default"


async def run(setup: Setup, stop: asyncio.Event) -> None:
    """Take calls until `stop` is set (then drain), or until Asterisk refuses us for good.

    Raises AriFailure, MediaError (addresses, no port), WebPortError.
    """
    check_addresses(setup.media, setup.ari.url, [profile.media for profile in setup.profiles.values()])
    async with _application(setup) as (application, link):
        # events come until the last call has ended: a drain hears hang-ups like any other time
        events = asyncio.ensure_future(link.run())
        try:
            await _first_of(asyncio.shield(events), stop.wait())
        except AppReplaced:
            log.warning(
                "another process took the app over: no new calls, the running ones are brought to their end"
            )
            await _first_of(application.drain(), _look_for_ends(link))
            raise
        else:
            await application.drain()
        finally:
            events.cancel()
            await asyncio.wait((events,))


async def _look_for_ends(link: AriLink) -> None:
    """Without events, ask for the calls that have ended."""
    while True:
        await asyncio.sleep(_LOOK_FOR_ENDS_S)
        try:
            await link.end_calls_gone()
        except AriError as error:
            log.warning("could not ask Asterisk which calls have ended: %s", error)


@asynccontextmanager
async def _application(setup: Setup) -> AsyncIterator[tuple[Application, AriLink]]:
    metrics = Metrics()
    async with AsyncExitStack() as stack:
        transcript = stack.enter_context(Transcript(setup.transcript))
        flights = stack.enter_context(FlightRecorder(setup.calls.flight_recorder))
        workers = setup.workers
        session = await stack.enter_async_context(worker_session())
        stt = await stack.enter_async_context(
            SttClient(workers.stt.base_urls, api_key=workers.stt.api_key, session=session)
        )
        llm = await stack.enter_async_context(
            LlmClient(
                workers.llm.base_urls, model=workers.llm.model, api_key=workers.llm.api_key, session=session
            )
        )
        tts = await stack.enter_async_context(
            TtsClient(workers.tts.base_urls, api_key=workers.tts.api_key, session=session)
        )
        made_by = f"{workers.tts.base_url} {workers.tts.voice}"
        phrases = PhraseBook(
            tts, setup.phrases_dir, made_by, lambda profile: WIRE[medium_of(setup.media, profile.media)].rate
        )
        overrides = [profile.media for profile in setup.profiles.values()]
        plane = await stack.enter_async_context(MediaPlane(setup.media, overrides=overrides))
        calls: list[Application] = []
        link = await stack.enter_async_context(
            AriLink(
                setup.ari,
                setup.ari.app,  # the same after a restart, so that a new process knows what an old one left
                on_call=lambda start: calls[0].on_call(start),
                on_state=lambda state: calls[0].on_link(state),
            )
        )
        metrics.count_ari(link.counts)
        # inside the link: calls that are cut short still take their legs down and hang up
        group = await stack.enter_async_context(_cancelled_at_exit())
        board = Switchboard(
            link,
            plane,
            stt,
            llm,
            tts,
            phrases,
            metrics,
            transcript,
            EndWaits.around(setup.media.endpoint.end_ms),
            flights,
        )
        application = Application(setup, board, group)
        calls.append(application)
        await stack.enter_async_context(web_server(setup.web, application.readiness, metrics.registry))
        group.create_task(phrases.learn(list(setup.profiles.values())))
        group.create_task(application.watch_workers(session))
        group.create_task(application.watch_lag())
        yield application, link


@asynccontextmanager
async def _cancelled_at_exit() -> AsyncIterator[asyncio.TaskGroup]:
    """A TaskGroup whose tasks do not outlive the block."""
    async with asyncio.TaskGroup() as outer:
        holder: asyncio.Future[asyncio.TaskGroup] = asyncio.get_running_loop().create_future()

        async def hold() -> None:
            async with asyncio.TaskGroup() as inner:
                holder.set_result(inner)
                await asyncio.Event().wait()

        keeper = outer.create_task(hold())
        try:
            yield await holder
        finally:
            keeper.cancel()


async def _first_of(*work: Awaitable[object]) -> None:
    """Wait for the first to finish, cancel the others, raise what the first raised."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in done:
        task.result()
