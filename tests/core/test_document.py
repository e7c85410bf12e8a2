"""Compare the values of the module with the service document, written out by hand."""

from __future__ import annotations

from datetime import timedelta

import pytest

from toolkit.core import document
from toolkit.core.document import (
    ACCESS,
    ADDRESS_NAMES,
    CredentialKind,
    Environment,
    Interface,
    Placeholder,
)

# Section 1, rules 1 to 4, and the placeholder table: environment, holder, then the address of each interface.
WHO_MAY_CALL = [
    ("live", "live account", {"trading": "trading_live", "market_data": "market_data"}),
    ("paper", "paper account", {"trading": "trading_paper", "market_data": "market_data"}),
    ("broker-live", "live broker partner", {"broker": "broker", "market_data": "market_data", "auth": "auth"}),
    (
        "broker-sandbox",
        "sandbox broker partner",
        {"broker": "broker_sandbox", "market_data": "market_data_sandbox", "auth": "auth_sandbox"},
    ),
]


@pytest.mark.parametrize(("environment", "holder", "addresses"), WHO_MAY_CALL)
def test_who_may_call_what(environment, holder, addresses):
    """Each kind of account holder may call the interfaces of its rule in section 1, and no others."""
    rules = Environment(environment).rules
    assert rules.holder == holder
    assert rules.addresses == addresses


def test_address_names():
    """The eight addresses are those of the placeholder table, in its order, and each is used."""
    assert list(ADDRESS_NAMES) == [
        "trading_live",
        "trading_paper",
        "market_data",
        "market_data_sandbox",
        "broker",
        "broker_sandbox",
        "auth",
        "auth_sandbox",
    ]
    assert {name for rules in ACCESS.values() for name in rules.addresses.values()} == set(ADDRESS_NAMES)


@pytest.mark.parametrize(
    ("environment", "kinds"),
    [
        ("live", {"key pair"}),
        ("paper", {"key pair"}),
        ("broker-live", {"client secret", "client key"}),
        ("broker-sandbox", {"client secret", "client key"}),
    ],
)
def test_credentials(environment, kinds):
    """Account holders use a key pair (section 5.2), broker partners a client secret or key (section 5.1)."""
    assert Environment(environment).rules.credentials == kinds
    assert kinds <= set(CredentialKind)


@pytest.mark.parametrize(
    ("environment", "interface", "path"),
    [
        ("live", "trading", "/v2/account"),
        ("paper", "trading", "/v2/account"),
        ("broker-live", "broker", "/v1/accounts"),
        ("broker-sandbox", "broker", "/v1/accounts"),
    ],
)
def test_accounts_call(environment, interface, path):
    """The accounts call of section 4.2 goes to an interface that the environment may call."""
    rules = Environment(environment).rules
    assert rules.accounts == (interface, path)
    assert interface in rules.addresses


def test_token_endpoint():
    """Path, grant type, fields, token type and validity are those of sections 2, 4.1 and 5.1."""
    assert document.TOKEN_PATH == "/v1/oauth2/token"
    assert document.GRANT_TYPE == "client_credentials"
    assert document.TOKEN_FIELDS == ("access_token", "expires_in", "token_type")
    assert document.TOKEN_TYPE == "Bearer"
    assert timedelta(minutes=15) == document.TOKEN_VALIDITY


def test_header_names():
    """The key headers of section 5.2 begin with SVC or with the service's own prefix."""
    assert document.header_names() == ("SVC-API-KEY-ID", "SVC-API-SECRET-KEY")
    assert document.header_names("ACME") == ("ACME-API-KEY-ID", "ACME-API-SECRET-KEY")


def test_placeholders():
    """Placeholders that the document shows are the same here, and all differ."""
    shown = {"<API_KEY_ID>", "<API_SECRET_KEY>", "<CLIENT_SECRET>", "<ACCESS_TOKEN>"}
    ours = [value for name, value in vars(Placeholder).items() if not name.startswith("_")]
    assert shown <= set(ours)
    assert len(set(ours)) == len(ours)
    assert all(value.startswith("<") and value.endswith(">") for value in ours)


def test_symbolic_addresses():
    """Each address has its own stand-in, in a domain that never resolves."""
    stand_ins = [document.symbolic_address(name) for name in ADDRESS_NAMES]
    assert document.symbolic_address("broker_sandbox") == "https://broker-sandbox.svc.invalid"
    assert len(set(stand_ins)) == 8
    assert all(address.endswith(".svc.invalid") for address in stand_ins)


def test_rules_cannot_be_changed():
    """The rules of an environment cannot be changed at run time."""
    rules = Environment.PAPER.rules
    with pytest.raises(TypeError):
        rules.addresses[Interface.BROKER] = "broker"
    with pytest.raises(TypeError):
        ACCESS[Environment.PAPER] = Environment.LIVE.rules
    with pytest.raises(AttributeError):
        rules.credentials = frozenset(CredentialKind)
    with pytest.raises(AttributeError):
        rules.credentials.add(CredentialKind.CLIENT_SECRET)
