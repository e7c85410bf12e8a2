"""The folder in which processes share tokens: real files, and what may be in their place."""

from __future__ import annotations

import errno
import os
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from toolkit.auth.tokens import file_store
from toolkit.auth.tokens.store import (
    LARGEST_ENTRY,
    STALE_AFTER,
    FileTokenStore,
    StoreUnavailableError,
    TokenStore,
    user_token_store,
)

NAME = "0123456789abcdef" * 4
OTHER = "fedcba9876543210" * 4
posix = pytest.mark.skipif(os.name != "posix", reason="modes, pipes and owners are of POSIX")
not_root = pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "tokens"


@pytest.fixture
def store(folder):
    return FileTokenStore(folder)


def test_protocol(store):
    """A FileTokenStore is a TokenStore."""
    assert isinstance(store, TokenStore)


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


@posix
def test_rights(store, folder):
    """Only the user may enter the folder or read its files; permissions of others are taken away."""
    folder.mkdir(mode=0o755)
    lock = store.try_lock(NAME)
    store.write(NAME, b"one")
    assert mode(folder) == 0o700
    assert {path.name: mode(path) for path in folder.iterdir()} == {f"{NAME}.lock": 0o600, f"{NAME}.token": 0o600}
    lock.release()


def test_folder_in_the_cache(monkeypatch, tmp_path):
    """By default the folder is in the user's cache folder, and neither it nor its parent is open to others."""
    import platformdirs

    default = FileTokenStore().folder
    assert default == Path(platformdirs.user_cache_dir("service-access-toolkit", appauthor=False)) / "tokens"
    caches = tmp_path / "caches"
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name, **_: str(caches / name))
    store = user_token_store()
    assert store is user_token_store()
    assert not caches.exists()
    store.write(NAME, b"one")
    assert store.folder == caches / "service-access-toolkit" / "tokens"
    assert os.name != "posix" or {mode(store.folder), mode(store.folder.parent)} == {0o700}
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name, **_: str(tmp_path / name))
    assert user_token_store() is not store


@posix
def test_parent_of_a_chosen_folder(store, folder):
    """The parent of a folder that the user chose stays as it is."""
    folder.parent.chmod(0o755)
    store.write(NAME, b"one")
    assert mode(folder.parent) == 0o755


def test_repr(store, monkeypatch, tmp_path):
    """A store shows its folder without the name of the home folder."""
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert repr(store) == f"<FileTokenStore {Path('~/tokens')}>"


@pytest.mark.parametrize(
    "name", ["", "a" * 15, "a" * 129, "A" * 64, "g" * 64, f"../{NAME}", f"{NAME}\n", f"{NAME}.token", "a" * 60 + "/abc"]
)
def test_names(store, folder, name):
    """A malformed name is refused and touches no file."""
    for call in (store.read, store.try_lock, lambda name: store.write(name, b"x")):
        with pytest.raises(ValueError, match="hexadecimal"):
            call(name)
    assert not folder.exists()


def make_link(file):
    victim = file.parent.parent / "victim"
    victim.write_bytes(b"mine")
    file.symlink_to(victim)


def make_large(file):
    file.write_bytes(bytes(LARGEST_ENTRY + 1))


@posix
@pytest.mark.parametrize(
    "make",
    [make_link, os.mkfifo, make_large, lambda file: file.symlink_to(file)],
    ids=["link", "pipe", "large", "loop"],
)
def test_not_an_entry(store, folder, make):
    """A link, a pipe or a large file in place of an entry counts as missing, and the next entry replaces it."""
    folder.mkdir()
    file = folder / f"{NAME}.token"
    make(file)
    assert store.read(NAME) is None
    store.write(NAME, b"one")
    assert store.read(NAME) == b"one"
    victim = folder.parent / "victim"
    assert not victim.exists() or victim.read_bytes() == b"mine"


