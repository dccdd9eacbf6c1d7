"""Fake model workers as a process of its own: real HTTP, answers always alike and as late as they are told.

    python -m benchmarks.load_kit.workers [--stt-ms 150] [--first-token-ms 200] [--token-ms 15] [--tts-ms 80]

It writes the three addresses as one line of JSON and runs until SIGTERM. The voice speaks a tone a sentence.
"""

import argparse
import asyncio
import json
import signal
from collections.abc import Sequence

from tests.support.fake_workers import FakeWorkers, fake_workers

QUESTION = "How much does the monthly plan cost?"
"""What every caller is heard to say: a whole sentence, so that its turn ends after the shortest wait."""
ANSWER = "The monthly plan costs nineteen dollars. It covers one bicycle and two visits."
_SECONDS_A_CHAR = 0.05
_FORGET_EVERY_S = 2.0


def latency_arguments(parser: argparse.ArgumentParser) -> None:
    """The options above."""
    for name, ms, what in (
        ("stt-ms", 150, "a transcript takes this long"),
        ("first-token-ms", 200, "the model's first token comes after this"),
        ("token-ms", 15, "and each further word after this"),
        ("tts-ms", 80, "the first sound of a sentence comes after this"),
    ):
        parser.add_argument(f"--{name}", type=float, default=ms, help=f"fakes: {what} (%(default)s)")


def as_arguments(chosen: argparse.Namespace) -> list[str]:
    """The options as they were given, for the command line of this process."""
    return [
        f"--stt-ms={chosen.stt_ms}",
        f"--first-token-ms={chosen.first_token_ms}",
        f"--token-ms={chosen.token_ms}",
        f"--tts-ms={chosen.tts_ms}",
    ]


async def serve(chosen: argparse.Namespace) -> None:
    async with fake_workers() as fakes:
        fakes.stt.choose = lambda _: QUESTION
        fakes.stt.delay_s = chosen.stt_ms / 1000
        fakes.llm.replies = [ANSWER]
        fakes.llm.delay_s = chosen.first_token_ms / 1000
        fakes.llm.token_delay_s = chosen.token_ms / 1000
        fakes.tts.delay_s = chosen.tts_ms / 1000
        # as a voice that makes its sound five times faster than it is spoken
        fakes.tts.chunk_delay_s = 0.02
        fakes.tts.seconds_per_char = _SECONDS_A_CHAR
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        print(json.dumps({"stt": fakes.stt_url, "llm": fakes.llm_url, "tts": fakes.tts_url}), flush=True)
        while not stop.is_set():
            _forget(fakes)
            try:
                await asyncio.wait_for(stop.wait(), _FORGET_EVERY_S)
            except TimeoutError:
                continue


def _forget(fakes: FakeWorkers) -> None:
    """What they keep for a test to look at."""
    for kept in (fakes.stt.requests, fakes.llm.requests, fakes.llm.read_ahead, fakes.tts.spoken):
        kept.clear()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    latency_arguments(parser)
    chosen = parser.parse_args(arguments)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.run(serve(chosen))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
