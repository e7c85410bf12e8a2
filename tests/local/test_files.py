from __future__ import annotations

import errno
import os
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from toolkit.local import files
from toolkit.local.files import (
    LinkInTheWay,
    UnfitFile,
    is_open_to_others,
    is_own_folder,
    open_own,
    private_folder,
    read_private,
    refuse_link,
    shown,
    write_private,
)

posix = pytest.mark.skipif(os.name != "posix", reason="modes, pipes and owners are of POSIX")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("durable", [True, False])
def test_write_and_read(tmp_path, durable):
    """A file is written whole and replaced whole, for its user alone, and leaves no other file behind."""
    file = tmp_path / "file"
    for content in (b"one", b"", bytes(range(256)) * 100):
        write_private(file, content, durable=durable)
        assert read_private(file, len(content)) == content
        assert list(tmp_path.iterdir()) == [file]
    assert os.name != "posix" or mode(file) == 0o600


def test_durable(tmp_path, monkeypatch):
    """A file waits for the disk, unless it need not."""
    waits = []
    monkeypatch.setattr("os.fsync", waits.append)
    write_private(tmp_path / "file", b"one", durable=False)
    assert waits == []
    write_private(tmp_path / "file", b"one")
    assert len(waits) == 1


@posix
def test_rights_are_taken_back(tmp_path):
    """A file that others could read is replaced by one that they cannot."""
    file = tmp_path / "file"
    file.write_bytes(b"old")
    file.chmod(0o666)
    write_private(file, b"new")
    assert mode(file) == 0o600


@pytest.mark.parametrize("call", ["os.fsync", "pathlib.Path.replace"])
def test_full_disk(tmp_path, monkeypatch, call):
    """A disk that fails leaves the old file and no temporary one."""
    file = tmp_path / "file"
    write_private(file, b"old")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(call, full)
    with pytest.raises(OSError, match="No space left"):
        write_private(file, b"new")
    assert read_private(file, 10) == b"old"
    assert list(tmp_path.iterdir()) == [file]


