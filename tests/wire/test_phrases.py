"""Ready phrases: made by a TTS worker over HTTP, kept on disk."""

import asyncio
from pathlib import Path

import pytest

from gpu_workers.client import TtsClient
from stasis_app.phrases import PhraseBook
from stasis_app.settings import Phrases, Profile
from tests.support.fake_workers import Fault, fake_workers
from tests.support.full_disk import files_no_longer_than

QUIET = Phrases(apology="", goodbye="", trouble="", not_heard="", still_there="", filler="")
FIRST = Profile(prompt="p", greeting="A greeting.", voice="nobody", phrases=QUIET)
SECOND = Profile(prompt="p", greeting="Good day.", phrases=QUIET)


def book(tts: TtsClient, folder: Path) -> PhraseBook:
    return PhraseBook(tts, folder, "fake", lambda _: 8000)


def kept_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.pcm"))


async def test_a_phrase_the_worker_refuses_keeps_only_its_own_profile_from_calls(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with fake_workers() as fakes, TtsClient(fakes.tts_url) as tts:
        fakes.tts.faults = [Fault.status(400)]
        phrases = book(tts, tmp_path)
        async with asyncio.timeout(10):
            await phrases.learn([FIRST, SECOND])
        assert phrases.knows(SECOND)
        assert not phrases.knows(FIRST)
    assert "voice nobody" in caplog.text
    assert "A greeting." in caplog.text


async def test_phrases_outlive_the_worker(tmp_path: Path) -> None:
    async with fake_workers() as fakes, TtsClient(fakes.tts_url) as tts:
        await book(tts, tmp_path).learn([SECOND])
    async with TtsClient(fakes.tts_url) as nobody:
        later = book(nobody, tmp_path)
        async with asyncio.timeout(10):
            await later.learn([SECOND])
        assert later.get("Good day.", None, 8000)


async def test_a_phrase_is_found_as_it_is_written_and_made_as_it_is_spoken(tmp_path: Path) -> None:
    profile = Profile(prompt="x", greeting="A plan costs $19. Call 555-0142.", disclosure="**Recorded.**")
    async with fake_workers() as workers, TtsClient(workers.tts_url) as tts:
        book = PhraseBook(tts, tmp_path, "joe", lambda _: 8000)
        await book.learn([profile])
        spoken = {one.text for one in workers.tts.spoken}
    assert {"A plan costs 19 dollars. Call 5 5 5, 0 1 4 2.", "Recorded."} <= spoken
    assert book.get(profile.greeting, None, 8000)
    assert book.knows(profile)


async def test_a_file_of_half_a_sample_is_made_anew(tmp_path: Path) -> None:
    async with fake_workers() as fakes, TtsClient(fakes.tts_url) as tts:
        await book(tts, tmp_path).learn([SECOND])
        (kept,) = kept_in(tmp_path)
        whole = kept.read_bytes()
        kept.write_bytes(whole[:-1])
        again = book(tts, tmp_path)
        await again.learn([SECOND])
    assert len(fakes.tts.spoken) == 2
    assert again.get("Good day.", None, 8000)
    assert len(kept.read_bytes()) == len(whole)


async def test_another_pronunciation_is_made_anew_and_nobody_waits_for_a_phrase(tmp_path: Path) -> None:
    async with fake_workers() as fakes, TtsClient(fakes.tts_url) as tts:
        await book(tts, tmp_path).learn([SECOND])
        said = SECOND.model_copy(update={"pronunciations": {"good": "gude"}})
        later = book(tts, tmp_path)
        await later.learn([said])
        assert [one.text for one in fakes.tts.spoken] == ["Good day.", "gude day."]
        assert {one.left_ms for one in fakes.tts.spoken} == {60_000}
    assert later.get("Good day.", None, 8000)


async def test_a_disk_that_keeps_nothing_keeps_nobody_from_calls(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Fault A14: the phrases are there for this run, and it is said once."""
    (tmp_path / "full").touch()
    async with fake_workers() as fakes, TtsClient(fakes.tts_url) as tts:
        phrases = book(tts, tmp_path / "full" / "phrases")
        async with asyncio.timeout(10):
            await phrases.learn([FIRST, SECOND])
        assert phrases.knows(FIRST)
        assert phrases.knows(SECOND)
    assert len(caplog.messages) == 1
    assert "ready phrases cannot be kept in" in caplog.messages[0]


async def test_phrases_are_for_their_owner_and_half_of_one_is_not_left(tmp_path: Path) -> None:
    folder = tmp_path / "phrases"
    async with fake_workers() as fakes, TtsClient(fakes.tts_url) as tts:
        with files_no_longer_than(1000):
            await book(tts, folder).learn([FIRST])
        assert list(folder.iterdir()) == []
        await book(tts, folder).learn([FIRST])
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in folder.iterdir()] == [0o600]
