"""The media of a process: what it tells Asterisk, what it refuses and what it frees."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from media_bridge.errors import MediaError
from media_bridge.plane import MediaPlane, check_addresses
from media_bridge.settings import MediaSettings
from tests.support.media_call import SETTINGS, call_on

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]


class TestPlane:
    def test_the_address_asterisk_is_told(self, virtual_time: RunVirtual) -> None:
        async def main(settings: MediaSettings) -> tuple[str, int]:
            async with MediaPlane(settings) as plane, plane.open("call", lambda _event: None) as session:
                return session.offer.host, session.offer.port

        assert virtual_time(main(SETTINGS))[0] == "127.0.0.1"
        outside = SETTINGS.model_copy(update={"advertise_host": "192.0.2.7"})
        host, port = virtual_time(main(outside))
        assert host == "192.0.2.7"
        assert port % 2 == 0

    @pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
    async def test_a_bind_host_that_is_not_ours_is_named(self, host: str) -> None:
        with pytest.raises(MediaError, match=rf"media\.bind_host {host}"):
            async with MediaPlane(SETTINGS.model_copy(update={"bind_host": host})):
                pass

    def test_a_body_that_raises_frees_everything(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with MediaPlane(SETTINGS) as plane:
                with pytest.raises(ZeroDivisionError):
                    async with call_on(plane):
                        raise ZeroDivisionError
                assert (plane.port_stats().leased, plane.port_stats().resting) == (0, 1)
                assert plane.pacer_stats().calls == 0

        virtual_time(main())

    @pytest.mark.parametrize(
        ("bind", "advertise", "ari"),
        [
            ("127.0.0.1", None, "http://127.0.0.1:8088"),
            ("127.0.0.1", None, "http://localhost:8088"),
            ("127.0.0.1", None, "http://[::1]:8088/"),
            ("0.0.0.0", "192.0.2.7", "http://192.0.2.1:8088"),
            ("192.0.2.7", None, "http://asterisk.example.org:8088"),
        ],
    )
    def test_addresses_that_work_together(self, bind: str, advertise: str | None, ari: str) -> None:
        check_addresses(MediaSettings(bind_host=bind, advertise_host=advertise), ari)

    @pytest.mark.parametrize(
        ("bind", "advertise", "ari", "says"),
        [
            ("127.0.0.1", None, "http://192.0.2.1:8088", r"media\.bind_host is 127\.0\.0\.1.*ari\.url"),
            ("localhost", None, "https://asterisk.example.org", r"media\.bind_host is localhost.*ari\.url"),
            ("0.0.0.0", None, "http://127.0.0.1:8088", r"media\.bind_host is 0\.0\.0\.0.*ari\.url"),
            ("::", None, "http://192.0.2.1:8088", r"media\.bind_host is ::.*ari\.url"),
            (
                "192.0.2.7",
                "127.0.0.1",
                "http://192.0.2.1:8088",
                r"media\.advertise_host is 127\.0\.0\.1.*ari\.url",
            ),
        ],
    )
    def test_an_address_asterisk_cannot_reach_is_refused(
        self, bind: str, advertise: str | None, ari: str, says: str
    ) -> None:
        with pytest.raises(MediaError, match=says):
            check_addresses(MediaSettings(bind_host=bind, advertise_host=advertise), ari)

    def test_a_password_in_the_url_is_not_shown(self) -> None:
        with pytest.raises(MediaError) as caught:
            check_addresses(MediaSettings(), "http://user:secret@192.0.2.1:8088")
        assert "secret" not in str(caught.value)
