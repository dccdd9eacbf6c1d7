"""What is done about what Asterisk has and the bot does not know, and the reverse (faults A4, A8; E2, E11, E12)."""

import pytest

from stasis_app.ari.events import Bridge, Channel
from stasis_app.ari.names import LegNames
from stasis_app.reconcile import Action, Adopt, CallerGone, DeleteBridge, DeleteChannel, HandBack, plan

NAMES = LegNames("bot", "now")


def caller(channel_id: str, app: str = "voicebot") -> Channel:
    return Channel(channel_id, "PJSIP/x", "Up", app_name="Stasis", app_data=f"{app},1234")


def media(call_id: str, instance: str = "bot", run: str = "now") -> Channel:
    name = LegNames(instance, run).media_channel_id(call_id)
    return Channel(name, "UnicastRTP/x", "Up", app_name="Stasis", app_data="voicebot")


def bridge(call_id: str, *channel_ids: str, instance: str = "bot", run: str = "now") -> Bridge:
    return Bridge(LegNames(instance, run).bridge_id(call_id), channel_ids)


RINGING = Channel("1.5", "PJSIP/x", "Ring", app_name="Stasis", app_data="voicebot,profile=workshop")
DIALPLAN = Channel("1.9", "PJSIP/y", "Up", app_name="Playback", app_data="hello")


@pytest.mark.parametrize(
    ("channels", "bridges", "callers", "legs", "actions"),
    [
        pytest.param([], [], set(), set(), [], id="nothing"),
        pytest.param(
            [caller("1.1"), media("c1")], [bridge("c1", "1.1")], {"1.1"}, {"c1"}, [], id="known and there"
        ),
        pytest.param(
            [media("c1")],
            [bridge("c1")],
            {"1.1"},
            {"c1"},
            [CallerGone("1.1")],
            id="hung up in the gap: its call undoes",
        ),
        pytest.param(
            [media("c1")],
            [bridge("c1")],
            set(),
            set(),
            [DeleteChannel("vb-bot-now.c1-media"), DeleteBridge("vb-bot-now.c1")],
            id="ours but unknown",
        ),
        pytest.param(
            [caller("1.1"), media("c1")],
            [bridge("c1", "1.1")],
            set(),
            set(),
            [DeleteChannel("vb-bot-now.c1-media"), DeleteBridge("vb-bot-now.c1"), HandBack("1.1")],
            id="the bot was killed",
        ),
        pytest.param(
            [caller("1.1"), media("c1", run="dead")],
            [bridge("c1", "1.1", run="dead")],
            set(),
            {"c1"},
            [DeleteChannel("vb-bot-dead.c1-media"), DeleteBridge("vb-bot-dead.c1"), HandBack("1.1")],
            id="the run before this one was killed",
        ),
        pytest.param(
            [caller("1.1"), media("c1", run="")],
            [bridge("c1", "1.1", run="")],
            set(),
            {"c1"},
            [DeleteChannel("vb-bot-c1-media"), DeleteBridge("vb-bot-c1"), HandBack("1.1")],
            id="one without a run in its names was killed",
        ),
        pytest.param(
            [caller("1.1"), caller("1.2"), media("c1", run="lives")],
            [bridge("c1", "1.1", run="lives")],
            set(),
            set(),
            [HandBack("1.2")],
            id="a run that was replaced finishes its call",
        ),
        pytest.param([RINGING], [], set(), set(), [Adopt(RINGING)], id="StasisStart lost in the gap"),
        pytest.param(
            [RINGING, media("c1")],
            [bridge("c1", RINGING.id)],
            set(),
            set(),
            [DeleteChannel("vb-bot-now.c1-media"), DeleteBridge("vb-bot-now.c1"), Adopt(RINGING)],
            id="the bot was killed before it answered",
        ),
        pytest.param([caller("1.1")], [], set(), set(), [HandBack("1.1")], id="answered and left alone"),
        pytest.param(
            [caller("1.1"), media("c1", "bot-2")],
            [bridge("c1", "1.1", instance="bot-2")],
            set(),
            set(),
            [],
            id="another bot's call on the same app",
        ),
        pytest.param(
            [caller("1.1", "queue"), DIALPLAN], [Bridge("b7", ("1.9",))], set(), set(), [], id="foreign"
        ),
        pytest.param(
            [Channel("1.1", app_name="Dial", app_data="PJSIP/agent")],
            [],
            {"1.1"},
            set(),
            [CallerGone("1.1")],
            id="left the app in the gap",
        ),
        pytest.param([media("c1")], [bridge("c1")], set(), {"c1"}, [], id="being built or undone"),
        pytest.param(
            [], [], {"1.2", "1.1"}, set(), [CallerGone("1.1"), CallerGone("1.2")], id="Asterisk restarted"
        ),
    ],
)
def test_plan(
    channels: list[Channel], bridges: list[Bridge], callers: set[str], legs: set[str], actions: list[Action]
) -> None:
    given = {"callers": callers, "legs": legs, "alive": {"lives"}}
    assert plan(channels, bridges, app="voicebot", names=NAMES, **given) == actions


def test_a_caller_who_is_known_and_has_no_call_is_like_one_who_is_not_known() -> None:
    listed = [caller("1.1"), caller("1.2"), RINGING]
    known = {"1.1", "1.2", "1.3", RINGING.id}
    actions = plan(
        listed,
        [],
        app="voicebot",
        names=NAMES,
        callers=known,
        legs=set(),
        unserved={"1.1", "1.3", RINGING.id},
    )
    assert actions == [CallerGone("1.3"), HandBack("1.1"), Adopt(RINGING)]
