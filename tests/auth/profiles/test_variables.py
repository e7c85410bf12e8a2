from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.auth.profiles.fields import fields_of
from toolkit.auth.profiles.variables import given_in, is_credential, variable
from toolkit.core.document import ADDRESS_NAMES, Environment
from toolkit.core.errors import ConfigurationError
from toolkit.local.settings import Settings, variable_name

places = st.sampled_from(Environment).flatmap(
    lambda environment: st.tuples(
        st.just(environment),
        st.just("default") | st.from_regex(r"[a-z0-9]([a-z0-9]|-(?!-)){0,20}", fullmatch=True),
        st.sampled_from(sorted(fields_of(environment))),
    )
)


@given(places)
def test_variable_is_read_back(place):
    """The name that a field has as a variable is read back as that field, of that profile and environment."""
    environment, name, field = place
    (found,) = given_in({variable(*place): "x"}, "somewhere", Path())
    assert (found.environment, found.name, {*found.values}) == (environment, name, {field})
    assert found.label(field) == variable(*place)


@given(places)
def test_settings_let_variables_pass(place):
    """Settings take no variable of credentials for a misspelt one of theirs."""
    Settings.load(environ={variable(*place): "x"}, folder=Path())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("TOOLKIT_LIVE_KEY_ID", ("live", "default", "key_id")),
        ("TOOLKIT_BROKER_LIVE_PRIVATE_KEY_FILE", ("broker-live", "default", "private_key_file")),
        ("TOOLKIT_BROKER_LIVE__MY_FUND_PRIVATE_KEY_ID", ("broker-live", "my-fund", "private_key_id")),
        ("TOOLKIT_PAPER__PRIVATE_KEY_ID", ("paper", "private", "key_id")),
        ("TOOLKIT_PAPER__7_SCHEME", ("paper", "7", "scheme")),
        ("TOOLKIT_PAPER__CLIENT_ID_KEY_ID", ("paper", "client-id", "key_id")),
        ("TOOLKIT_BROKER_LIVE__FUND_KEY_ID", ("broker-live", "fund", "key_id")),
        ("TOOLKIT_LIVE__FUND_CLIENT_SECRET", ("live", "fund", "client_secret")),
    ],
)
def test_names(name, expected):
    """Variables as a person writes them."""
    (found,) = given_in({name: "x"}, "somewhere", Path())
    assert (found.environment, found.name, *found.values) == expected


@pytest.mark.parametrize(
    "name",
    [
        *map(variable_name, ADDRESS_NAMES),
        "TOOLKIT_OFFLINE",
        "TOOLKIT_CASSETTES",
        "TOOLKIT_HEADER_PREFIX",
        "TOOLKIT_BROKER_CLIENT_ID",
        "TOOLKIT_LIVE__KEY_ID",
        "TOOLKIT_LIVE___KEY_ID",
        "TOOLKIT_LIVE_KEY_ID_",
        "TOOLKIT_LIVE_KEY_ID\n",
        "XTOOLKIT_LIVE_KEY_ID",
        "toolkit_live_key_id",
        "KEY_ID",
        "",
    ],
)
def test_other_variables(name):
    """Other variables are left alone."""
    assert not is_credential(name)
    assert given_in({name: "x"}, "somewhere", Path()) == []


def test_empty_variable():
    """An empty variable counts as unset."""
    assert given_in({"TOOLKIT_LIVE_KEY_ID": ""}, "somewhere", Path()) == []


def test_default_twice():
    """The default profile under both of its names is an error that names both variables."""
    with pytest.raises(ConfigurationError) as caught:
        given_in({"TOOLKIT_LIVE_KEY_ID": "x", "TOOLKIT_LIVE__DEFAULT_KEY_ID": "y"}, "somewhere", Path())
    assert "TOOLKIT_LIVE__DEFAULT_KEY_ID and TOOLKIT_LIVE_KEY_ID in somewhere" in str(caught.value)


def test_explicit_default():
    """The default profile may be named."""
    (found,) = given_in({"TOOLKIT_LIVE__DEFAULT_KEY_ID": "y"}, "somewhere", Path())
    assert found.name == "default"


def test_grouped():
    """Variables are put together by environment and profile."""
    variables = {
        variable(environment, name, "client_id"): "x"
        for environment in (Environment.BROKER_LIVE, Environment.BROKER_SANDBOX)
        for name in ("a", "default")
    }
    found = given_in(
        {**variables, "TOOLKIT_BROKER_LIVE__A_AUDIENCE": "issuer", "PATH": sys.prefix}, "somewhere", Path()
    )
    assert [(each.environment, each.name, len(each.values)) for each in found] == [
        ("broker-live", "a", 2),
        ("broker-live", "default", 1),
        ("broker-sandbox", "a", 1),
        ("broker-sandbox", "default", 1),
    ]
