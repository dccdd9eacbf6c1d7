"""Whole calls over every transport at once: for each its own bot, workers and caller, on one Asterisk.

    @over_every_transport
    async def test_a_greeting_is_heard(line: Line) -> None:
        async with line.bot(), line.call() as call:
            await call.wait_for_bot_speech(5)

The test runs three times side by side, so it takes the time of one call; what fails says over which transport.
"""

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from caller_phone.call import Call
from caller_phone.phone import Phone
from media_bridge.settings import MediaSettings, TransportName
from stasis_app.ari.names import LegNames
from stasis_app.settings import CallSettings, Profile
from tests.support.bot import MEDIA, PROFILE, Bot, left_in, running_bot
from tests.support.fake_workers import FakeWorkers, fake_workers
from tests.support.rig import two_ports
from voicebot.asterisk import AsteriskProcess

TRANSPORTS: tuple[TransportName, ...] = get_args(TransportName)

Test = Callable[..., Coroutine[Any, Any, None]]


def app_of(transport: TransportName) -> str:
    return f"over-{transport}"


def extension_of(transport: TransportName) -> str:
    return str(7001 + TRANSPORTS.index(transport))


async def add_extensions(asterisk: AsteriskProcess) -> None:
    """A number for each transport's bot, in the dialplan of a running Asterisk: as 1000, with another app."""
    for transport in TRANSPORTS:
        steps = (
            "Gosub(voicebot-before,s,1)",
            f"Gosub(voicebot-talk,s,1(default,{app_of(transport)}))",
            "Goto(voicebot-after,s,1)",
        )
        for priority, step in enumerate(steps, 1):
            await asterisk.cli(
                f"dialplan add extension {extension_of(transport)},{priority},{step} into phones"
            )


@dataclass(frozen=True, slots=True)
class Line:
    """One transport's part of a test."""

    transport: TransportName
    asterisk: AsteriskProcess
    workers: FakeWorkers
    phone: Phone
    folder: Path
    meeting: asyncio.Barrier

    @property
    def app(self) -> str:
        """The name of `bot` in Asterisk."""
        return app_of(self.transport)

    @property
    def transcript(self) -> Path:
        """Where `bot` writes what was said."""
        return self.folder / "transcript.jsonl"

    @property
    def number(self) -> str:
        return f"sip:{extension_of(self.transport)}@127.0.0.1:{self.asterisk.sip_port}"

    def bot(
        self,
        *,
        profile: Profile = PROFILE,
        profile_name: str = "default",
        media: MediaSettings = MEDIA,
        calls: CallSettings | None = None,
        transport: TransportName | None = None,
    ) -> AbstractAsyncContextManager[Bot]:
        """The call process that takes this line's calls, over its own transport unless another is given."""
        return running_bot(
            self.asterisk,
            self.workers,
            self.folder,
            app=self.app,
            profile=profile,
            profile_name=profile_name,
            media=media.model_copy(
                update={"transport": transport or self.transport, "audiosocket_port": two_ports()}
            ),
            calls=calls,
            transcript=self.transcript,
        )

    def call(self) -> AbstractAsyncContextManager[Call]:
        return self.phone.call(self.number, caller=self._caller)

    async def nothing_left(self, within_s: float = 5) -> None:
        """Fails unless Asterisk comes to have no channel and no bridge of this line."""
        names = LegNames(self.app)
        await left_in(
            self.asterisk,
            app=f"nothing-left-{self.transport}",
            channel=lambda it: it["caller"]["number"] == self._caller or names.run_of(it["id"]) is not None,
            bridge=lambda it: names.run_of(it["id"]) is not None,
            within_s=within_s,
        )

    async def meet(self) -> None:
        """Wait until the lines of all transports have come here."""
        await self.meeting.wait()

    @property
    def _caller(self) -> str:
        return f"caller.{self.transport}"


def over_every_transport(scenario: Test) -> Test:
    """Make a test of a coroutine function whose first parameter is `line`; the others are fixtures."""

    async def test(asterisk: AsteriskProcess, tmp_path: Path, **fixtures: object) -> None:
        meeting = asyncio.Barrier(len(TRANSPORTS))
        folders = {one: tmp_path / one for one in TRANSPORTS}
        for folder in folders.values():
            folder.mkdir()
        # the planes of one process set and restore this limit in no order
        with threadpool_limits(1, "blas"):
            outcomes = await asyncio.gather(
                *(_play(scenario, one, asterisk, folders[one], meeting, fixtures) for one in TRANSPORTS)
            )
        failed = {one: error for one, error in zip(TRANSPORTS, outcomes, strict=True) if error is not None}
        if failed:
            raise ExceptionGroup(f"over {' and '.join(failed)}", list(failed.values()))

    functools.update_wrapper(test, scenario)
    # pytest reads from the signature which fixtures are wanted
    del test.__dict__["__wrapped__"]
    others = list(inspect.signature(scenario).parameters.values())[1:]
    own = [it for it in inspect.signature(test).parameters.values() if it.kind is not it.VAR_KEYWORD]
    test.__dict__["__signature__"] = inspect.Signature([*own, *others])
    return test


async def _play(
    scenario: Test,
    transport: TransportName,
    asterisk: AsteriskProcess,
    folder: Path,
    meeting: asyncio.Barrier,
    fixtures: dict[str, object],
) -> Exception | None:
    """What it failed with; None too where only another line's failure ended it."""
    try:
        async with fake_workers() as workers, Phone() as phone:
            await scenario(Line(transport, asterisk, workers, phone, folder, meeting), **fixtures)
    except asyncio.BrokenBarrierError:
        return None
    except Exception as error:  # noqa: BLE001 - told once all lines are done
        error.add_note(f"over {transport}")
        await meeting.abort()
        return error
    return None
