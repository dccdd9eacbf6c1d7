import pytest
from hypothesis import given
from hypothesis import strategies as st

from stasis_app.ari.names import LegNames, is_call_bridge, is_media_channel

INSTANCES = st.from_regex(r"[A-Za-z0-9_.-]{1,64}", fullmatch=True)
CALL_IDS = st.from_regex(r"[A-Za-z0-9_]{1,48}", fullmatch=True)
RUNS = st.from_regex(r"[A-Za-z0-9]{0,16}", fullmatch=True)


def test_the_names_a_telephony_admin_sees() -> None:
    names = LegNames("node-1", "7f3e")
    assert names.bridge_id("a1b2") == "vb-node-1-7f3e.a1b2"
    assert names.media_channel_id("a1b2") == "vb-node-1-7f3e.a1b2-media"


@given(INSTANCES, RUNS, CALL_IDS)
def test_names_are_read_back(instance: str, run: str, call_id: str) -> None:
    names = LegNames(instance, run)
    assert names.run_of(names.media_channel_id(call_id)) == run
    assert names.call_of_bridge(names.bridge_id(call_id)) == call_id
    assert names.call_of_channel(names.media_channel_id(call_id)) == call_id
    assert is_media_channel(names.media_channel_id(call_id))
    assert is_call_bridge(names.bridge_id(call_id))
    assert len(names.media_channel_id(call_id)) <= 149


@given(INSTANCES, INSTANCES, CALL_IDS)
def test_another_process_names_are_not_ours(mine: str, theirs: str, call_id: str) -> None:
    if mine != theirs:
        made = LegNames(theirs)
        assert LegNames(mine).call_of_bridge(made.bridge_id(call_id)) is None
        assert LegNames(mine).call_of_channel(made.media_channel_id(call_id)) is None


@given(INSTANCES, RUNS, RUNS, CALL_IDS)
def test_another_runs_names_are_told_apart(instance: str, mine: str, theirs: str, call_id: str) -> None:
    made, names = LegNames(instance, theirs), LegNames(instance, mine)
    for name in (made.bridge_id(call_id), made.media_channel_id(call_id)):
        assert names.run_of(name) == theirs or call_id == "media"
    if mine != theirs:
        assert names.call_of_bridge(made.bridge_id(call_id)) is None
        assert names.call_of_channel(made.media_channel_id(call_id)) is None


@pytest.mark.parametrize("run", ["a-b", "a.b", "x" * 17])
def test_a_run_that_cannot_be_a_name(run: str) -> None:
    with pytest.raises(ValueError, match="run"):
        LegNames("bot", run)


@pytest.mark.parametrize(
    "name", ["1700000000.1", "voicebot-test-1796039222.0", "vb", "vb-media", "vb-a-media"]
)
def test_a_callers_channel_is_not_a_leg(name: str) -> None:
    assert not is_media_channel(name)


@pytest.mark.parametrize("instance", ["", "a b", "a/b", "é", "x" * 65])
def test_an_instance_that_cannot_be_a_name(instance: str) -> None:
    with pytest.raises(ValueError, match="instance"):
        LegNames(instance)


@pytest.mark.parametrize("call_id", ["", "a-b", "a.b", "a/b", "x" * 49])
def test_a_call_id_that_cannot_be_a_name(call_id: str) -> None:
    with pytest.raises(ValueError, match="call id"):
        LegNames("bot").bridge_id(call_id)
