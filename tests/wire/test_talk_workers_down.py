"""Every worker dead from the start, after one good run: what the caller hears comes from the disk (W13)."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from stasis_app.settings import Phrases
from tests.support.fake_workers import fake_workers
from tests.support.talk import GREETING, PROFILE, talk

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]

PHRASES = Phrases()
DISCLOSED = PROFILE.model_copy(update={"disclosure": "Calls are recorded here.", "no_input_s": 3.0})


def test_all_ready_phrases_play_with_every_worker_down(virtual_time: RunVirtual, tmp_path: Path) -> None:
    async def main() -> None:
        async with fake_workers() as workers, talk(DISCLOSED, workers=workers, folder=tmp_path) as scene:
            await scene.until_said(GREETING)
        made = len(workers.tts.spoken)
        # their sockets are closed now
        async with talk(DISCLOSED, workers=workers, folder=tmp_path) as scene:
            await scene.until_heard(DISCLOSED.disclosure)
            await scene.until_heard(GREETING)
            await scene.ask("Nobody reads this.")
            await scene.until_heard(PHRASES.apology)
            await scene.until_heard(PHRASES.still_there)
            await scene.ask("Nor this.")
            await scene.until_heard(PHRASES.trouble)
            await scene.until(lambda: not scene.is_up)
            kinds = [saying for saying, *_ in scene.said()]
        assert len(workers.tts.spoken) == made
        assert {"greeting", "apology", "still_there"} <= set(kinds)

    virtual_time(main())


def test_silence_is_asked_about_and_ends_with_a_farewell_without_a_worker(
    virtual_time: RunVirtual, tmp_path: Path
) -> None:
    async def main() -> None:
        async with fake_workers() as workers, talk(PROFILE, workers=workers, folder=tmp_path) as scene:
            await scene.until_said(GREETING)
        async with talk(PROFILE, workers=workers, folder=tmp_path) as scene:
            await scene.until(lambda: not scene.is_up, 60)
            assert scene.heard_s(PHRASES.goodbye) > 0.9 * scene.whole_s(PHRASES.goodbye)
            kinds = [saying for saying, *_ in scene.said()][-4:]
            assert kinds == ["greeting", "still_there", "still_there", "goodbye"]

    virtual_time(main())


def test_an_answer_that_hangs_is_bridged_by_the_filler_from_the_disk(
    virtual_time: RunVirtual, tmp_path: Path
) -> None:
    async def main() -> None:
        async with fake_workers() as workers:
            async with talk(PROFILE, workers=workers, folder=tmp_path) as scene:
                await scene.until_said(GREETING)
            workers.llm.delay_s = 60.0
            made = len(workers.tts.spoken)
            async with talk(PROFILE, workers=workers, folder=tmp_path) as scene:
                await scene.ask("How much is it?")
                await scene.until_heard(PHRASES.filler)
                await scene.until_heard(PHRASES.apology)
        assert len(workers.tts.spoken) == made

    virtual_time(main())
