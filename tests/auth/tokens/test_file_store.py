"""The folder in which processes share tokens: real file_store, and what may be in their place."""

from __future__ import annotations

import errno
import itertools
import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from toolkit.auth.tokens import file_store
from toolkit.auth.tokens.file_store import STALE_AFTER, FileTokenStore, user_token_store
from toolkit.auth.tokens.sealing import LARGEST_ENTRY, Seal
from toolkit.auth.tokens.store import StoreUnavailableError, TokenStore

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
    """It is a store, and its entries are those of a seal."""
    assert isinstance(store, TokenStore)
    seal = Seal.of(b"QXZ-identity", "https://auth.example.com/v1/oauth2/token")
    store.write(seal.name, seal.seal(b"text"))
    assert seal.open(store.read(seal.name)) == b"text"


def test_entries(store, folder):
    """Each name has an entry of its own, the last one written; reading makes no folder."""
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
    """Nobody but the user may enter the folder or read a file in it, and rights that others have are taken back."""
    folder.mkdir(mode=0o755)
    lock = store.try_lock(NAME)
    store.write(NAME, b"one")
    assert mode(folder) == 0o700
    assert {path.name: mode(path) for path in folder.iterdir()} == {f"{NAME}.lock": 0o600, f"{NAME}.token": 0o600}
    lock.release()


def test_folder_in_the_cache(monkeypatch, tmp_path):
    """By default the folder is below the user's cache folder, and neither it nor its parent is open to others."""
    import platformdirs

    default = FileTokenStore().folder
    assert default == Path(platformdirs.user_cache_dir("service-access-toolkit", appauthor=False)) / "tokens"
    caches = tmp_path / "caches"
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name, appauthor: str(caches / name))
    store = user_token_store()
    assert store is user_token_store()
    assert not caches.exists()
    store.write(NAME, b"one")
    assert store.folder == caches / "service-access-toolkit" / "tokens"
    assert os.name != "posix" or {mode(store.folder), mode(store.folder.parent)} == {0o700}
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name, appauthor: str(tmp_path / name))
    assert user_token_store() is not store


@posix
def test_parent_of_a_folder_given(store, folder):
    """What the user's own choice of folder lies in is left as it was."""
    folder.parent.chmod(0o755)
    store.write(NAME, b"one")
    assert mode(folder.parent) == 0o755


def test_repr(store, monkeypatch, tmp_path):
    """A store says where it is, without naming the home folder."""
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert repr(store) == f"<FileTokenStore {Path('~/tokens')}>"


@pytest.mark.parametrize(
    "name", ["", "a" * 15, "a" * 129, "A" * 64, "g" * 64, f"../{NAME}", f"{NAME}\n", f"{NAME}.token", "a" * 60 + "/abc"]
)
def test_names(store, folder, name):
    """What is no name of an entry is refused, and touches no file."""
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
def test_what_is_no_entry(store, folder, make):
    """A link, a pipe or a file that is too large counts as no entry, and the next entry replaces it."""
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
    """A file of another user's counts as no entry; a folder of another user's is not used."""
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
    """Neither the folder nor, in the user's cache, the one that it is in may be a link; nothing goes through one."""
    caches, elsewhere = tmp_path / "caches", tmp_path / "elsewhere"
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name, appauthor: str(caches / name))
    store = FileTokenStore()
    linked = store.folder if place == "folder" else store.folder.parent
    linked.parent.mkdir(parents=True)
    elsewhere.mkdir(mode=0o755)
    linked.symlink_to(elsewhere, target_is_directory=True)
    for call in calls(store):
        with pytest.raises(StoreUnavailableError, match=rf"{linked.name}: it is a link\Z"):
            call()
    assert list(elsewhere.iterdir()) == []
    assert os.name != "posix" or mode(elsewhere) == 0o755


def test_folder_is_a_file(store, folder):
    """A file in place of the folder makes the store unavailable, and stays."""
    folder.write_bytes(b"mine")
    for call in calls(store):
        with pytest.raises(StoreUnavailableError):
            call()
    assert folder.read_bytes() == b"mine"


def test_folder_below_a_file(tmp_path):
    """So does a file in place of what the folder is in."""
    (tmp_path / "file").touch()
    for call in calls(FileTokenStore(tmp_path / "file" / "tokens")):
        with pytest.raises(StoreUnavailableError):
            call()


@posix
@pytest.mark.parametrize("make", [make_link, os.mkfifo, os.mkdir], ids=["link", "pipe", "folder"])
def test_lock_that_is_no_file(store, folder, make):
    """A link, a pipe or a folder in place of a lock makes the store unavailable, and is named."""
    folder.mkdir()
    make(folder / f"{NAME}.lock")
    with pytest.raises(StoreUnavailableError, match=rf"cannot lock in .*{NAME}\.lock: it is "):
        store.try_lock(NAME)


