"""What a Serve config file says of one application, under `args`. Bad values are refused when it is deployed."""

import os
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, SecretStr, model_validator

from gpu_workers.errors import ModelError
from gpu_workers.settings import HomePath, Settings, SttSettings, TtsSettings, WorkerSettings

_OF_ONE_MACHINE = ("start", "url", "more_urls", "host", "port", "api_key")
_Count = Annotated[int, Field(ge=1, le=1000)]


class Replicas(Settings):
    """How many there are, and when there are more."""

    min_replicas: _Count = 1
    max_replicas: _Count = 1
    waiting_per_replica: float = Field(
        2.0,
        gt=0,
        description="More requests than this being made or waiting, per replica: one more is started.",
    )
    upscale_delay_s: float = Field(
        5.0, gt=0, le=600, description="That many for so long, and one more is started."
    )
    downscale_delay_s: float = Field(
        300.0, gt=0, le=86_400, description="Fewer for so long, and one that is idle is let go."
    )
    cpus: float = Field(1.0, ge=0, description="Cores that a replica is given.")
    gpus: float | None = Field(
        None,
        ge=0,
        description="Cards, or a share of one; as its device says if not given: one, or none on the CPU.",
    )
    needs: dict[str, float] = Field(
        {},
        description="Resources of your own that a machine must have, e.g. {senses: 0.01}: keeps models apart.",
    )
    cache_dir: HomePath = Field(Path("/models"), description="Where models are kept on each machine.")
    api_key_env: str | None = Field(
        None, description="The variable of the replicas' environment that holds the key asked of clients."
    )

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        if self.max_replicas < self.min_replicas:
            raise ValueError("max_replicas must not be below min_replicas")
        return self

    def api_key(self) -> SecretStr | None:
        """As the environment of this machine has it. Raises ModelError: a key that is missing is no open door."""
        if self.api_key_env is None:
            return None
        key = os.environ.get(self.api_key_env, "")
        if not key:
            raise ModelError(
                f"api_key_env names {self.api_key_env}, which is not in the environment of this machine"
            )
        return SecretStr(key)


class SttApplication(Replicas):
    """`args` of gpu_workers.cluster.applications:stt."""

    worker: SttSettings = SttSettings()

    @model_validator(mode="after")
    def _of_a_cluster(self) -> Self:
        _check(self.worker)
        return self


class TtsApplication(Replicas):
    """`args` of gpu_workers.cluster.applications:tts."""

    worker: TtsSettings = TtsSettings()

    @model_validator(mode="after")
    def _of_a_cluster(self) -> Self:
        _check(self.worker)
        return self


def gpus(replicas: Replicas, worker: WorkerSettings) -> float:
    """What Ray is asked for. A replica sees only the cards it was given."""
    if replicas.gpus is not None:
        return replicas.gpus
    return 0.0 if worker.device == "cpu" else 1.0


def _check(worker: WorkerSettings) -> None:
    if worker.device not in {"cpu", "cuda"}:
        raise ValueError(f"worker.device must be cpu or cuda, is {worker.device}: Ray chooses the card")
    wrong = [name for name in _OF_ONE_MACHINE if name in worker.model_fields_set]
    if wrong:
        raise ValueError(
            f"worker.{wrong[0]} means nothing on a cluster"
            + (": write api_key_env" if wrong[0] == "api_key" else "; take it out")
        )
