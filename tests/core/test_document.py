"""Compare the values of the module with the service document, written out by hand."""

from __future__ import annotations

import pytest

from toolkit.core.document import (
    ACCESS,
    ADDRESS_NAMES,
    CredentialKind,
    Environment,
    Placeholder,
)


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


def test_placeholders():
    """Placeholders that the document shows are the same here, and all differ."""
    shown = {"<API_KEY_ID>", "<API_SECRET_KEY>", "<CLIENT_SECRET>", "<ACCESS_TOKEN>"}
    ours = [value for name, value in vars(Placeholder).items() if not name.startswith("_")]
    assert shown <= set(ours)
    assert len(set(ours)) == len(ours)
    assert all(value.startswith("<") and value.endswith(">") for value in ours)
