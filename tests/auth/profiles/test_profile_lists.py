from __future__ import annotations

from toolkit.auth.kinds import KeyPair
from toolkit.auth.profiles.fields import Profile
from toolkit.auth.profiles.saving import ProfileList, save_credentials, survey
from toolkit.core.document import CredentialKind, Environment

VARIABLES = {"TOOLKIT_LIVE__A_KEY_ID": "PK-1", "TOOLKIT_LIVE__A_SECRET_KEY": "secret-1"}
FUND = Profile("fund", Environment.BROKER_LIVE, CredentialKind.CLIENT_KEY, "keyring")


def test_survey(memory_keyring, settings, project):
    """Every place is listed in the order in which places count, and only the first is used."""
    for name in ("a", "b"):
        save_credentials(KeyPair("PK-2", "secret-2", environment="live"), name, settings=settings)
    (project / ".env").write_text("TOOLKIT_LIVE__A_KEY_ID=PK-3\nTOOLKIT_LIVE__A_SECRET_KEY=secret-3\n")
    listed = survey(settings, VARIABLES)
    assert all(isinstance(profile.outcome, Profile) for profile in listed)
    assert [(profile.name, profile.outcome.source, profile.comes_first) for profile in listed] == [
        ("a", "environment variables", True),
        ("a", ".env", False),
        ("a", "keyring", False),
        ("b", "keyring", True),
    ]


def test_list_as_html():
    """In a notebook a list is an HTML table with a heading; markup and control characters in names are escaped."""
    odd = Profile("<b>", Environment.LIVE, CredentialKind.KEY_PAIR, "~/<script>\x1b[31m")
    html = ProfileList([FUND, odd])._repr_html_()
    assert html.count("<tr>") == 3
    assert ">environment</th>" in html
    assert "<script>" not in html
    assert "&lt;b&gt;" in html
    assert "\x1b" not in html + repr(ProfileList([odd]))
    assert "No profiles" in ProfileList()._repr_html_()
