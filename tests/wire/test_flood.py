"""20,000 datagrams a second of strangers' garbage, on a core of the bot's own (docs/media-faults.md, M9)."""

import asyncio
import logging
import random
import socket
from contextlib import AsyncExitStack
from itertools import pairwise

import numpy as np
import pytest

from media_bridge.plane import MediaPlane
from media_bridge.rtp import sequence_distance, timestamp_distance
from media_bridge.session import MediaSession
from media_bridge.settings import MediaSettings
from media_bridge.stats import MediaStats
from tests.support.own_core import OwnCoreLoop
from tests.support.packet_calls import TICK_S, Phone, noted, phones
from tests.support.virtual_time import run_virtual

SETTINGS = MediaSettings(port_start=28_200, port_end=28_298)
SECONDS = 4.0
A_TICK = 400
# heard by the bot and flooded; flooded before anything was heard; garbage of the peer itself among its packets; neither
FLOODED, YOUNG, GARBLED, BESIDE = range(4)


class Flood:
    """Random bytes, 1 to 1500 of them, to two calls in turn."""

    def __init__(self, sessions: list[MediaSession]) -> None:
        chance = random.Random(1)
        self._garbage = [chance.randbytes(chance.randint(1, 1500)) for _ in range(997)]
        self._targets = [(session.offer.host, session.offer.port) for session in sessions]
        self.sent = 0

    def tick(self, stranger: socket.socket) -> None:
        for _ in range(A_TICK):
            stranger.sendto(self._garbage[self.sent % 997], self._targets[self.sent % 2])
            self.sent += 1

    def from_peer(self, phone: Phone) -> None:
        for number in range(5):
            phone.send(self._garbage[(self.sent + number) % 997])


async def talk(callers: list[Phone], stranger: socket.socket, flooded: bool) -> tuple[list[MediaStats], int]:
    """What each call counted, and how many datagrams strangers sent."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, OwnCoreLoop)
    async with MediaPlane(SETTINGS) as plane, AsyncExitStack() as stack:
        sessions = []
        for number, phone in enumerate(callers):
            session = await stack.enter_async_context(plane.open(f"call-{number}", lambda _event: None))
            phone.talk_to(session.offer.host, session.offer.port)
            await session.connect(phone.address)
            sessions.append(session)
        flood = Flood([sessions[FLOODED], sessions[YOUNG]])
        start = loop.time()
        for tick in range(int(SECONDS / TICK_S)):
            await asyncio.sleep(start + tick * TICK_S - loop.time())
            # phones and strangers are other machines
            with loop.not_counted():
                for number, phone in enumerate(callers):
                    phone.tick(silent=number == YOUNG)
                if flooded and tick > 10:
                    flood.tick(stranger)
                    flood.from_peer(callers[GARBLED])
        await asyncio.sleep(0.1)
        return [session.stats() for session in sessions], flood.sent


@pytest.mark.parametrize("flooded", [False, True], ids=["calm", "flooded"])
def test_every_call_keeps_its_sound_and_the_kernel_turns_the_flood_away(
    flooded: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sockets = noted(monkeypatch)
    with phones(4) as callers, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        with caplog.at_level(logging.DEBUG, "media_bridge"):
            stats, sent = run_virtual(talk(callers, stranger, flooded), OwnCoreLoop)
        for phone in callers:
            phone.read()
    assert sent == (A_TICK * (SECONDS / TICK_S - 11) if flooded else 0)
    for number, (phone, sock, said) in enumerate(zip(callers, sockets, stats, strict=True)):
        assert len(phone.packets) == len(sock.sent_at) >= SECONDS / TICK_S
        assert {sequence_distance(b.sequence, a.sequence) for a, b in pairwise(phone.packets)} == {1}
        assert {timestamp_distance(b.timestamp, a.timestamp) for a, b in pairwise(phone.packets)} == {160}
        gaps = [b - a for a, b in pairwise(sock.sent_at)]
        assert np.percentile(gaps, 99) <= 0.025
        assert max(gaps) <= 0.060
        assert said.skipped == 0
        if number != YOUNG:
            # a fourth of the garbage looks like RTP, of another stream
            assert said.packets_in - SECONDS / TICK_S in (range(1000) if number == GARBLED else {0})
            assert said.lost == 0
            # the end of the stream is one
            assert said.concealed <= 5
    assert stats[YOUNG].packets_in == 0
    # what came within two ticks was read, some 2 us each; the rest never reached us
    assert sum(one.dropped.get("wrong_source", 0) for one in stats) <= 2 * A_TICK
    assert (stats[GARBLED].dropped != {}) is flooded
    written = [record for record in caplog.records if record.name.startswith("media_bridge")]
    assert len(written) <= SECONDS + 1