@posix
def test_anothers_entry(store, folder, monkeypatch):
    """A file of another user counts as missing; a folder of another user is not used."""
    store.write(NAME, b"one")
    real = os.fstat
    with monkeypatch.context() as patch:
        patch.setattr(
            "os.fstat", lambda descriptor: os.stat_result((*real(descriptor)[:4], 12345, *real(descriptor)[5:]))
        )
        assert store.read(NAME) is None
    store.write(NAME, b"two")
    assert store.read(NAME) == b"two"
    somebody = os.geteuid() + 1
    monkeypatch.setattr("os.geteuid", lambda: somebody)
    for call in calls(store):
        with pytest.raises(StoreUnavailableError, match="another user"):
            call()


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
        with pytest.raises(StoreUnavailableError, match=rf"{linked.name}: it is a link, which is not followed\Z"):
            call()
    assert list(elsewhere.iterdir()) == []
    assert os.name != "posix" or mode(elsewhere) == 0o755


def test_folder_is_a_file(store, folder):
    """A file in place of the folder or its parent makes the store unavailable, and stays."""
    folder.write_bytes(b"mine")
    for call in (*calls(store), *calls(FileTokenStore(folder / "tokens"))):
        with pytest.raises(StoreUnavailableError):
            call()
    assert folder.read_bytes() == b"mine"


@posix
@pytest.mark.parametrize("make", [make_link, os.mkfifo, os.mkdir], ids=["link", "pipe", "folder"])
def test_lock_that_is_not_a_file(store, folder, make):
    """A link, a pipe or a folder in place of a lock file makes the store unavailable and is named."""
    folder.mkdir()
    make(folder / f"{NAME}.lock")
    with pytest.raises(StoreUnavailableError, match=rf"cannot lock in .*{NAME}\.lock: it is "):
        store.try_lock(NAME)


@not_root
def test_read_only_folder(store, folder):
    """In a read-only folder, entries can be read but not written."""
    store.write(NAME, b"one")
    folder.chmod(0o500)
    try:
        with pytest.raises(StoreUnavailableError, match="Permission denied"):
            store.write(NAME, b"two")
        with pytest.raises(StoreUnavailableError, match="Permission denied"):
            store.try_lock(OTHER)
        assert store.read(NAME) == b"one"
    finally:
        folder.chmod(0o700)


@posix
@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC, errno.EDQUOT])
def test_full_disk(store, folder, monkeypatch, number):
    """If the disk cannot take a new file, the error says so, and the old entry can still be read."""
    store.write(NAME, b"one")
    real = os.open

    def only_reading(path, flags, *more, **named):
        if flags & os.O_CREAT:
            raise OSError(number, os.strerror(number), path)
        return real(path, flags, *more, **named)

    monkeypatch.setattr("os.open", only_reading)
    for call in calls(store)[1:]:
        with pytest.raises(StoreUnavailableError, match=os.strerror(number)) as caught:
            call()
        assert str(folder) in str(caught.value)
    assert store.read(NAME) == b"one"
    assert names_in(folder) == [f"{NAME}.token"]


def test_disk_that_fills_up(store, folder, monkeypatch):
    """If the disk is full at the last step, the old entry stays and the temporary file is removed."""
    store.write(NAME, b"one")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("toolkit.local.files.replace_file", full)
    with pytest.raises(StoreUnavailableError, match="No space left on device"):
        store.write(NAME, b"two")
    assert store.read(NAME) == b"one"
    assert names_in(folder) == [f"{NAME}.token"]


def test_too_large(store, folder):
    """An entry too large to be read again is not written."""
    store.write(NAME, b"one")
    with pytest.raises(StoreUnavailableError, match="at most 65536 bytes"):
        store.write(NAME, bytes(LARGEST_ENTRY + 1))
    assert store.read(NAME) == b"one"


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


def on_threads(*functions):
    """Run the functions at the same time and raise what one of them raises."""
    with ThreadPoolExecutor(len(functions)) as pool:
        for future in [pool.submit(function) for function in functions]:
            future.result()


def test_reading_while_others_write(store, folder):
    """A reader sees the whole entry of one writer, never a part. Threads serve as well as processes here."""
    whole = [bytes([number]) * 30_000 for number in range(7)]

    def write():
        for number in range(60):
            FileTokenStore(folder).write(NAME, whole[number % 7])

    def read():
        for _ in range(200):
            assert store.read(NAME) in {None, *whole}

    on_threads(write, write, read)
    assert store.read(NAME) in whole
    assert names_in(folder) == [f"{NAME}.token"]


