"""What is read of a driver: NVIDIA's own binding runs, on a library that the test plays."""

import builtins
import sys
from typing import Any

import pynvml  # type: ignore[import-untyped]
import pytest

from gpu_workers.devices.facts import Link, Machine, Memory, User
from gpu_workers.devices.nvml import this_machine
from tests.support.fake_nvml import FakeNvml, driver
from tests.support.machines import NAMES, machine

WITH_CARDS = [name for name in NAMES if machine(name).cards]


def read(fake: FakeNvml | None) -> Machine:
    with driver(fake):
        found = this_machine()
    if fake:
        assert fake.open == 0  # what was opened is closed, also after an error
    return found


@pytest.mark.parametrize("name", WITH_CARDS)
def test_every_fact_of_every_card_is_read(name: str) -> None:
    expected = machine(name)
    found = read(FakeNvml(expected))
    assert (found.cards, found.driver, found.problem) == (expected.cards, expected.driver, "")


def test_a_machine_without_a_driver_is_one_without_a_gpu() -> None:
    found = read(None)
    assert (found.cards, found.problem) == ((), "")
    assert found.host.cores >= 1
    if sys.platform == "linux":
        assert found.host.memory_total > found.host.memory_available > 1 << 20


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH,
            "the driver was updated while it ran: restart the machine",
        ),
        (pynvml.NVML_ERROR_NO_PERMISSION, "add the user to the group of /dev/nvidia"),
        (pynvml.NVML_ERROR_GPU_IS_LOST, "look for Xid in `dmesg`"),
        (pynvml.NVML_ERROR_OPERATING_SYSTEM, "docker run --gpus all"),
        (pynvml.NVML_ERROR_TIMEOUT, "see whether `nvidia-smi` works"),
    ],
)
def test_an_error_of_the_driver_is_named_with_its_mend(code: int, words: str) -> None:
    found = read(FakeNvml(machine("one_card_24"), failing={"nvmlInitWithFlags": code}))
    assert found.cards == ()
    assert found.problem.startswith("the NVIDIA driver answers ")
    assert words in found.problem


@pytest.mark.parametrize("code", [pynvml.NVML_ERROR_DRIVER_NOT_LOADED, pynvml.NVML_ERROR_LIBRARY_NOT_FOUND])
def test_a_driver_that_is_not_loaded_is_none(code: int) -> None:
    assert read(FakeNvml(machine("none"), failing={"nvmlInitWithFlags": code})).problem == ""


def test_one_card_in_trouble_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeNvml(machine("two_cards"))
    honest = FakeNvml.c_nvmlDeviceGetName

    def lost(self: FakeNvml, handle: Any, buffer: Any, size: Any) -> int:
        card = self._card(handle)
        return int(pynvml.NVML_ERROR_GPU_IS_LOST) if card.index == 0 else honest(self, handle, buffer, size)

    monkeypatch.setattr(FakeNvml, "c_nvmlDeviceGetName", lost)
    found = read(fake)
    assert [card.index for card in found.cards] == [1]
    assert found.problem.startswith("cuda:0: the NVIDIA driver answers")


def test_an_old_driver_tells_less_and_is_used() -> None:
    expected = machine("used_by_another")
    without = frozenset({"nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetMigMode", "nvmlSystemGetProcessName"})
    (card,) = read(FakeNvml(expected, without=without)).cards
    was = expected.cards[0]
    assert card.memory == Memory(total=was.memory.total, reserved=0, free=was.memory.free)
    assert card.mig == "unsupported"
    assert [user.name for user in card.users] == ["", ""]


def test_a_process_whose_name_is_no_text_and_whose_memory_is_not_told() -> None:
    was = machine("one_card_24").cards[0]
    users = (User(pid=7, name="", memory=None), User(pid=9, name="python", memory=5))
    expected = Machine(cards=(was.model_copy(update={"users": users}),))
    assert read(FakeNvml(expected, names={7: b"/bin/\xff\xfe"})).cards[0].users == users


def test_a_card_that_tells_no_link() -> None:
    was = machine("one_card_24").cards[0]
    expected = Machine(cards=(was.model_copy(update={"link": None}),))
    assert read(FakeNvml(expected)).cards[0].link is None


