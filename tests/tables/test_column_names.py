from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.tables.column_names import distinct, dotted, is_identifier, is_key, words


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("account_number", ["account", "number"]),
        ("accountNumber", ["account", "number"]),
        ("account-number", ["account", "number"]),
        ("ID", ["id"]),
        ("phone_2", ["phone"]),
        ("2026", []),
        ("", []),
    ],
)
def test_words(name, expected):
    """A key of any style is split into words."""
    assert words(name) == expected


@pytest.mark.parametrize(
    "name", ["id", "accountId", "order_id", "account_number", "number", "account", "cusip", "ISIN", "zip", "phone_2"]
)
def test_identifiers(name):
    """A name is an identifier if its last word says so."""
    assert is_identifier(name)


@pytest.mark.parametrize("name", ["cash", "paid", "account_value", "id_count", "numbers", "", "_", "grid"])
def test_not_identifiers(name):
    """Part of a word, or a word that is not the last word, does not make an identifier."""
    assert not is_identifier(name)


def test_keys():
    """An account number tells records apart, a phone number and a postal code do not."""
    assert is_key("account_number")
    assert is_key("id")
    assert not is_key("phone_number")
    assert not is_key("postal_code")


def test_dotted_names():
    """A path becomes its keys joined by dots."""
    assert dotted(("owner", "id")) == "owner.id"
    assert dotted(()) == "value"


@given(st.lists(st.sampled_from(["a", "b", "a (2)", "a (3)", "a (2) (2)"])))
def test_distinct_names(names):
    """Every name is different and in its place, and the first of equal names stays as it is."""
    result = distinct(names)
    assert len(set(result)) == len(result) == len(names)
    for index, (name, chosen) in enumerate(zip(names, result, strict=True)):
        assert chosen == name if name not in names[:index] else chosen.startswith(f"{name} (")


def test_distinct_names_of_other_columns():
    """A new name is never the name of another column."""
    assert distinct(["a", "a", "a (2)"]) == ["a", "a (3)", "a (2)"]
