from __future__ import annotations

import errno
import os
import socket
import stat
import sys

import pytest

from toolkit.local import private_files
from toolkit.local.files import write_atomically
from toolkit.local.private_files import (
    LinkInTheWay,
    UnfitFile,
    is_open_to_others,
    is_own_folder,
    open_own,
    private_folder,
    read_private,
    refuse_link,
)

posix = pytest.mark.skipif(os.name != "posix", reason="needs permissions, pipes and owners of POSIX")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("has_flag", [True, False], ids=["with flag", "without flag"])
def test_read_follows_no_link(tmp_path, monkeypatch, has_flag):
    """A link is not read, with the flag of the kernel and without it, as on Windows."""
    if not has_flag:
        monkeypatch.setattr(private_files, "_NO_FOLLOW", 0)
        monkeypatch.setattr(private_files, "_OPENING", private_files._OPENING & ~getattr(os, "O_NOFOLLOW", 0))
    (tmp_path / "victim").write_bytes(b"mine")
    for target in ("victim", "missing", "file"):
        file = tmp_path / "file"
        file.symlink_to(tmp_path / target)
        assert read_private(file, 10) is None
        with pytest.raises(LinkInTheWay, match="link"):
            open_own(file, os.O_RDWR | os.O_CREAT)
        file.unlink()
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize("size", [0, 9, 10, 11, 1000])
def test_limit(tmp_path, size):
    """A file larger than the limit counts as missing."""
    file = tmp_path / "file"
    file.write_bytes(bytes(size))
    assert read_private(file, 10) == (bytes(size) if size <= 10 else None)


@posix
def test_not_a_plain_file(tmp_path):
    """A folder, a pipe and a socket count as missing, and opening them does not wait."""
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
    """Another user's file counts as missing, and another user's folder is an error."""
    file = tmp_path / "file"
    write_atomically(file, b"one", private=True)
    somebody = os.geteuid() + 1
    monkeypatch.setattr("os.geteuid", lambda: somebody)
    assert read_private(file, 10) is None
    with pytest.raises(UnfitFile, match="another user") as caught:
        is_own_folder(tmp_path)
    assert caught.value.filename == str(tmp_path)


def test_unreadable(tmp_path, monkeypatch):
    """A file without read permission counts as missing; a failing disk is an error."""
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
def test_private_folder(tmp_path):
    """A new folder is for its user alone, and an existing one is closed to others."""
    folder = tmp_path / "a" / "b"
    assert not is_own_folder(folder)
    private_folder(folder)
    assert is_own_folder(folder)
    assert mode(folder) == 0o700
    folder.chmod(0o777)
    assert is_open_to_others(folder)
    private_folder(folder)
    assert mode(folder) == 0o700


def test_not_a_folder(tmp_path):
    """A link or file in place of a folder is refused."""
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
