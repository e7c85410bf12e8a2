from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from toolkit.auth.destinations import (
    HEADER_PREFIX,
    Destination,
    destinations_of,
    without_loopback,
)
from toolkit.core.document import ADDRESS_NAMES, CredentialKind, Environment
from toolkit.local.settings import Settings

TEXTS = ["https://a.example", "https://a.example/v1", "https://b.example", "https://a.example:444"]
addresses = st.dictionaries(st.sampled_from(ADDRESS_NAMES), st.sampled_from(TEXTS))
prefixes = st.sampled_from(["SVC", "ACME"])
SHARED_FOLDER = hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@SHARED_FOLDER
@given(st.sampled_from(Environment), st.sampled_from(CredentialKind), addresses, prefixes)
def test_destinations(project, environment, kind, texts, prefix):
    """Credentials go to the addresses of their environment that are set; a key pair also goes under a prefix."""
    settings = Settings(texts, prefix, project=project)
    found = {item.name: item.text for item in destinations_of(environment, kind, settings)}
    own = {name: text for name, text in texts.items() if name in environment.rules.addresses.values()}
    extra = {HEADER_PREFIX: prefix} if own and kind is CredentialKind.KEY_PAIR else {}
    assert found == own | extra


def test_places(project):
    """Each destination has the file or variable that names it; what code says comes from code."""
    (project / "toolkit.toml").write_text('[addresses]\nauth = "https://a.example/"\nbroker = "https://b.example"\n')
    environ = {"TOOLKIT_AUTH_URL": "https://c.example"}
    settings = Settings.load(project / "toolkit.toml", environ=environ)
    found = destinations_of(Environment.BROKER_LIVE, CredentialKind.CLIENT_SECRET, settings)
    assert {item.name: item.place_in_words for item in found} == {
        "auth": "the variable TOOLKIT_AUTH_URL",
        "broker": "~/project/toolkit.toml",
    }
    found = destinations_of(Environment.PAPER, CredentialKind.KEY_PAIR, Settings({"trading_paper": TEXTS[0]}))
    assert {item.place_in_words for item in found} == {"code"}


@pytest.mark.parametrize("text", ["https://c.example/", "https://${NOTHING:-c.example}"])
@pytest.mark.parametrize("folder", [".", ".."])
def test_variable_of_the_project(project, text, folder):
    """A variable that a .env of the repository sets is not the user's word, however an editor expanded its text."""
    (project / "sub").mkdir()
    settings_file = project / "sub" / "toolkit.toml"
    settings_file.touch()
    dotenv = (settings_file.parent / folder).resolve() / ".env"
    dotenv.write_text(f"TOOLKIT_AUTH_URL={text}\nTOOLKIT_HEADER_PREFIX=ACME\n")
    environ = {"TOOLKIT_AUTH_URL": "https://c.example", "TOOLKIT_BROKER_URL": "https://d.example"}
    settings = Settings.load(settings_file, environ=environ)
    found = destinations_of(Environment.BROKER_LIVE, CredentialKind.CLIENT_SECRET, settings)
    assert [item.place for item in found] == ["TOOLKIT_BROKER_URL", dotenv]


def test_loopback():
    """Loopback addresses go nowhere, and without another address the prefix does not matter."""
    here = [Destination("auth", "http://localhost:8000"), Destination(HEADER_PREFIX, "SVC")]
    assert without_loopback(here) == []
    there = Destination("broker", "https://b.example")
    assert without_loopback([*here, there]) == [here[1], there]
