"""Whatever the machine and whatever is asked: a plan places no more than is free, and asking for more needs no less."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gpu_workers.devices.demand import AUTO, Demand, LlmDemand, SttDemand, TtsDemand
from gpu_workers.devices.facts import Card, Host, Link, Machine, Memory, Slice, User
from gpu_workers.devices.language import Quantization
from gpu_workers.devices.limits import most_calls, room_of, tokens_of_a_step
from gpu_workers.devices.plan import AS_JSON, CPU, Plan
from gpu_workers.devices.planner import make_plan
from gpu_workers.devices.shapes import KNOWN
from gpu_workers.devices.speech import WHISPER

GIB = 1 << 30
KINDS: tuple[tuple[Quantization, int], ...] = (("none", 16), ("awq", 4), ("fp8", 8))
SHAPES = [shape.quantized(kind, bits) for shape in KNOWN.values() for kind, bits in KINDS]

sizes = st.integers(0, 200 * GIB)


@st.composite
def memories(draw: st.DrawFn) -> Memory:
    total = draw(st.sampled_from([12 * GIB, 24 * GIB, 80 * GIB]) | sizes)
    reserved = draw(st.integers(0, total // 20))
    free = draw(st.just(total - reserved) | st.integers(0, total - reserved))
    return Memory(total=total, reserved=reserved, free=free)


users = st.lists(
    st.builds(
        User, pid=st.integers(0, 99999), name=st.sampled_from(["python", ""]), memory=st.none() | sizes
    ),
    max_size=3,
).map(tuple)
links = st.builds(
    Link,
    generation=st.integers(0, 6),
    max_generation=st.integers(0, 6),
    width=st.integers(0, 16),
    max_width=st.integers(0, 16),
)


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    cards = []
    for index in range(draw(st.integers(0, 3))):
        mig = draw(st.sampled_from(["unsupported", "unsupported", "on"]))
        places = range(draw(st.integers(0, 3)) if mig == "on" else 0)
        slices = [
            Slice(uuid=f"MIG-{index}-{place}", name="MIG 1g", memory=draw(memories()), users=draw(users))
            for place in places
        ]
        cards.append(
            Card(
                index=index,
                name=draw(st.sampled_from(["NVIDIA GeForce RTX 3090", "NVIDIA A100", "NVIDIA H100"])),
                uuid=f"GPU-{index}",
                memory=draw(memories()),
                compute_capability=draw(st.sampled_from([(8, 6), (8, 9), (9, 0), (7, 5), (6, 1)])),
                link=draw(st.none() | links),
                mig=mig,
                slices=tuple(slices),
                users=draw(users),
            )
        )
    host = Host(cores=draw(st.integers(0, 8)), memory_total=draw(sizes), memory_available=draw(sizes))
    return Machine(cards=tuple(cards), host=host, problem=draw(st.sampled_from(["", "broken"])))


devices = st.sampled_from(
    [AUTO, "cuda:0", AUTO, "cuda:0", "cuda", CPU, "cuda:1", "GPU-1", "MIG-0-0", "cuda:9"]
)
llms = st.builds(
    LlmDemand,
    device=devices,
    model=st.just("a model"),
    shape=st.none() | st.sampled_from(SHAPES),
    engine=st.sampled_from(["vllm", "vllm", "llama"]),
    calls=st.integers(1, 20) | st.integers(1, 300),
    context_tokens=st.integers(512, 4096) | st.integers(512, 40000),
    parallel=st.none() | st.integers(1, 64),
    kv_cache_dtype=st.sampled_from(["auto", "fp8"]),
    prefix_caching=st.booleans(),
    chunked_prefill=st.booleans(),
    memory_share=st.none() | st.floats(0.01, 1),
    unknown=st.just("new"),
)
stts = st.builds(
    SttDemand,
    device=devices,
    model=st.just("whisper"),
    shape=st.none() | st.sampled_from(list(WHISPER.values())),
    compute_type=st.sampled_from([None, "int8", "float16", "float32", "int8_float16", "odd"]),
    copies=st.integers(1, 4),
)
ttss = st.builds(
    TtsDemand,
    device=devices,
    voice=st.just("joe"),
    voice_size=st.integers(0, 1 << 28),
    parallel=st.integers(1, 8),
)
demands = st.builds(
    Demand, llm=st.none() | llms, stt=st.none() | stts, tts=st.none() | ttss, take_all=st.booleans()
)


def used(plan: Plan, machine: Machine) -> dict[str, int]:
    """Bytes by device: the language model has its share, the others their sums."""
    found = dict.fromkeys([device.uuid for device in machine.devices()], 0)
    usable = {device.uuid: device.memory.usable for device in machine.devices()}
    for one in plan.placed:
        if one.device == CPU:
            continue
        if one.worker == "llm" and plan.llm:
            found[one.device] += int(plan.llm.memory_share * usable[one.device])
        elif one.need:
            found[one.device] += one.need.size
    return found


@given(machines(), demands)
def test_no_more_is_placed_on_a_device_than_is_free(machine: Machine, demand: Demand) -> None:
    plan = make_plan(machine, demand)
    taken = used(plan, machine)
    by_hand = demand.llm is not None and demand.llm.memory_share is not None
    for device in machine.devices():
        limit = device.memory.free if by_hand else room_of(device)
        assert taken[device.uuid] <= limit
    if plan.llm and plan.llm.device != CPU and (brain := plan.of("llm")) and brain.need:
        usable = next(device.memory.usable for device in machine.devices() if device.uuid == plan.llm.device)
        assert brain.need.size <= plan.llm.memory_share * usable + 1


@given(machines(), demands)
def test_every_worker_is_placed_once_where_it_is_set_or_refused(machine: Machine, demand: Demand) -> None:
    plan = make_plan(machine, demand)
    asked = {worker for worker, _ in demand.devices()}
    placed, refused = [one.worker for one in plan.placed], [one.worker for one in plan.refusals]
    assert sorted([*placed, *refused]) == sorted(asked)
    known = {device.uuid: device.label for device in machine.devices()} | {CPU: CPU}
    assert all(known[one.device] == one.label for one in plan.placed)
    assert all(str(one) and one.mends for one in plan.refusals)
    for worker, wanted in demand.devices():
        if (one := plan.of(worker)) and wanted != AUTO:
            assert ("cuda:0" if wanted == "cuda" else wanted) in (one.label, one.device)


@given(machines(), demands)
def test_a_plan_is_the_same_again_and_as_json(machine: Machine, demand: Demand) -> None:
    plan = make_plan(machine, demand)
    assert make_plan(machine, demand) == plan
    assert AS_JSON.validate_json(AS_JSON.dump_json(plan)) == plan


@given(llms, st.integers(0, 50), st.integers(0, 5000), st.sampled_from([2048, 8192]))
def test_more_calls_and_longer_talks_never_need_less(
    llm: LlmDemand, calls: int, tokens: int, step: int
) -> None:
    need = llm.need(step)
    more = replace(llm, calls=llm.calls + calls, context_tokens=llm.context_tokens + tokens).need(step)
    assert (need is None) == (more is None)
    if need and more:
        assert more.size >= need.size
        assert need.size == sum(term.size for term in need.terms)
        assert all(term.size >= 0 for term in need.terms)


@given(machines(), llms)
def test_the_most_calls_fit_and_one_more_does_not(machine: Machine, llm: LlmDemand) -> None:
    if llm.shape is None or llm.engine == "llama":
        return
    for device in machine.devices():
        room, step = room_of(device), tokens_of_a_step(llm, device)
        most = most_calls(llm, device, room) or 0
        for calls, fits in ((most, True), (most + 1, False)):
            need = replace(llm, calls=max(1, calls)).need(step)
            assert need is not None
            if 0 < calls <= 1024:
                assert (need.size <= room) is fits


@given(machines(), demands, st.integers(1, 100))
def test_fewer_calls_are_never_refused_where_more_are_not(
    machine: Machine, demand: Demand, fewer: int
) -> None:
    if demand.llm is None or make_plan(machine, demand).refusals:
        return
    less = replace(demand, llm=replace(demand.llm, calls=max(1, demand.llm.calls - fewer)))
    assert not make_plan(machine, less).refusals


@given(memories(), llms, stts, ttss, st.booleans())
def test_all_on_one_card_by_hand_take_no_more_than_is_free(
    memory: Memory, llm: LlmDemand, stt: SttDemand, tts: TtsDemand, auto: bool
) -> None:
    card = Card(index=0, name="RTX", uuid="GPU-0", memory=memory, compute_capability=(8, 9))
    brain = replace(llm, device="cuda:0", engine="vllm")
    demand = Demand(brain, replace(stt, device=AUTO if auto else "cuda:0"), replace(tts, device="cuda:0"))
    plan = make_plan(Machine(cards=(card,)), demand)
    assert used(plan, Machine(cards=(card,)))["GPU-0"] <= memory.free
