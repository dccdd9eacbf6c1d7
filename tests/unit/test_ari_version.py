import pytest

from stasis_app.ari.errors import AsteriskTooOld
from stasis_app.ari.rest import version_warning


@pytest.mark.parametrize("version", ["22.10.1+dfsg+~cs6.17.60671434-1", "22.11", "23.1.0", "24.0"])
def test_a_tested_asterisk_needs_no_words(version: str) -> None:
    assert version_warning(version) is None


@pytest.mark.parametrize(
    "version",
    ["18.10.0", "20.6.0~dfsg+~cs6.13.40431414", "certified/20.7-cert4", "22.7.9", "22.8.0", "22.10.0"],
)
def test_an_older_one_is_warned_of(version: str) -> None:
    assert "older than 22.10.1" in str(version_warning(version))


@pytest.mark.parametrize("version", ["16.28.0~dfsg", "17.9.4", "certified/13.8-cert1"])
def test_a_too_old_one_is_refused(version: str) -> None:
    with pytest.raises(AsteriskTooOld, match="18 or newer is needed"):
        version_warning(version)


def test_an_unknown_one_is_warned_of() -> None:
    assert "cannot tell the version" in str(version_warning("GIT-master-0a1b2c3"))
