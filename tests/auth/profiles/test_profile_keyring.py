from __future__ import annotations

import base64
import errno
import functools
import threading
from concurrent.futures import ThreadPoolExecutor

import keyring
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from keyring.backend import KeyringBackend
from keyring.backends import chainer, fail, null

from toolkit.auth.profiles.saved import USER_NAME, open_text, seal_text
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.local.locks import try_lock

KEY = ("service-access-toolkit", USER_NAME)


class PlaintextKeyring(KeyringBackend):
    """A keyring that writes in the clear, as keyrings.alt names it."""

    priority = 0.5

    def get_password(self, service, username):
        pytest.fail("it must not be used")

    set_password = delete_password = get_password


def opened(sealed, profile="live/a"):
    return open_text(sealed, profile, "Save it again.").reveal()


def refusal(call):
    with pytest.raises(ConfigurationError) as caught:
        call()
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert caught.value.about == "keyring"
    assert caught.value.next_step
    assert "hush" not in str(caught.value)
    return str(caught.value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec="utf-8"), max_size=3500))
def test_round_trip(memory_keyring, tmp_path, text):
    """A sealed text opens to the same text. The keyring has one short entry, and neither place has the text."""
    text = f"hush-hush-{text}"
    sealed = seal_text(Secret(text), "live/a", tmp_path)
    assert opened(sealed) == text
    assert memory_keyring.entries.keys() == {KEY}
    assert len(base64.b64decode(memory_keyring.entries[KEY])) == 32
    assert "hush" not in sealed
    assert not (tmp_path / ".keyring.lock").exists()


@pytest.mark.parametrize("text", ["", "hush", "gAAAAA", "ü" * 200, "x" * 500])
def test_changed_text(memory_keyring, tmp_path, text):
    """A text that was not sealed does not open."""
    seal_text(Secret("x"), "live/a", tmp_path)
    assert "does not open" in refusal(lambda: opened(text))


def test_one_key(memory_keyring, tmp_path):
    """All profiles share the key; a second one is never made."""
    first, second = (seal_text(Secret(text), "live/a", tmp_path) for text in ("one", "two"))
    assert (opened(first), opened(second)) == ("one", "two")


@pytest.mark.parametrize("backend", [fail.Keyring(), null.Keyring(), PlaintextKeyring()])
def test_no_real_keyring(tmp_path, backend):
    """A keyring that keeps nothing, or keeps it in the clear, does not count."""
    keyring.set_keyring(backend)
    assert seal_text(Secret("x"), "live/a", tmp_path) is None
    assert "does not have the key" in refusal(lambda: opened("x"))


def test_chained_keyrings(memory_keyring, tmp_path, monkeypatch):
    """If there are several keyrings, only the first real keyring is used."""
    monkeypatch.setattr(chainer.ChainerBackend, "backends", [PlaintextKeyring(), memory_keyring])
    keyring.set_keyring(chainer.ChainerBackend())
    assert opened(seal_text(Secret("x"), "live/a", tmp_path)) == "x"
    assert memory_keyring.entries
    monkeypatch.setattr(chainer.ChainerBackend, "backends", [PlaintextKeyring()])
    assert seal_text(Secret("x"), "live/a", tmp_path) is None


def test_keyring_that_cannot_be_loaded(tmp_path, monkeypatch):
    """If the keyring fails to load, nothing is saved in the clear in its place."""

    def fail_to_load():
        raise RuntimeError("no bus: hush")

    monkeypatch.setattr(keyring, "get_keyring", fail_to_load)
    assert "does not work" in refusal(lambda: seal_text(Secret("x"), "live/a", tmp_path))


def test_locked_later(memory_keyring, tmp_path):
    """A locked keyring does not open a text and does not get another key; unlocked, it opens the text."""
    sealed = seal_text(Secret("x"), "live/a", tmp_path)
    memory_keyring.broken = {"get"}
    assert "locked" in refusal(lambda: opened(sealed))
    message = refusal(lambda: seal_text(Secret("hush"), "live/b", tmp_path))
    assert "PYTHON_KEYRING_BACKEND to keyring.backends.null.Keyring" in message
    memory_keyring.broken = set()
    assert opened(sealed) == "x"


def test_keyring_that_forgets(memory_keyring, tmp_path, monkeypatch):
    """A keyring that accepts the key but does not keep it is an error."""
    monkeypatch.setattr(memory_keyring, "set_password", lambda *_: None)
    assert "does not work" in refusal(lambda: seal_text(Secret("x"), "live/a", tmp_path))


def test_lost_key(memory_keyring, tmp_path):
    """Without the key, or with another one, the text does not open, and the error tells the next step."""
    sealed = seal_text(Secret("x"), "live/a", tmp_path)
    memory_keyring.entries.clear()
    assert "Save it again." in refusal(lambda: opened(sealed))
    seal_text(Secret("y"), "live/b", tmp_path)
    assert "Save it again." in refusal(lambda: opened(sealed))


@pytest.mark.parametrize("entry", ["hush", "", base64.b64encode(bytes(31)).decode(), "ü"])
def test_entry_that_is_not_a_key(memory_keyring, tmp_path, entry):
    """An entry that is not a key is not replaced by a key."""
    memory_keyring.entries[KEY] = entry
    assert "is not a key" in refusal(lambda: seal_text(Secret("x"), "live/a", tmp_path))
    assert memory_keyring.entries == {KEY: entry}


def test_first_key_made_by_many(memory_keyring, tmp_path):
    """Several that save for the first time at the same time make one key. Threads stand for processes here."""
    barrier, seen = threading.Barrier(4), set()
    get = memory_keyring.get_password

    def get_at_once(service, username):
        key = get(service, username)
        if key is None and threading.current_thread() not in seen:
            seen.add(threading.current_thread())
            barrier.wait(10)  # all of them find no key before one makes it
        return key

    memory_keyring.get_password = get_at_once
    with ThreadPoolExecutor(4) as pool:
        pause = functools.partial(threading.Event().wait, 0.001)  # lets the one with the lock run on a busy machine
        saved = [pool.submit(seal_text, Secret("x"), "live/a", tmp_path, pause=lambda _: pause()) for _ in range(4)]
    assert [opened(future.result()) for future in saved] == ["x"] * 4


def test_lock_that_another_process_holds(memory_keyring, tmp_path):
    """While another process makes the key, this one waits; after a minute it is an error."""
    lock, pauses = try_lock(tmp_path / ".keyring.lock"), []
    assert "Another process" in refusal(lambda: seal_text(Secret("x"), "live/a", tmp_path, pause=pauses.append))
    assert sum(pauses) == pytest.approx(60)
    assert memory_keyring.entries == {}
    assert opened(seal_text(Secret("x"), "live/a", tmp_path, pause=lambda _: lock.release())) == "x"


def test_disk_without_locks(memory_keyring, tmp_path, monkeypatch):
    """A disk that does not support locks is used without them."""

    def refuse(_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("toolkit.auth.profiles.saved.try_lock", refuse)
    assert opened(seal_text(Secret("x"), "live/a", tmp_path)) == "x"
