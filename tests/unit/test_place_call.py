"""`voicebot call`: whom it calls and as whom."""

import pytest

from tests.support.configuration import config
from voicebot.errors import UsageError
from voicebot.place_call import PASSWORD_VARIABLE, login, number_uri


def test_a_phone_without_a_name_gives_no_password() -> None:
    assert login(None, {PASSWORD_VARIABLE: "s3cret"}) is None


def test_a_phone_with_a_name_has_its_password_from_the_environment() -> None:
    who = login("desk1", {PASSWORD_VARIABLE: "s3cret"})
    assert who is not None
    assert (who.user, who.password) == ("desk1", "s3cret")
    with pytest.raises(UsageError, match=f"--user desk1: set {PASSWORD_VARIABLE}"):
        login("desk1", {})


@pytest.mark.parametrize(
    ("text", "uri"),
    [
        ("", "sip:1000@127.0.0.1:5060"),
        ("asterisk: {sip_host: 10.0.0.9, sip_port: 5070}", "sip:1000@10.0.0.9:5070"),
        (
            "asterisk: {start: false}\nari: {url: 'http://10.0.0.5:8088', password: a-password-of-a-test}\n"
            "media: {bind_host: 0.0.0.0, advertise_host: 10.0.0.9}",
            "sip:1000@10.0.0.5:5060",
        ),
        (
            "asterisk: {start: false, sip_port: 5080}\nari: {url: 'https://[::1]:8089', password: a-long-password}",
            "sip:1000@[::1]:5080",
        ),
    ],
)
def test_a_number_is_called_at_the_asterisk_that_the_bot_takes_its_calls_from(text: str, uri: str) -> None:
    assert number_uri(config(text), "1000") == uri
