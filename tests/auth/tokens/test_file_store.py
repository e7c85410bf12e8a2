"""The folder in which processes share tokens: real files, and what may be in their place."""

from __future__ import annotations

import os
import stat

import pytest

from toolkit.auth.tokens.token import (
    LARGEST_ENTRY,
    FileTokenStore,
)

NAME = "0123456789abcdef" * 4
OTHER = "fedcba9876543210" * 4


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "tokens"


@pytest.fixture
def store(folder):
    return FileTokenStore(folder)


def test_entries(store, folder):
    """Each name has an entry of its own, the last one written; reading creates no folder."""
    assert store.read(NAME) is None
    assert not folder.exists()
    store.write(NAME, b"one")
    store.write(OTHER, b"other")
    store.write(NAME, bytes(LARGEST_ENTRY))
    assert store.read(NAME) == bytes(LARGEST_ENTRY)
    assert FileTokenStore(folder).read(OTHER) == b"other"
    assert store.read("0" * 16) is None


def calls(store):
    return [lambda: store.read(NAME), lambda: store.write(NAME, b"new"), lambda: store.try_lock(NAME)]


@pytest.mark.parametrize("place", ["folder", "parent"])
def test_folder_is_a_link(monkeypatch, tmp_path, place):
    """Neither the folder nor, in the user's cache, its parent may be a link; nothing is written through one."""
    caches, elsewhere = tmp_path / "caches", tmp_path / "elsewhere"
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name, **_: str(caches / name))
    store = FileTokenStore()
    linked = store.folder if place == "folder" else store.folder.parent
    linked.parent.mkdir(parents=True)
    elsewhere.mkdir(mode=0o755)
    linked.symlink_to(elsewhere, target_is_directory=True)
    for call in calls(store):
        with pytest.raises(OSError, match="it is a link, which is not followed"):
            call()
    assert list(elsewhere.iterdir()) == []
    assert os.name != "posix" or mode(elsewhere) == 0o755


def test_locks(store, folder):
    """All stores of a folder share the lock of a name; it affects neither other names nor entries."""
    lock = store.try_lock(NAME)
    assert FileTokenStore(folder).try_lock(NAME) is None
    assert store.try_lock(OTHER) is not None
    store.write(NAME, b"one")
    assert store.read(NAME) == b"one"
    lock.release()
    lock.release()
    assert FileTokenStore(folder).try_lock(NAME) is not None
