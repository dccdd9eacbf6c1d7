"""One Ray cluster for all tests of it: it takes longest to start."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from gpu_workers.models import fetch
from tests.cluster.ray_cluster import KEY, RayCluster, ray_cluster
from voicebot.cache import default_cache_dir


@pytest.fixture(scope="session")
def models() -> None:
    for model in ("whisper-tiny.en", "joe"):
        fetch(model, default_cache_dir(), print)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def ray(models: None) -> AsyncIterator[RayCluster]:
    async with ray_cluster(VOICEBOT_API_KEY=KEY) as running:
        yield running
