from __future__ import annotations

import pytest

from toolkit.auth.profiles.profile import Profile, ProfileList
from toolkit.core.document import CredentialKind, Environment

FUND = Profile("fund", Environment.BROKER_LIVE, CredentialKind.CLIENT_KEY, "keyring")


def test_repr():
    """A list is shown as a table."""
    assert repr(ProfileList([FUND])) == (
        "environment  profile  kind        source\nbroker-live  fund     client key  keyring"
    )
    assert repr(ProfileList()) == "No saved credentials."


def test_html():
    """In a notebook it is an HTML table with a heading; markup and control characters in names are escaped."""
    odd = Profile("<b>", Environment.LIVE, CredentialKind.KEY_PAIR, "~/<script>\x1b[31m")
    html = ProfileList([FUND, odd])._repr_html_()
    assert html.count("<tr>") == 3
    assert ">environment</th>" in html
    assert "<script>" not in html
    assert "&lt;b&gt;" in html
    assert "\x1b" not in html + repr(ProfileList([odd]))
    assert "No saved credentials" in ProfileList()._repr_html_()


def test_equality():
    """The list is a list, and a profile does not change."""
    assert ProfileList([FUND]) == [FUND]
    with pytest.raises(AttributeError):
        FUND.name = "x"