@not_root
def test_read_only_folder(store, folder):
    """An entry in a folder that may not be written is read, and none is written."""
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
def test_disk_that_takes_no_file(store, folder, monkeypatch, number):
    """A disk that takes no new file is said so; the entry that was there is still read."""
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
    """A disk that is full at the last step leaves the entry that was there and no temporary file."""
    store.write(NAME, b"one")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(StoreUnavailableError, match="No space left on device"):
        store.write(NAME, b"two")
    assert store.read(NAME) == b"one"
    assert names_in(folder) == [f"{NAME}.token"]


def test_too_large(store, folder):
    """An entry that would not be read again is not written."""
    store.write(NAME, b"one")
    with pytest.raises(StoreUnavailableError, match="at most 65536 bytes"):
        store.write(NAME, bytes(LARGEST_ENTRY + 1))
    assert store.read(NAME) == b"one"


def test_locks(store, folder):
    """A name's lock is one for all stores of a folder, and has nothing to do with other names or with entries."""
    lock = store.try_lock(NAME)
    assert FileTokenStore(folder).try_lock(NAME) is None
    assert store.try_lock(OTHER) is not None
    store.write(NAME, b"one")
    assert store.read(NAME) == b"one"
    lock.release()
    lock.release()
    assert FileTokenStore(folder).try_lock(NAME) is not None


WRITER = """
import pathlib, sys
from toolkit.auth.tokens.file_store import FileTokenStore
store, name = FileTokenStore(pathlib.Path(sys.argv[1])), sys.argv[2]
print("started", flush=True)
for number in range(300):
    store.write(name, bytes([number % 7]) * 30_000)
"""


def test_processes_write_and_read(store, folder):
    """Beside processes that write one entry, a reader sees the entry of one of them, whole."""
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(folder), NAME], stdout=subprocess.PIPE) for _ in range(2)
    ]
    whole = {bytes([number]) * 30_000 for number in range(7)}
    for writer in writers:
        writer.stdout.readline()
    seen = set()
    while any(writer.poll() is None for writer in writers):
        seen.add(store.read(NAME))
    for writer in writers:
        writer.stdout.close()
        assert writer.returncode == 0
    assert seen - {None} <= whole
    assert store.read(NAME) in whole
    assert names_in(folder) == [f"{NAME}.token"]


COUNTER = """
import json, pathlib, sys
from toolkit.auth.tokens.file_store import FileTokenStore
folder, name = pathlib.Path(sys.argv[1]), sys.argv[2]
sweeps = len(sys.argv) > 3
store = FileTokenStore(folder)
for _ in range(60):
    while (lock := store.try_lock(name)) is None:
        pass
    kept = json.loads(store.read(name) or b"0")
    store.write(name, json.dumps(kept + 1).encode())
    lock.release()
"""


def count_in_processes(folder, number, swept=None):
    processes = [subprocess.Popen([sys.executable, "-c", COUNTER, str(folder), NAME]) for _ in range(number)]
    while any(process.poll() is None for process in processes):
        if swept is not None:
            swept()
    assert [process.returncode for process in processes] == [0] * number


def test_processes_take_turns(store, folder):
    """Under the lock, no process undoes what another has done."""
    count_in_processes(folder, 3)
    assert json.loads(store.read(NAME)) == 180


def test_processes_take_turns_while_locks_are_cleared_away(store, folder):
    """Nor does it when the lock's file is taken away again and again between them."""

    def clear_away():
        lock = store.try_lock(NAME)
        if lock is not None:
            (folder / f"{NAME}.lock").unlink()
            lock.release()

    count_in_processes(folder, 3, clear_away)
    assert json.loads(store.read(NAME)) == 180


def old(path, seconds=STALE_AFTER + 60):
    then = time.time() - seconds
    os.utime(path, (then, then), follow_symlinks=False)


def test_old_entries_are_cleared_away(store, folder):
    """Writing removes entries, their locks, and what killed writers left, once they are two days old, and no others."""
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
    """An entry stays as long as it was written lately, however old its lock is, and as long as its lock is held."""
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
    """An entry that was written after it was found old stays."""
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
    """Files that are none of ours stay, and so do links and folders, however old."""
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


def test_clearing_away_is_no_matter(store, folder, monkeypatch):
    """What cannot be cleared away is no reason not to write, and a clock that is wrong takes nothing with it."""
    store.write(OTHER, b"x")
    old(folder / f"{OTHER}.token")
    monkeypatch.setattr("os.scandir", lambda _: (_ for _ in ()).throw(OSError(errno.EIO, "I/O error")))
    store.write(NAME, b"one")
    assert store.read(NAME) == b"one"
    assert store.read(OTHER) == b"x"


def test_time_handed_in(folder):
    """What is old goes by the clock that the store was given."""
    moments = itertools.chain([0.0], itertools.repeat(time.time() + 2 * STALE_AFTER))
    store = FileTokenStore(folder, now=lambda: next(moments))
    store.write(NAME, b"one")
    assert store.read(NAME) == b"one"
    store.write(OTHER, b"other")
    assert store.read(NAME) is None