@pytest.mark.parametrize(
    "code", [pynvml.NVML_ERROR_UNKNOWN, pynvml.NVML_ERROR_NO_PERMISSION, pynvml.NVML_ERROR_TIMEOUT]
)
def test_a_fact_that_can_be_done_without_hides_no_card(code: int) -> None:
    expected = machine("one_card_24")
    asks = (
        "nvmlDeviceGetCurrPcieLinkWidth",
        "nvmlDeviceGetMigMode",
        "nvmlDeviceGetComputeRunningProcesses_v3",
    )
    found = read(FakeNvml(expected, failing=dict.fromkeys(asks, code)))
    (card,) = found.cards
    assert (card.uuid, card.link, card.mig) == (expected.cards[0].uuid, None, "unsupported")
    assert found.problem == ""


def test_a_link_of_impossible_width_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """As some virtual cards tell it."""

    def all_ones(_: FakeNvml, __: Any, width: Any) -> int:
        width._obj.value = 0xFFFFFFFF
        return 0

    monkeypatch.setattr(FakeNvml, "c_nvmlDeviceGetCurrPcieLinkWidth", all_ones)
    assert read(FakeNvml(machine("one_card_24"))).cards[0].link is None


def test_a_card_that_tells_what_cannot_be_is_named_and_hides_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest = FakeNvml.c_nvmlDeviceGetMemoryInfo_v2

    def endless(self: FakeNvml, handle: Any, info: Any) -> int:
        code = honest(self, handle, info)
        if self._card(handle).index == 0:
            info._obj.total = (1 << 64) - 1
        return code

    monkeypatch.setattr(FakeNvml, "c_nvmlDeviceGetMemoryInfo_v2", endless)
    monkeypatch.setattr(
        FakeNvml, "c_nvmlDeviceGetMemoryInfo", lambda *_: int(pynvml.NVML_ERROR_NOT_SUPPORTED)
    )
    found = read(FakeNvml(machine("two_cards")))
    assert [card.index for card in found.cards] == [1]
    assert "cuda:0: " in found.problem


def test_a_driver_that_fails_at_the_end_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeNvml, "c_nvmlShutdown", lambda _: int(pynvml.NVML_ERROR_GPU_IS_LOST))
    with driver(FakeNvml(machine("one_card_24"))):
        assert len(this_machine().cards) == 1


def test_without_the_binding_the_mend_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = builtins.__import__

    def refuse(name: str, *rest: Any, **more: Any) -> Any:
        if name == "pynvml":
            raise ImportError(name)
        return honest(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    assert this_machine().problem == "nvidia-ml-py is not installed: pip install nvidia-ml-py"


def test_who_wants_no_card_does_not_touch_the_driver() -> None:
    with driver(FakeNvml(machine("one_card_24"), failing={"nvmlInitWithFlags": 999})):
        assert this_machine(cards=False).problem == ""


class TestFacts:
    def test_a_card_in_mig_mode_is_its_slices(self) -> None:
        devices = list(machine("mig").devices())
        assert [device.label for device in devices] == ["cuda:0/0", "cuda:0/1", "cuda:0/2"]
        assert all(device.uuid.startswith("MIG-") and device.is_slice for device in devices)

    def test_programs_see_the_total_less_what_the_driver_reserves(self) -> None:
        assert Memory(total=100, reserved=8, free=90).usable == 92

    @pytest.mark.parametrize(
        ("width", "max_width", "narrow"), [(4, 16, True), (1, 16, True), (8, 16, False), (4, 4, False)]
    )
    def test_a_link_is_narrow_with_4_lanes_of_more(self, width: int, max_width: int, narrow: bool) -> None:
        assert Link(generation=1, max_generation=4, width=width, max_width=max_width).narrow is narrow

    def test_time_to_load_is_by_lanes_at_the_best_generation(self) -> None:
        link = Link(generation=1, max_generation=3, width=4, max_width=16)
        assert link.seconds(int(3.94e9), 4) == pytest.approx(1.0)
        assert link.seconds(int(3.94e9), 16) == pytest.approx(0.25)

    def test_a_recording_reads_back(self) -> None:
        for name in NAMES:
            assert Machine.model_validate_json(machine(name).model_dump_json()) == machine(name)
            assert machine(name).note

    def test_a_recording_with_a_number_that_cannot_be_is_refused(self) -> None:
        with pytest.raises(ValueError, match="greater than or equal to 0"):
            Memory(total=-1, free=0)
