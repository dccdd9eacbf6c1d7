"""Which public packages are measured beside ours, and how `benchmarks.media` and `benchmarks.turns` run them.

    for peer in MEDIA_PEERS:
        try:
            python = environment(peer.packages, peer.pythons, say)
        except PeerMissingError as error:
            ...                     # str(error) goes into the table in place of figures
        subject = peer.command(python)      # keeps to the seam of benchmarks.media_load.subject, and says `answered`
        callers = peer.callers              # in the place of benchmarks.media_load.callers, run with our own Python

Neither peer speaks RTP, so each has callers of its own medium. What of a peer runs and what does not stands at the
head of its program.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.environment import Packages, Python

PIPECAT = Packages("pipecat", "140 MB to download, 510 MB on disk")
VOICE_AGENT = Packages("asterisk-ai-voice-agent", "30 MB to download, 190 MB on disk")


@dataclass(frozen=True, slots=True)
class MediaPeer:
    """A peer of `benchmarks.media`. `name` has no blanks: it is the value of `peer=`."""

    name: str
    packages: Packages
    pythons: tuple[Python, ...]
    program: str
    medium: str
    options: tuple[str, ...] = ()

    def command(self, python: Path) -> list[str]:
        """To be run in the root of the repository, as `callers`."""
        return [str(python), "-m", f"benchmarks.peers.{self.program}", *self.options]

    @property
    def callers(self) -> list[str]:
        return [sys.executable, "-m", "benchmarks.peers.stream_callers", self.medium]


MEDIA_PEERS = (
    MediaPeer(
        "asterisk-ai-voice-agent",
        VOICE_AGENT,
        ((3, 11), (3, 12), (3, 13)),
        "voice_agent_subject",
        "audiosocket",
    ),
    MediaPeer("pipecat-asterisk", PIPECAT, ((3, 12), (3, 13)), "pipecat_subject", "websocket"),
    MediaPeer(
        "pipecat-asterisk+turns",
        PIPECAT,
        ((3, 12), (3, 13)),
        "pipecat_subject",
        "websocket",
        ("--turns",),
    ),
)

# for benchmarks.turns: `pipecat-ai` alone also runs on 3.11, but an environment for both is enough
PIPECAT_TURNS_PYTHONS: tuple[Python, ...] = ((3, 12), (3, 13), (3, 11))


def pipecat_turns(python: Path) -> list[str]:
    """The command of `pipecat_turns`, which reads its request from standard input. For the root of the repository."""
    return [str(python), "-m", "benchmarks.peers.pipecat_turns"]
