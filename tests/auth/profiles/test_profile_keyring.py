from __future__ import annotations

import keyring
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from keyring.backend import KeyringBackend
from keyring.backends import chainer, fail, null

from toolkit.auth.profiles.keyring import Entry, store
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret


class PlaintextKeyring(KeyringBackend):
    """What keyrings.alt calls the one that writes in the clear."""

    priority = 0.5

    def get_password(self, service, username):
        pytest.fail("not to be asked")

    set_password = delete_password = get_password


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=3500))
def test_stored_is_read(memory_keyring, text):
    """What is read is what was stored, of any length; deleting it leaves nothing."""
    entry = store("live/a", Secret(text))
    assert entry.read().reveal() == text
    entry.delete()
    assert memory_keyring.entries == {}
    entry.delete()


def test_names(memory_keyring):
    """A person finds the profile in the keyring by its name; each piece has a service of its own."""
    entry = store("live/a", Secret("x" * 2500))
    assert {username for _, username in memory_keyring.entries} == {"live/a"}
    services = [service for service, _ in memory_keyring.entries]
    assert len(set(services)) == entry.pieces == 3
    assert all(service.startswith("service-access-toolkit/live/a/") for service in services)


def test_stored_twice(memory_keyring):
    """Two savings of one profile do not touch each other."""
    first, second = (store("live/a", Secret(text)) for text in ("one", "two"))
    assert (first.read().reveal(), second.read().reveal()) == ("one", "two")
    first.delete()
    assert second.read().reveal() == "two"


@pytest.mark.parametrize("backend", [fail.Keyring(), null.Keyring(), PlaintextKeyring()])
def test_no_real_keyring(backend):
    """A keyring that keeps nothing, or keeps it in the clear, is none."""
    keyring.set_keyring(backend)
    assert store("live/a", Secret("x")) is None
    with pytest.raises(ConfigurationError, match="locked, or no longer has them"):
        Entry("live/a", "0" * 16, 1).read()
    with pytest.raises(ConfigurationError, match="does not let go"):
        Entry("live/a", "0" * 16, 1).delete()


def test_chained_keyrings(memory_keyring, monkeypatch):
    """Of several keyrings the first real one is used, and no other is asked."""
    monkeypatch.setattr(chainer.ChainerBackend, "backends", [PlaintextKeyring(), memory_keyring])
    keyring.set_keyring(chainer.ChainerBackend())
    assert store("live/a", Secret("x")).read().reveal() == "x"
    assert memory_keyring.entries
    monkeypatch.setattr(chainer.ChainerBackend, "backends", [PlaintextKeyring()])
    assert store("live/a", Secret("x")) is None


def test_keyring_that_cannot_be_had(monkeypatch):
    """A keyring that fails to load is none."""

    def broken():
        raise RuntimeError("no bus")

    monkeypatch.setattr(keyring, "get_keyring", broken)
    assert store("live/a", Secret("x")) is None


def test_keyring_that_forgets(memory_keyring, monkeypatch):
    """A keyring that takes a secret and does not give it back is none, and keeps no piece."""
    keep = memory_keyring.set_password

    def forget_second(service, username, password):
        if not service.endswith("/2"):
            keep(service, username, password)

    monkeypatch.setattr(memory_keyring, "set_password", forget_second)
    assert store("live/a", Secret("x" * 2500)) is None
    assert memory_keyring.entries == {}


def test_missing_piece(memory_keyring):
    """A text of which a piece is gone is not given in part."""
    entry = store("live/a", Secret("hush" * 600))
    del memory_keyring.entries[next(iter(memory_keyring.entries))]
    with pytest.raises(ConfigurationError) as caught:
        entry.read()
    assert "hush" not in str(caught.value)


def test_errors_of_keyrings_are_dropped(memory_keyring):
    """What a keyring says of its failure is not passed on: it may quote what it keeps."""
    entry = store("live/a", Secret("hush-hush"))
    memory_keyring.broken = {"get", "delete"}
    for call in (entry.read, entry.delete):
        with pytest.raises(ConfigurationError) as caught:
            call()
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)
        assert "hush-hush" not in str(caught.value)
