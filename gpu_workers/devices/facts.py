"""What a machine has to run models on, as NVML and the kernel tell it. Pure: reading it is `nvml`'s part.

Sizes are bytes. As JSON (`Machine.model_dump_json`) it is a recording that a plan can be made for elsewhere.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

GIB = 1 << 30
MIB = 1 << 20

Bytes = Annotated[int, Field(ge=0, le=1 << 50)]
Mig = Literal["unsupported", "off", "on"]

# of one lane and direction: 5 GT/s with 8b/10b coding and 8, 16, 32, 64 GT/s with 128b/130b (PCI Express base specs)
_LANE_BYTES_S = {1: 250e6, 2: 500e6, 3: 985e6, 4: 1969e6, 5: 3938e6, 6: 7563e6}


class Fact(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Memory(Fact):
    """`reserved` is the driver's own and never a program's; CUDA programs see `total` less `reserved` as the whole."""

    total: Bytes
    reserved: Bytes = 0
    free: Bytes

    @property
    def usable(self) -> int:
        return max(0, self.total - self.reserved)


class User(Fact):
    """A process that holds memory of a card; `memory` None where the driver does not tell (containers, WDDM)."""

    pid: Annotated[int, Field(ge=0)]
    name: str = ""
    memory: Bytes | None = None


class Link(Fact):
    """The way to the card. `generation` falls while the card idles; `max_...` is what card and machine could do."""

    generation: Annotated[int, Field(ge=0, le=16)]
    max_generation: Annotated[int, Field(ge=0, le=16)]
    width: Annotated[int, Field(ge=0, le=64)]
    max_width: Annotated[int, Field(ge=0, le=64)]

    @property
    def narrow(self) -> bool:
        """Fewer lanes than the card could use, and so few that loading takes notice."""
        return 0 < self.width <= 4 and self.width < self.max_width

    def seconds(self, size: int, width: int) -> float:
        """To move `size` bytes over so many lanes at the best generation; protocol overhead left out."""
        lane = _LANE_BYTES_S[min(6, max(1, self.max_generation))]
        return size / (lane * max(1, width))


class Slice(Fact):
    """One MIG device, a part of a card with memory and cores of its own."""

    uuid: str
    name: str
    memory: Memory
    users: tuple[User, ...] = ()


class Card(Fact):
    """One GPU. `link` None where the driver does not tell (integrated, virtual)."""

    index: Annotated[int, Field(ge=0, le=1024)]
    name: str
    uuid: str
    memory: Memory
    compute_capability: tuple[Annotated[int, Field(ge=0, le=99)], Annotated[int, Field(ge=0, le=99)]]
    link: Link | None = None
    mig: Mig = "unsupported"
    slices: tuple[Slice, ...] = ()
    users: tuple[User, ...] = ()


class Host(Fact):
    """CPUs that this process may use, and memory; 0 where unknown."""

    cores: Annotated[int, Field(ge=0)] = 0
    memory_total: Bytes = 0
    memory_available: Bytes = 0


class Device(Fact):
    """What one process can be given: a whole card, or one MIG slice of it."""

    label: str
    uuid: str
    name: str
    card: Card
    memory: Memory
    users: tuple[User, ...]
    is_slice: bool


class Machine(Fact):
    """`problem` says why cards are missing although there may be some; `note` is for people."""

    cards: tuple[Card, ...] = ()
    host: Host = Host()
    driver: str = ""
    problem: str = ""
    note: str = ""

    def devices(self) -> Iterator[Device]:
        """Cards by number as `cuda:0`, slices as `cuda:0/0`; a card in MIG mode is its slices only."""
        for card in self.cards:
            label = f"cuda:{card.index}"
            if card.mig == "on":
                for place, part in enumerate(card.slices):
                    yield Device(
                        label=f"{label}/{place}",
                        uuid=part.uuid,
                        name=f"{card.name}, {part.name}",
                        card=card,
                        memory=part.memory,
                        users=part.users,
                        is_slice=True,
                    )
            else:
                yield Device(
                    label=label,
                    uuid=card.uuid,
                    name=card.name,
                    card=card,
                    memory=card.memory,
                    users=card.users,
                    is_slice=False,
                )


def gib(size: float) -> str:
    return f"{size / GIB:.2f} GiB"
