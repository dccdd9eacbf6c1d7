"""The call process: takes calls from Asterisk while it is ready, and ends them politely when it is told to stop."""

import asyncio
import logging
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from gpu_workers.client import Asked, Health, each_health, together
from gpu_workers.settings import WorkersSettings
from media_bridge.plane import MediaPlane
from media_bridge.settings import MediaSettings
from stasis_app.admission import WORKERS, Admission, Resource, share
from stasis_app.ari.errors import AriError
from stasis_app.ari.events import Channel, StasisStart
from stasis_app.ari.link import AriLink
from stasis_app.ari.stream import Connected, Down, LinkState
from stasis_app.call import Call
from stasis_app.closing import longest_goodbye_s
from stasis_app.record import CallRecord
from stasis_app.settings import AriSettings, CallSettings, Profile, WebSettings
from stasis_app.switchboard import Switchboard
from stasis_app.web import Readiness

log = logging.getLogger(__name__)

_HEALTH_EVERY_S = 2.0
_LAG_EVERY_S = 0.05  # a standstill is measured so much too short at most
_LAG_WINDOW = 100
_PROCESSES = "VOICEBOT_PROCESSES"  # of asterisk_conf/voicebot/extensions_voicebot.conf


@dataclass(frozen=True, slots=True)
class Setup:
    """All that `run` is told: the parts of voicebot.yaml that concern it, and where it may write.

    `processes`: how many call processes share the workers; `number`: which of them this one is, from 1.
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
    number: int = 1


class Application:
    """Admission, calls, readiness and drain."""

    def __init__(
        self, setup: Setup, board: Switchboard, link: AriLink, plane: MediaPlane, group: asyncio.TaskGroup
    ) -> None:
        """`link` and `plane` are those of the switchboard."""
        self._setup = setup
        self._board = board
        self._link = link
        self._plane = plane
        self._group = group
        self._calls: dict[
            str, Call
        ] = {}  # by call id: a caller may come back before the first call is undone
        self._carrying: dict[str, asyncio.Task[None]] = {}
        self._admission = Admission()
        self._workers: dict[str, Health] = {}
        self._unserved: dict[str, str] = {}
        self._rooms: dict[str, int | None] = {}
        self._idle = asyncio.Event()
        self._idle.set()

    # --- admission ---

    def on_call(self, start: StasisStart) -> None:
        """A caller has entered our Stasis application."""
        visit, call_id, name = start.channel, secrets.token_hex(4), _profile_name(start.args)
        profile = self._setup.profiles.get(name)
        if profile is None:
            log.error(
                "no profile %r in voicebot.yaml (there are: %s)",
                name,
                ", ".join(sorted(self._setup.profiles)),
            )
            self._refuse(visit, "unknown_profile")
        elif not self._board.phrases.knows(profile):
            self._refuse(visit, "not_ready")
        elif self._overloaded:
            self._refuse(visit, "overloaded")
        elif reason := self._no_place(call_id, profile):
            self._refuse(visit, reason)
        else:
            call = self._calls[call_id] = Call(start, call_id, profile, self._board)
            self._idle.clear()
            carrying = self._carrying[call_id] = self._group.create_task(self._carry(visit, call))
            # also when it was cancelled before it began
            carrying.add_done_callback(lambda _: self._over(call_id))

    @property
    def _overloaded(self) -> bool:
        return not self._plane.has_room(len(self._calls))

    def _refuse(self, visit: Channel, reason: str) -> None:
        log.info(
            "a call (channel %s) is handed back to the dialplan: %s",
            visit.id,
            reason,
            extra={"channel": visit.id, "reason": reason},
        )
        self._group.create_task(self._board.hand_back(visit, reason))

    def _no_place(self, call_id: str, profile: Profile) -> str | None:
        """Reserve all that the call needs; the word for VOICEBOT_REASON when there is no room."""
        limits = self._limits()
        ports = self._plane.usable_ports(profile.media)
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
        del self._calls[call_id], self._carrying[call_id]
        self._admission.release(call_id)
        if not self._calls:
            self._idle.set()

    async def _carry(self, visit: Channel, call: Call) -> None:
        metrics = self._board.metrics
        metrics.calls.inc()
        names = {"call": call.call_id, "channel": visit.id}
        log.info("call %(call)s (channel %(channel)s) begins", names, extra=names)
        cause, began = "defect", time.monotonic()
        timer = asyncio.get_running_loop().call_later(self._setup.calls.max_call_s, call.end_politely)
        try:
            cause = await call.run()
        except asyncio.CancelledError:
            cause = "stopped"
            raise
        except Exception:
            log.exception("call %s ended by a defect", call.call_id)
            metrics.defects.labels("call").inc()
            await self._board.hand_back(visit, "defect")
        finally:
            timer.cancel()
            metrics.calls.dec()
            metrics.calls_ended.labels(cause).inc()
            record = CallRecord(call.call_id, visit.id, cause, time.monotonic() - began, call.sound)
            log.info("%s", record, extra=record.fields())

    # --- readiness ---

    def readiness(self) -> Readiness:
        """What /ready says: each part and why it is not ready."""
        parts = {"asterisk": self._asterisk_trouble()}
        for name in ("stt", "llm", "tts"):
            health = self._workers.get(name)
            parts[name] = "" if health and health.ready else (health.detail if health else "not asked yet")
        known = all(map(self._board.phrases.knows, self._setup.profiles.values()))
        parts["phrases"] = "" if known else "greetings and apologies are not made yet"
        parts["media"] = "overloaded: no new calls" if self._overloaded else ""
        parts["calls"] = "draining" if self._admission.closed else ""
        places = min(limit for limit in self._limits().values() if limit is not None)
        return Readiness(parts=parts, calls=len(self._calls), max_calls=places)

    def _asterisk_trouble(self) -> str:
        if not self._link.connected:
            return "no connection to ARI"
        return "" if self._link.answers else "ARI tells events and answers no requests"

    def on_link(self, state: LinkState) -> None:
        """The connection to Asterisk has changed."""
        self._board.metrics.ari_connected.set(isinstance(state, Connected))
        if isinstance(state, Connected) and self._setup.processes > 1:
            self._group.create_task(self._ask_for_processes())
        if isinstance(state, Down):
            for call in self._calls.values():
                call.asterisk_is_down()

    async def _ask_for_processes(self) -> None:
        """Whether the dialplan gives calls to each of the call processes, and to no more of them."""
        try:
            said = await self._link.ari.global_variable(_PROCESSES)
        except AriError as error:
            log.debug("could not ask Asterisk for %s: %s", _PROCESSES, error)
            return
        setup, known = self._setup, int(said) if said.isdecimal() and len(said) < 4 else 1
        if known < setup.number or (known > setup.processes and setup.number == 1):
            log.warning(
                "calls.processes is %d and this is number %d, but %s of Asterisk is %s: its dialplan gives calls to"
                " so many processes (1 unless it says more); write `%s = %d` under [globals] of extensions.conf, then"
                ' `asterisk -rx "dialplan reload"`',
                setup.processes,
                setup.number,
                _PROCESSES,
                known if said else "not set",
                _PROCESSES,
                setup.processes,
            )

    async def watch_workers(self, session: aiohttp.ClientSession) -> None:
        workers = self._setup.workers
        named = {"stt": workers.stt, "llm": workers.llm, "tts": workers.tts}
        # the voice's names are tried at once, by the ready phrases
        models = {"stt": workers.stt.asked_model, "llm": workers.llm.asked_model}
        asked = {name: Asked(name, model, f"workers.{name}.model") for name, model in models.items() if model}
        while True:
            asking = (
                each_health(session, worker.base_urls, api_key=worker.api_key, asked=asked.get(name))
                for name, worker in named.items()
            )
            found = dict(zip(named, await asyncio.gather(*asking), strict=True))
            self._workers = {name: together(each) for name, each in found.items()}
            for name, each in found.items():
                self._tell_unserved(named[name].base_urls, each)
            # one that is away says nothing new: a call meanwhile is admitted by what it said last
            self._rooms |= {name: said.max_calls for name, said in self._workers.items() if said.ready}
            await asyncio.sleep(_HEALTH_EVERY_S)

    async def watch_lag(self) -> None:
        """Keep the longest lateness of the loop over the last 5 s, and the load of media, as metrics (fault A17)."""
        metrics, plane = self._board.metrics, self._plane
        lags = [0.0] * _LAG_WINDOW
        while True:
            due = time.monotonic() + _LAG_EVERY_S
            await asyncio.sleep(_LAG_EVERY_S)
            lags = [*lags[1:], time.monotonic() - due]
            metrics.loop_lag.set(max(lags))
            metrics.media_busy.set(plane.load.busy)
            metrics.media_overloaded.set(self._overloaded)

    # --- the end ---

    def let_go(self) -> None:
        """Calls that are being connected need events that go to another process now: they go back to the dialplan."""
        self._admission.close()
        for call_id, call in self._calls.items():
            if not call.connected:
                self._carrying[call_id].cancel()

    async def drain(self) -> None:
        """No new calls; running ones may finish within `calls.drain_s`, then they hear the goodbye."""
        self._admission.close()
        if not await self._wait_idle(self._setup.calls.drain_s):
            log.info("drain: %d calls get their goodbye", len(self._calls))
            for call in self._calls.values():
                call.end_politely()
            await self._wait_idle(longest_goodbye_s(self._setup.profiles.values()))

    def _tell_unserved(self, urls: Sequence[str], found: Sequence[Health]) -> None:
        """Once for each, and again when it says another: until then requests get apologies for answers."""
        for url, said in zip(urls, found, strict=True):
            if said.unserved and said.unserved != self._unserved.get(url):
                log.warning("%s", said.unserved)
            if said.ready or said.unserved:
                self._unserved[url] = said.unserved

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
