from __future__ import annotations

import pytest

from toolkit.auth.profiles.earlier import EarlierEntry
from toolkit.core.errors import ConfigurationError

TABLE = {"kind": "key pair", "keyring": "0123456789abcdef", "pieces": 2}
ENTRY = EarlierEntry("0123456789abcdef", 2)
SERVICES = [f"service-access-toolkit/live/a/0123456789abcdef/{number}" for number in (1, 2)]


@pytest.fixture
def entries(memory_keyring):
    """The keyring's entries, with a text in two pieces."""
    memory_keyring.entries |= {(SERVICES[0], "live/a"): "hush-", (SERVICES[1], "live/a"): "hush"}
    return memory_keyring.entries


def test_read_and_deleted(entries):
    """The pieces are put together, and all of them are deleted; to delete them again does nothing."""
    assert ENTRY.open("live/a", "").reveal() == "hush-hush"
    ENTRY.delete("live/a")
    ENTRY.delete("live/a")
    assert entries == {}


def test_missing_piece(entries):
    """A text of which a piece is gone is not read in part."""
    del entries[SERVICES[1], "live/a"]
    with pytest.raises(ConfigurationError, match="does not have the credentials live/a") as caught:
        ENTRY.open("live/a", "Save it again.")
    assert caught.value.next_step == "Save it again."


def test_other_profile(entries):
    """The entry of one profile is not opened under the name of another."""
    with pytest.raises(ConfigurationError, match="does not have the credentials paper/a"):
        ENTRY.open("paper/a", "")


def test_locked_keyring(memory_keyring, entries):
    """A locked keyring is an error that quotes nothing."""
    for broken, call in (("get", lambda: ENTRY.open("live/a", "")), ("delete", lambda: ENTRY.delete("live/a"))):
        memory_keyring.broken = {broken}
        with pytest.raises(ConfigurationError, match="locked") as caught:
            call()
        assert caught.value.__context__ is None
        assert "hush" not in str(caught.value)


def test_no_keyring():
    """Without a keyring nothing is read, and nothing counts as deleted."""
    with pytest.raises(ConfigurationError, match="does not have the credentials"):
        ENTRY.open("live/a", "")
    with pytest.raises(ConfigurationError):
        ENTRY.delete("live/a")


def test_from_table():
    """The table of a file names the entry."""
    assert EarlierEntry.from_table(TABLE) == ENTRY


@pytest.mark.parametrize(
    "changes",
    [
        {"keyring": "hush"},
        {"keyring": True},
        {"pieces": 0},
        {"pieces": 1000},
        {"pieces": "1"},
        {"pieces": True},
        {"key_id": "hush"},
    ],
)
def test_from_other_table(changes):
    """Any other table names none."""
    assert EarlierEntry.from_table({**TABLE, **changes}) is None
