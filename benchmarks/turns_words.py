"""The words of the turns that the other ways made: each read by our recogniser, as the turn was cut."""

from collections.abc import Sequence

from benchmarks import turns_pipecat
from benchmarks.turns_corpus import Clip
from benchmarks.turns_run import Outcome
from gpu_workers.client import SttClient

_SAID = ("finished", "unfinished", "interrupt")


async def fixed_words(stt: SttClient, outcomes: Sequence[Outcome]) -> dict[str, str]:
    """By clip; of those that `words_lost` counts."""
    return {
        outcome.job.clip.name: await _read(stt, [(one.pcm, one.rate) for one in outcome.fixed_turns])
        for outcome in outcomes
        if outcome.job.clip.kind in _SAID
    }


async def peer_words(stt: SttClient, clips: Sequence[Clip], peer: turns_pipecat.Events) -> dict[str, str]:
    """By clip; of those that `words_lost` counts."""
    return {
        clip.name: await _read(stt, [(pcm, 8000) for pcm in turns_pipecat.turns(clip, peer)])
        for clip in clips
        if clip.kind in _SAID
    }


async def _read(stt: SttClient, turns: Sequence[tuple[bytes, int]]) -> str:
    """A turn that was never finished is none; neither is one without sound."""
    return " / ".join(
        [
            (
                await stt.transcribe(
                    pcm, rate, priority="final", deadline_ms=None, call_id="turns", language="en"
                )
            ).text
            for pcm, rate in turns
            if pcm
        ]
    )