@pytest.mark.parametrize("removes_lock_files", [False, True])
def test_taking_turns(store, folder, removes_lock_files):
    """While a thread holds the lock, no other undoes its work, even if lock files are removed in between."""

    def locked():
        while (lock := FileTokenStore(folder).try_lock(NAME)) is None:
            pass
        return lock

    def count():
        for _ in range(20):
            lock = locked()
            store.write(NAME, str(int(store.read(NAME) or b"0") + 1).encode())
            lock.release()

    def remove():
        for _ in range(20):
            lock = locked()
            (folder / f"{NAME}.lock").unlink()
            lock.release()

    on_threads(count, count, count, *[remove] * removes_lock_files)
    assert store.read(NAME) == b"60"


def old(path, seconds=STALE_AFTER + 60):
    then = time.time() - seconds
    os.utime(path, (then, then), follow_symlinks=False)


def test_old_entries_are_cleared_away(store, folder):
    """Writing removes entries, locks and remains of killed writers that are two days old, and nothing else."""
    for number, age in enumerate((0, STALE_AFTER - 600, STALE_AFTER + 600)):
        name = f"{number}" * 64
        store.write(name, b"x")
        store.try_lock(name).release()
        for file in (folder / f"{name}.token", folder / f"{name}.lock"):
            old(file, age)
        part = folder / f".{name}.token.abc.part"
        part.touch()
        old(part, age)
    store.write(NAME, b"one")
    left = {f"{name}.{suffix}" for name in ("0" * 64, "1" * 64) for suffix in ("token", "lock")}
    left |= {f".{name}.token.abc.part" for name in ("0" * 64, "1" * 64)}
    expected = left | {f"{NAME}.token"}
    assert set(names_in(folder)) - {f"{'2' * 64}.lock"} == expected
    assert os.name != "posix" or set(names_in(folder)) == expected


def test_an_entry_in_use_stays(store, folder):
    """An entry stays if it was written recently or is locked, however old the lock file is."""
    store.write(NAME, b"one")
    lock = store.try_lock(NAME)
    old(folder / f"{NAME}.lock")
    store.write(OTHER, b"x")
    assert store.read(NAME) == b"one"
    old(folder / f"{NAME}.token")
    store.write(OTHER, b"x")
    assert store.read(NAME) == b"one"
    assert FileTokenStore(folder).try_lock(NAME) is None
    lock.release()
    store.write(OTHER, b"x")
    assert store.read(NAME) is None


def test_an_entry_written_meanwhile_stays(store, folder, monkeypatch):
    """An entry stays if it is written again just before it would be removed."""
    store.write(NAME, b"one")
    old(folder / f"{NAME}.token")
    real = file_store.try_lock

    def write_first(file):
        if file.name == f"{NAME}.lock":
            (folder / f"{NAME}.token").write_bytes(b"two")
        return real(file)

    monkeypatch.setattr(file_store, "try_lock", write_first)
    store.write(OTHER, b"x")
    assert store.read(NAME) == b"two"


def test_other_files_stay(store, folder):
    """Other files, links and folders stay, however old."""
    folder.mkdir()
    others = ["README", "a.token", f"{NAME}.txt", f"{NAME}.token.bak", ".other.part", f"x{NAME}.lock"]
    for name in others:
        (folder / name).touch()
        old(folder / name)
    (folder / f"{'1' * 64}.token").symlink_to(folder / "README")
    (folder / f"{'2' * 64}.token").mkdir()
    for number in "12":
        old(folder / f"{number * 64}.token") if os.utime in os.supports_follow_symlinks else None
    store.write(NAME, b"one")
    assert set(names_in(folder)) == {*others, f"{'1' * 64}.token", f"{'2' * 64}.token", f"{NAME}.token"}


def test_clearing_away_fails(store, folder, monkeypatch):
    """If old entries cannot be removed, the new entry is written anyway."""
    store.write(OTHER, b"x")
    old(folder / f"{OTHER}.token")
    monkeypatch.setattr("os.scandir", lambda _: (_ for _ in ()).throw(OSError(errno.EIO, "I/O error")))
    store.write(NAME, b"one")
    assert store.read(NAME) == b"one"
    assert store.read(OTHER) == b"x"
