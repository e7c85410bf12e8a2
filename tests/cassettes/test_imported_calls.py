"""Patterns choose calls; the environment that was called is concluded from the addresses, and stands beside each."""

from __future__ import annotations

import re

import pytest
from hars import bare_settings
from hypothesis import given
from hypothesis import strategies as st

from toolkit.cassettes.format.interactions import Interaction
from toolkit.cassettes.imported_calls import Callers, EntryChoice
from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import ConfigurationError
from toolkit.scrubbing.messages import RecordedRequest, RecordedResponse

ADDRESSES = {
    "trading_live": "https://live.example.com",
    "trading_paper": "https://paper.example.com",
    "market_data": "https://data.example.com",
    "broker": "https://broker.example.com",
    "broker_sandbox": "https://broker.example.com/sandbox",
    "auth": "https://auth.example.com",
}


@pytest.fixture
def callers(tmp_path):
    """Return a function that concludes the caller of some URIs, with an environment or without one."""

    def make(*uris, environment=None, **changes):
        return Callers(bare_settings(tmp_path, **(ADDRESSES | changes)), environment, uris)

    return make


def interaction(uri):
    return Interaction(RecordedRequest("GET", uri), RecordedResponse(200))


@pytest.mark.parametrize(
    ("uris", "environment"),
    [
        (["https://paper.example.com/v2/account"], Environment.PAPER),
        (["https://data.example.com/v2/quotes", "https://paper.example.com"], Environment.PAPER),
        (["https://broker.example.com/sandbox/v1/accounts"], Environment.BROKER_SANDBOX),
        (["https://broker.example.com/v1/accounts", "https://cdn.net/x.js"], Environment.BROKER_LIVE),
        (["https://data.example.com/v2/quotes"], None),
        (["https://paper.example.com/", "https://live.example.com/"], None),
        (["https://paper.example.com.evil.net/"], None),
        ([], None),
    ],
)
def test_concluded(callers, uris, environment):
    """The environment is the only one that all addresses belong to; the longest address counts."""
    assert callers(*uris).environment is environment


def test_noted_beside_each_call(callers):
    """A call at an address of one environment says so, whatever the other calls are."""
    uris = ["https://paper.example.com/", "https://live.example.com/", "https://data.example.com/", "https://cdn.net/"]
    noted = list(callers(*uris).noted(map(interaction, uris)))
    by = [each.authorized_by and each.authorized_by.environment for each in noted]
    assert by == [Environment.PAPER, Environment.LIVE, None, None]
    assert noted[0].authorized_by.kind is CredentialKind.KEY_PAIR


def test_named(callers):
    """The environment that is named wins where it is possible, and must be called at all."""
    uris = ["https://data.example.com/", "https://live.example.com/"]
    named = callers(*uris, environment=Environment.PAPER)
    by = [each.authorized_by and each.authorized_by.environment for each in named.noted(map(interaction, uris))]
    assert by == [Environment.PAPER, None]
    with pytest.raises(ConfigurationError, match="No request") as caught:
        callers(*uris, environment=Environment.BROKER_SANDBOX)
    assert "auth_sandbox, " not in caught.value.next_step
    assert "market_data_sandbox" in caught.value.next_step


def test_shared_address(callers, tmp_path):
    """If two names have the same address, that of the environment stands in the cassette."""
    shared = "https://data.example.com"
    found = callers(f"{shared}/v2", "https://broker.example.com/sandbox/", market_data_sandbox=shared)
    assert found.environment is Environment.BROKER_SANDBOX
    settings = bare_settings(tmp_path, **ADDRESSES, market_data_sandbox=shared)
    names = [name for name, address in found.addresses(settings).items() if address == shared]
    assert names == ["market_data_sandbox", "market_data"]


@pytest.mark.parametrize(
    ("pattern", "uri", "is_chosen"),
    [
        ("api.example.com", "https://api.example.com/v1?a=b", True),
        ("API.example.com", "https://api.example.com", True),
        ("api.example.com", "https://api.example.com:8443/", True),
        ("api.example.com:8443", "https://api.example.com:8443/", True),
        ("api.example.com:8443", "https://api.example.com/", False),
        ("example.com", "https://api.example.com/", False),
        ("*.example.com", "https://api.example.com/", True),
        ("*.example.com", "https://api.example.com.evil.net/", False),
        ("https://h/v1/*", "https://h/v1/a/b?c=d", True),
        ("h/v1/*", "https://h/v2/a", False),
        ("*/orders", "https://h/v1/orders?page=2", True),
        ("h/*a*a", "https://h/aa", True),
        ("h", "https://me:secret@h/", True),
        ("h", "https://[h/", False),
    ],
)
def test_choice_by_host_and_path(pattern, uri, is_chosen):
    """A pattern without a slash names hosts; one with a slash names hosts and paths; the query does not matter."""
    assert EntryChoice(pattern).has(uri) is is_chosen
    assert EntryChoice(["nothing", pattern]).has(uri) is is_chosen


def test_choice_without_patterns():
    """Without patterns every request is chosen."""
    assert EntryChoice(()).has("anything")


@given(st.text("ab*", max_size=8), st.text("ab", max_size=8))
def test_stars_stand_for_any_text(pattern, path):
    """A path matches as a regular expression with `.*` for each star says."""
    expected = re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), path) is not None
    assert EntryChoice(f"h/{pattern}").has(f"https://h/{path}") is expected


@pytest.mark.parametrize("pattern", ["", " ", "a" * 300, "*" * 20, "https://", 3])
def test_refused_patterns(pattern):
    """A pattern that names nothing is an error."""
    with pytest.raises(ConfigurationError) as caught:
        EntryChoice([pattern])
    assert caught.value.about == "only"
