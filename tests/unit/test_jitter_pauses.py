"""A pause in which the sender sends something else than sound is no loss, and its end costs no sound."""

from collections.abc import Callable

import pytest

from media_bridge.settings import JitterSettings
from tests.support.network import Hearing, hear
from tests.support.pauses import Sender, voices

Pause = Callable[[Sender, int], None]


def key_and_pause(sender: Sender, frames: int) -> None:
    sender.key(5)
    sender.comfort_noise(frames - 5, every=10)


PAUSES: dict[str, Pause] = {
    "comfort noise once": lambda sender, frames: sender.comfort_noise(frames, every=0),
    "comfort noise every 100 ms": lambda sender, frames: sender.comfort_noise(frames, every=5),
    "a key": lambda sender, frames: sender.key(frames),
    "a key and a pause": key_and_pause,
}
LENGTHS = (6, 25, 60, 33, 700)


def talk(pause: Pause) -> Sender:
    sender = Sender()
    for frames in LENGTHS:
        sender.voice(40)
        pause(sender, frames)
    sender.voice(40)
    return sender


def played(hearing: Hearing) -> list[int]:
    return [number for _, number in hearing.numbers()]


def until_the_end(hearing: Hearing) -> str:
    """The shape from the first frame to the last."""
    return hearing.shape.strip("WL")


@pytest.mark.parametrize("name", PAUSES)
def test_no_frame_is_taken_for_lost_and_none_of_a_talkspurt_is_dropped(name: str) -> None:
    sender = talk(PAUSES[name])
    hearing = hear(sender.sent, sender.at + 0.2)
    assert played(hearing) == voices(sender.sent)
    assert "L" not in until_the_end(hearing)
    assert until_the_end(hearing) == "W".join("F" * 40 + "W" * (n - 1) for n in LENGTHS) + "W" + "F" * 40
    assert hearing.buffer.stats.dropped == hearing.buffer.stats.inserted == 0


@pytest.mark.parametrize("name", PAUSES)
def test_packets_out_of_order_change_nothing(name: str) -> None:
    sender = talk(PAUSES[name])
    # every fifth packet two places later
    moved = [(at + (0.041 if n % 5 == 2 else 0.001), packet) for n, (at, packet) in enumerate(sender.sent)]
    hearing = hear(moved, sender.at + 0.2, JitterSettings(min_ms=80))
    assert played(hearing) == voices(sender.sent)
    assert "L" not in until_the_end(hearing)


@pytest.mark.parametrize("name", PAUSES)
def test_each_lost_packet_beside_a_pause_costs_its_own_frame(name: str) -> None:
    whole = talk(PAUSES[name]).sent
    kinds = [packet.payload_type for _, packet in whole]
    first = [n for n in range(1, len(whole)) if kinds[n] == 0 != kinds[n - 1]]
    last = [n for n in range(len(whole) - 1) if kinds[n] == 0 != kinds[n + 1]]
    for lost in (first, last, [n for n in range(len(whole) - 1) if n % 23 == 11]):
        arrived = [pair for n, pair in enumerate(whole) if n not in lost]
        hearing = hear(arrived, whole[-1][0] + 0.2)
        assert played(hearing) == voices(arrived)
        # nobody can tell what a packet beside the sound held; those in the middle of the pause were no sound
        beside = [n for n in lost if 0 in kinds[n - 1 : n + 2]]
        assert until_the_end(hearing).count("L") <= len(beside)
        assert len(until_the_end(hearing)) == len(voices(whole)) + sum(LENGTHS)


def test_the_last_frame_before_a_pause_is_concealed_when_it_is_lost() -> None:
    whole = talk(PAUSES["comfort noise once"]).sent
    arrived = [pair for n, pair in enumerate(whole) if n != 39]
    hearing = hear(arrived, 3.0)
    assert until_the_end(hearing)[38:42] == "FLWW"


def test_a_loss_in_the_middle_of_a_pause_that_nothing_announced_is_one_frame() -> None:
    sender = Sender()
    sender.voice(40)
    sender.nothing(60)
    sender.voice(40)
    arrived = [pair for n, pair in enumerate(sender.sent) if n != 40]
    hearing = hear(arrived, sender.at + 0.2)
    assert played(hearing) == voices(arrived)
    # before the next packet nobody can tell a pause from a loss: five frames fade
    assert until_the_end(hearing) == "F" * 40 + "L" * 5 + "W" * 56 + "F" * 39


def test_a_source_that_begins_with_comfort_noise_has_lost_nothing() -> None:
    sender = Sender()
    sender.comfort_noise(50, every=10)
    sender.voice(20)
    sender.comfort_noise(20, every=0)
    sender.voice(20)
    hearing = hear(sender.sent, sender.at + 0.2)
    assert "L" not in until_the_end(hearing)
    assert hearing.buffer.stats.received == 40