@posix
def test_disk_that_is_really_full(tmp_path):
    """A write that the kernel refuses half way leaves the old file and no temporary one."""
    file = tmp_path / "file"
    write_private(file, b"old")
    program = """
import pathlib, resource, sys
from toolkit.local.files import write_private
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    write_private(pathlib.Path(sys.argv[1]), bytes(100_000), durable=False)
except OSError:
    print("refused")
"""
    done = subprocess.run([sys.executable, "-c", program, str(file)], capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"
    assert read_private(file, 10) == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_interrupted(tmp_path, monkeypatch):
    """An interrupt while writing leaves no temporary file, even when that cannot be removed at first."""
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        write_private(tmp_path / "file", b"new")
    assert list(tmp_path.iterdir()) == []


def test_whole_whenever_read(tmp_path):
    """A reader beside a writer sees one entry or the other, never a part of one."""
    file = tmp_path / "file"
    contents = [bytes([number]) * 20_000 for number in range(8)]
    write_private(file, contents[0])
    done = threading.Event()

    def write():
        for number in range(400):
            write_private(file, contents[number % 8], durable=False)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = set()
    while not done.is_set():
        seen.add(read_private(file, 20_000))
    writer.join()
    assert seen <= set(contents)


def test_replaced_once_readers_have_closed(tmp_path, monkeypatch):
    """Where an open file is not replaced, as on Windows, it is tried again, and given up in the end."""
    monkeypatch.setattr(files, "_ON_WINDOWS", True)
    pauses, replace = [], Path.replace
    monkeypatch.setattr("time.sleep", pauses.append)

    def open_elsewhere(times):
        def attempt(source, target):
            if len(pauses) < times:
                raise PermissionError(errno.EACCES, "Access is denied")
            replace(source, target)

        return attempt

    file = tmp_path / "file"
    monkeypatch.setattr("pathlib.Path.replace", open_elsewhere(2))
    write_private(file, b"one")
    assert read_private(file, 10) == b"one"
    assert pauses == sorted(pauses)
    assert len(pauses) == 2
    pauses.clear()
    monkeypatch.setattr("pathlib.Path.replace", open_elsewhere(100))
    with pytest.raises(PermissionError):
        write_private(file, b"two")
    assert read_private(file, 10) == b"one"
    assert list(tmp_path.iterdir()) == [file]


def test_write_replaces_a_link(tmp_path):
    """A link is replaced; what it leads to stays as it was."""
    victim, file = tmp_path / "victim", tmp_path / "file"
    victim.write_bytes(b"mine")
    file.symlink_to(victim)
    write_private(file, b"new")
    assert victim.read_bytes() == b"mine"
    assert not file.is_symlink()
    assert file.read_bytes() == b"new"


@pytest.mark.parametrize("follows", [True, False], ids=["flag of the kernel", "looking"])
def test_read_follows_no_link(tmp_path, monkeypatch, follows):
    """A link is no file, whether the kernel refuses it or it is looked for, as on Windows."""
    if not follows:
        monkeypatch.setattr(files, "_NO_FOLLOW", 0)
        monkeypatch.setattr(files, "_OPENING", files._OPENING & ~getattr(os, "O_NOFOLLOW", 0))
    (tmp_path / "victim").write_bytes(b"mine")
    for target in ("victim", "missing", "file"):
        file = tmp_path / "file"
        file.symlink_to(tmp_path / target)
        assert read_private(file, 10) is None
        with pytest.raises(LinkInTheWay, match="link"):
            open_own(file, os.O_RDWR | os.O_CREAT)
        file.unlink()
    assert not (tmp_path / "missing").exists()


def test_link_put_there_after_looking(tmp_path, monkeypatch):
    """Without a flag of the kernel, a link that was put there after looking is found out once it is open."""
    monkeypatch.setattr(files, "_NO_FOLLOW", 0)
    monkeypatch.setattr(files, "_OPENING", files._OPENING & ~getattr(os, "O_NOFOLLOW", 0))
    monkeypatch.setattr(files, "refuse_link", lambda path: None)
    (tmp_path / "victim").write_bytes(b"mine")
    (tmp_path / "file").symlink_to(tmp_path / "victim")
    assert read_private(tmp_path / "file", 10) is None


@pytest.mark.parametrize("size", [0, 9, 10, 11, 1000])
def test_limit(tmp_path, size):
    """A file of up to the limit is read, a larger one is none."""
    file = tmp_path / "file"
    file.write_bytes(bytes(size))
    assert read_private(file, 10) == (bytes(size) if size <= 10 else None)


@posix
def test_what_is_no_plain_file(tmp_path):
    """A folder, a pipe without a writer and a socket are no files, and waiting for none of them."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        folder = os.open(tmp_path, os.O_RDONLY)
        try:
            listener.bind(f"/proc/self/fd/{folder}/socket" if sys.platform == "linux" else str(tmp_path / "socket"))
        finally:
            os.close(folder)
        for name in ("folder", "pipe", "socket", "missing", "folder/missing", "pipe/missing"):
            assert read_private(tmp_path / name, 10) is None
        for name in ("folder", "pipe", "socket"):
            with pytest.raises(UnfitFile, match="not a plain file"):
                open_own(tmp_path / name, os.O_RDWR | os.O_CREAT)


@posix
def test_anothers_file(tmp_path, monkeypatch):
    """A file or folder of another user's is none of ours."""
    file = tmp_path / "file"
    write_private(file, b"one")
    somebody = os.geteuid() + 1
    monkeypatch.setattr("os.geteuid", lambda: somebody)
    assert read_private(file, 10) is None
    with pytest.raises(UnfitFile, match="another user") as caught:
        is_own_folder(tmp_path)
    assert caught.value.filename == str(tmp_path)


def test_unreadable(tmp_path, monkeypatch):
    """A file that may not be read counts as none; a disk that fails is an error."""
    file = tmp_path / "file"
    file.write_bytes(b"one")

    def failing(number):
        def fail(*_):
            raise OSError(number, os.strerror(number))

        return fail

    monkeypatch.setattr("os.open", failing(errno.EACCES))
    assert read_private(file, 10) is None
    monkeypatch.setattr("os.open", failing(errno.EIO))
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        read_private(file, 10)


@posix
def test_no_descriptor_is_left_open(tmp_path, monkeypatch):
    """What was opened and found unfit is closed."""
    os.mkfifo(tmp_path / "pipe")
    opened, closed = [], []
    real_open, real_close = os.open, os.close
    monkeypatch.setattr("os.open", lambda *given: opened.append(real_open(*given)) or opened[-1])
    monkeypatch.setattr("os.close", lambda descriptor: closed.append(descriptor) or real_close(descriptor))
    with pytest.raises(UnfitFile):
        open_own(tmp_path / "pipe", os.O_RDWR)
    assert opened == closed
    assert len(opened) == 1


@posix
def test_private_folder(tmp_path):
    """A folder is made for its user alone, and one that others may enter is closed to them."""
    folder = tmp_path / "a" / "b"
    assert not is_own_folder(folder)
    private_folder(folder)
    assert is_own_folder(folder)
    assert mode(folder) == 0o700
    folder.chmod(0o777)
    assert is_open_to_others(folder)
    private_folder(folder)
    assert mode(folder) == 0o700


def test_folder_that_is_none(tmp_path):
    """A link or a file in place of a folder is refused."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder", target_is_directory=True)
    (tmp_path / "dangling").symlink_to(tmp_path / "missing", target_is_directory=True)
    (tmp_path / "file").touch()
    for name in ("link", "dangling"):
        for check in (private_folder, is_own_folder, refuse_link):
            with pytest.raises(LinkInTheWay) as caught:
                check(tmp_path / name)
            assert caught.value.filename == str(tmp_path / name)
    assert not (tmp_path / "missing").exists()
    with pytest.raises(OSError, match="File exists"):
        private_folder(tmp_path / "file")
    with pytest.raises(UnfitFile, match="not a folder"):
        is_own_folder(tmp_path / "file")


def test_refuse_link_passes_the_rest(tmp_path):
    """What is no link, or not there, or below a file, is none of its business."""
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file", tmp_path / "missing", tmp_path / "file" / "below"):
        refuse_link(path)


def test_junction(tmp_path, monkeypatch):
    """A junction of Windows is a link, although it says that it is a folder."""
    status = os.lstat(tmp_path)

    class Junction:
        st_mode, st_reparse_tag = status.st_mode, 0xA0000003

    monkeypatch.setattr("os.lstat", lambda _: Junction())
    with pytest.raises(LinkInTheWay):
        refuse_link(tmp_path)


def test_open_to_nobody(tmp_path):
    """A file that is gone is open to nobody."""
    assert not is_open_to_others(tmp_path / "gone")


def test_shown(monkeypatch, tmp_path):
    """A path names no home folder, nor what would move the cursor."""
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert shown(tmp_path / "a" / "b") == str(Path("~/a/b"))
    assert shown(Path("/else\x1bwhere")) == str(Path("/elsewhere"))
