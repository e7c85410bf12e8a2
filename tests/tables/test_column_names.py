from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.tables.column_names import distinct, dotted, is_identifier, is_key, last_key, words


@pytest.mark.parametrize(
    ("name", "found"),
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
def test_words(name, found):
    """A key is read as words, however it joins them."""
    assert words(name) == found


@pytest.mark.parametrize(
    "name", ["id", "accountId", "order_id", "account_number", "number", "account", "cusip", "ISIN", "zip", "phone_2"]
)
def test_identifiers(name):
    """The last word says that the digits under a name are no quantity."""
    assert is_identifier(name)


@pytest.mark.parametrize("name", ["cash", "paid", "account_value", "id_count", "numbers", "", "_", "grid"])
def test_no_identifiers(name):
    """A word that merely contains or begins with an identifier's word is none."""
    assert not is_identifier(name)


def test_keys_of_records():
    """An account number tells records apart, a phone number and a postal code do not."""
    assert is_key("account_number")
    assert is_key("id")
    assert not is_key("phone_number")
    assert not is_key("postal_code")


def test_dotted_and_back():
    """A path joins its keys; a column's last key is what follows the last dot."""
    assert dotted(("owner", "id")) == "owner.id"
    assert dotted(()) == "value"
    assert last_key("owner.id") == "id"


@given(st.lists(st.sampled_from(["a", "b", "a (2)", "a (3)", "a (2) (2)"])))
def test_distinct_law(names):
    """Every name comes out once, in its place, and the first of each stays as it was."""
    found = distinct(names)
    assert len(set(found)) == len(found) == len(names)
    for index, (name, chosen) in enumerate(zip(names, found, strict=True)):
        assert chosen == name if name not in names[:index] else chosen.startswith(f"{name} (")


def test_distinct_passes_real_names():
    """A made-up name never takes the place of a real one."""
    assert distinct(["a", "a", "a (2)"]) == ["a", "a (3)", "a (2)"]
