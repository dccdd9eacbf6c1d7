"""The call process from its start to its end: what it opens, in order, and how it is closed again."""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager

from gpu_workers.client import LlmClient, SttClient, TtsClient, worker_session
from media_bridge.codecs import WIRE
from media_bridge.plane import MediaPlane, check_addresses
from media_bridge.settings import medium_of
from media_bridge.turn_end_waits import EndWaits
from stasis_app.application import Application, Setup
from stasis_app.ari.errors import AppReplaced, AriError, AriFailure
from stasis_app.ari.link import AriLink
from stasis_app.flight.recorder import FlightRecorder
from stasis_app.metrics import Metrics
from stasis_app.phrases import PhraseBook
from stasis_app.recital import Protected
from stasis_app.switchboard import Switchboard
from stasis_app.tools.hourly import Hourly
from stasis_app.tools.http import HttpRequests
from stasis_app.transcript import Transcript
from stasis_app.web import web_server

log = logging.getLogger(__name__)

_LOOK_FOR_ENDS_S = 1.0


async def run(setup: Setup, stop: asyncio.Event) -> None:
    """Take calls until `stop` is set (then drain), or until Asterisk refuses us for good.

    Raises AriFailure, MediaError (addresses, no port), WebPortError.
    """
    check_addresses(setup.media, setup.ari.url, [profile.media for profile in setup.profiles.values()])
    async with _application(setup) as (application, link):
        # events come until the last call has ended: a drain hears hang-ups, and a newcomer, like any other time
        events = asyncio.ensure_future(link.run())
        leaving = asyncio.ensure_future(_leave(application, stop))
        try:
            await _first_of(asyncio.shield(events), asyncio.shield(leaving))
        except AppReplaced:
            log.warning("another process took the app over: no new calls, the running ones may finish")
            application.let_go()
            stop.set()  # a drain that has begun goes on, and gets no more time
            await _first_of(asyncio.shield(leaving), _look_for_ends(link), link.show_life())
            raise
        except AriFailure:
            if stop.is_set():
                await asyncio.shield(leaving)
            raise
        finally:
            events.cancel()
            leaving.cancel()
            await asyncio.wait((events, leaving))


async def _leave(application: Application, stop: asyncio.Event) -> None:
    await stop.wait()
    await application.drain()


async def _look_for_ends(link: AriLink) -> None:
    """Without events, ask for the calls that have ended."""
    while True:
        await asyncio.sleep(_LOOK_FOR_ENDS_S)
        try:
            await link.ask_after_calls()
        except AriError as error:
            log.warning("could not ask Asterisk which calls have ended or are on hold: %s", error)


@asynccontextmanager
async def _application(setup: Setup) -> AsyncIterator[tuple[Application, AriLink]]:
    metrics = Metrics()
    for profile in setup.profiles.values():
        Protected.of(profile)  # no call waits for it
    async with AsyncExitStack() as stack:
        transcript = stack.enter_context(Transcript(setup.transcript, metrics.transcript_lost.inc))
        flights = stack.enter_context(
            FlightRecorder(setup.calls.flight_recorder, setup.calls.flight_retention, metrics.flight_lost.inc)
        )
        workers = setup.workers
        session = await stack.enter_async_context(worker_session())
        stt = await stack.enter_async_context(
            SttClient(
                workers.stt.base_urls,
                model=workers.stt.asked_model,
                api_key=workers.stt.api_key,
                session=session,
            )
        )
        llm = await stack.enter_async_context(
            LlmClient(
                workers.llm.base_urls,
                model=workers.llm.asked_model,
                api_key=workers.llm.api_key,
                session=session,
            )
        )
        tts = await stack.enter_async_context(
            TtsClient(
                workers.tts.base_urls,
                model=workers.tts.asked_model,
                voice=workers.tts.asked_voice,
                api_key=workers.tts.api_key,
                session=session,
            )
        )
        requests = await stack.enter_async_context(HttpRequests())
        made_by = " ".join(filter(None, (workers.tts.base_url, workers.tts.voice, workers.tts.model)))
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
                run=secrets.token_hex(4),
                processes=setup.processes,
                on_handed_back=lambda reason: metrics.calls_refused.labels(reason).inc(),
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
            requests,
            Hourly(),
            workers.llm.known_context_tokens,
        )
        application = Application(setup, board, link, plane, group)
        calls.append(application)
        await stack.enter_async_context(web_server(setup.web, application.readiness, metrics.registry))
        group.create_task(phrases.learn(list(setup.profiles.values())))
        group.create_task(application.watch_workers(session))
        group.create_task(application.watch_lag())
        group.create_task(flights.forget_old())
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
