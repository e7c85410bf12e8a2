from __future__ import annotations

import pytest

from toolkit.auth.credentials import KeyPair
from toolkit.auth.profiles.lookup import survey
from toolkit.auth.profiles.profile import Profile
from toolkit.auth.profiles.saving import save_credentials
from toolkit.core.errors import ConfigurationError

VARIABLES = {"TOOLKIT_LIVE__A_KEY_ID": "PK-1", "TOOLKIT_LIVE__A_SECRET_KEY": "secret-1"}


def test_survey(memory_keyring, settings, project):
    """Every place is named, those that count more before the others, and only the first is what one gets."""
    for name in ("a", "b"):
        save_credentials(KeyPair("PK-2", "secret-2", environment="live"), name, settings=settings)
    (project / ".env").write_text("TOOLKIT_LIVE__A_KEY_ID=PK-3\nTOOLKIT_LIVE__A_SECRET_KEY=secret-3\n")
    found = survey(settings, VARIABLES)
    assert all(isinstance(each.outcome, Profile) for each in found)
    assert [(each.name, each.outcome.source, each.comes_first) for each in found] == [
        ("a", "environment variables", True),
        ("a", ".env", False),
        ("a", "keyring", False),
        ("b", "keyring", True),
    ]


def test_survey_of_what_is_broken(settings):
    """What is half given stands there with what is wrong, and still comes first."""
    (found,) = survey(settings, {"TOOLKIT_PAPER_KEY_ID": "kanari-5f1d"})
    assert isinstance(found.outcome, ConfigurationError)
    assert (found.environment, found.name, found.comes_first) == ("paper", "default", True)
    assert "kanari" not in repr(found)


def test_survey_stops_at_a_place_that_cannot_be_read(settings, project):
    """A .env as a whole that cannot be read hides what else there is: that is said."""
    (project / ".env").write_bytes(b"\xff")
    with pytest.raises(ConfigurationError, match=r"Cannot read .*\.env"):
        survey(settings, VARIABLES)
