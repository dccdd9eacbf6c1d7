"""The figures of benchmarks.stt: word errors, load, and the sounds in which nobody speaks."""

import asyncio
import wave
from pathlib import Path

import numpy as np
import pytest

from benchmarks.stt import in_turn, put_under
from benchmarks.stt_clips import Clip, CorpusError, in_noise, sentences, speechless
from benchmarks.stt_score import error_rate, word_errors, words
from benchmarks.stt_subjects import OneAtATime


@pytest.mark.parametrize(
    ("spoken", "written"),
    [
        ("You can reach me at five five five, zero one four two.", "You can reach me at 555-0142."),
        ("I live at twenty three Maple Street", "I live at 23 Maple Street."),
        ("the nineteenth of August, nineteen eighty four", "the 19th of August 1984"),
        ("What is fifteen percent of two hundred and forty?", "What is 15% of 240?"),
        ("one thousand five hundred", "1,500"),
        ("two thousand and three, thirty", "2003 30"),
        ("nineteen dollars", "$19"),
        ("the third and the twentieth", "The 3rd and the 20th"),
        ("J, O, H, N", "J-O-H-N"),
        ("I don’t", "i don't"),
        ("salt and pepper", "Salt & pepper"),
    ],
)
def test_the_same_words_spelled_in_two_ways(spoken: str, written: str) -> None:
    assert words(spoken) == words(written)


def test_twenty_and_three_are_not_always_one_number() -> None:
    assert words("three twenty") == ["3", "2", "0"]
    assert words("one hundred") == ["1", "0", "0"]
    assert words("two and three") == ["2", "and", "3"]


@pytest.mark.parametrize(
    ("heard", "right", "errors"),
    [("a b c", "a b c", 0), ("a c", "a b c", 1), ("a b b c", "a b c", 1), ("a x c", "a b c", 1), ("", "a b", 2)],
)  # fmt: skip
def test_word_errors(heard: str, right: str, errors: int) -> None:
    assert word_errors(heard.split(), right.split()) == errors


def test_the_rate_is_over_all_words() -> None:
    assert error_rate([("a b c", "a b c"), ("x", "y")]) == 25
    assert error_rate([]) == 0
    assert error_rate([("", "a b"), ("a", "")]) == 150


def clip(said: str = "Hello.", seconds: float = 1.0) -> Clip:
    speech = np.zeros(int(8000 * seconds))
    speech[2000:4000] = 0.1 * np.sin(np.arange(2000) * 0.5)
    return Clip(said, (speech * 32767).astype("<i2").tobytes(), said)


def test_noise_is_so_much_below_the_speech_and_the_same_again() -> None:
    (noisy,) = in_noise([clip()], 10.0)
    assert noisy == in_noise([clip()], 10.0)[0]
    added = (np.frombuffer(noisy.pcm, "<i2") / 32767) - (np.frombuffer(clip().pcm, "<i2") / 32767)
    assert 20 * np.log10(0.1 / np.sqrt(2) / added.std()) == pytest.approx(10, abs=0.2)


def test_nobody_speaks_in_silence_and_noise() -> None:
    sounds = list(speechless())
    assert {one.said for one in sounds} == {""}
    assert max(one.seconds for one in sounds) == 8
    assert [one.pcm for one in sounds] == [one.pcm for one in speechless()]


def test_a_corpus(tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "a.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(16_000))
    (tmp_path / "transcripts.tsv").write_text("file\tvoice\ttext\na.wav\tx\tHello.\n")
    (read,) = sentences(tmp_path)
    assert (read.name, read.seconds, read.said) == ("a", 1.0, "Hello.")
    (tmp_path / "transcripts.tsv").write_text("file\ttext\n")
    with pytest.raises(CorpusError, match="names no recording"):
        sentences(tmp_path)
    with pytest.raises(CorpusError, match=r"transcripts\.tsv cannot be read"):
        sentences(tmp_path / "nowhere")


async def test_every_clip_is_heard_once_and_so_many_wait_at_a_time() -> None:
    subject = Counting()
    load = await put_under(subject, [clip(str(number)) for number in range(10)], 4)
    assert sorted(answer.text for answer in load.answers) == sorted(str(number) for number in range(10))
    assert subject.most == 4
    assert (load.error_rate, load.unanswered) == (0.0, 0)
    assert load.wait_ms(50, (2.0, 3.0)) == "-"


async def test_who_still_waits_after_the_limit_hangs_up() -> None:
    subject = Slow()
    load = await put_under(subject, [clip() for _ in range(8)], 4, limit_s=0.2)
    assert (len(load.answers), load.unanswered) == (1, 4)
    assert load.wait_ms(50) == "over 200"
    assert subject.left == 4


async def test_each_clip_goes_to_all_and_none_is_begun_when_the_time_is_over() -> None:
    one, two = Counting(), Counting()
    loads = await in_turn([one, two], [clip("a"), clip("b")], 60)
    assert [[answer.text for answer in load.answers] for load in loads] == [["a", "b"], ["a", "b"]]
    loads = await in_turn([one, two], [clip("a"), clip("b")], -1)
    assert [len(load.answers) for load in loads] == [0, 0]


class Slow(OneAtATime):
    """The first is heard at once, nobody else."""

    def __init__(self) -> None:
        super().__init__("slow", lambda *_, **__: ([], None))
        self.asked = self.left = 0

    async def hear(self, clip: Clip) -> str:
        self.asked += 1
        if self.asked == 1:
            return clip.said
        try:
            await asyncio.Event().wait()
        finally:
            self.left += 1
        return ""


class Counting(OneAtATime):
    """Hears what is said; `most` is how many asked at once."""

    def __init__(self) -> None:
        super().__init__("counting", lambda *_, **__: ([], None))
        self.now = self.most = 0

    async def hear(self, clip: Clip) -> str:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0)
        self.now -= 1
        return clip.said
