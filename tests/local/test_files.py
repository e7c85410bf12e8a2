from __future__ import annotations

import errno
import os
import socket
import stat
import sys
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import ConfigurationError
from toolkit.local.files import (
    UnfitFile,
    create_new,
    expanded,
    is_open_to_others,
    open_own,
    private_folder,
    read_private,
    toml_string,
    write_atomically,
)

posix = pytest.mark.skipif(os.name != "posix", reason="needs permissions, pipes and owners of POSIX")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("private", [True, False])
def test_write_and_read(tmp_path, monkeypatch, private):
    """A file is written, waited for on the disk and replaced as a whole, and no other file is left behind."""
    file, waited_for = tmp_path / "file", []
    monkeypatch.setattr("os.fsync", lambda descriptor: waited_for.append(os.fstat(descriptor).st_size))
    for content in (b"one", b"", bytes(range(256)) * 100):
        write_atomically(file, content, private=private)
        assert read_private(file, len(content)) == content
        assert list(tmp_path.iterdir()) == [file]
        assert waited_for.pop() == len(content)


@posix
def test_permissions(tmp_path):
    """A private file is for its user alone; another file keeps its permissions, or gets the usual ones."""
    private, public, usual = (tmp_path / name for name in ("private", "public", "usual"))
    usual.touch()
    write_atomically(private, b"old", private=True)
    write_atomically(public, b"old")
    assert (mode(private), mode(public)) == (0o600, mode(usual))
    for file in (private, public):
        file.chmod(0o640)
        write_atomically(file, b"new", private=file == private)
    assert (mode(private), mode(public)) == (0o600, 0o640)


def test_links(tmp_path):
    """A private file replaces a link; no other is written in its place, and none is read or written through it."""
    target, link, dangling = (tmp_path / name for name in ("target", "link", "dangling"))
    target.write_bytes(b"old")
    link.symlink_to(target)
    dangling.symlink_to(tmp_path / "missing")
    for path in (link, dangling):
        assert read_private(path, 10) is None
        for write in (lambda path: write_atomically(path, b"new"), lambda path: open_own(path, os.O_RDWR | os.O_CREAT)):
            with pytest.raises(UnfitFile, match="it is a link, and links are not followed"):
                write(path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dangling", "link", "target"]
    write_atomically(link, b"private", private=True)
    assert not link.is_symlink()
    assert (target.read_bytes(), link.read_bytes()) == (b"old", b"private")


@pytest.mark.parametrize("private", [True, False])
def test_create_new(tmp_path, private):
    """A new file is written whole; an existing file or link is left alone."""
    file, link = tmp_path / "file", tmp_path / "link"
    create_new(file, b"one", private=private)
    link.symlink_to(tmp_path / "missing")
    for path in (file, link):
        with pytest.raises(FileExistsError):
            create_new(path, b"two", private=private)
    assert file.read_bytes() == b"one"
    assert {path.name for path in tmp_path.iterdir()} == {"file", "link"}
    assert os.name != "posix" or not private or mode(file) == 0o600


@pytest.mark.parametrize("call", ["os.fsync", "pathlib.Path.replace"])
@pytest.mark.parametrize("private", [True, False])
def test_full_disk(tmp_path, monkeypatch, call, private):
    """A failing disk leaves the old file and no temporary file."""
    file = tmp_path / "file"
    file.write_bytes(b"old")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(call, full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(file, b"new", private=private)
    assert read_private(file, 10) == b"old"
    assert list(tmp_path.iterdir()) == [file]


def next_descriptor():
    """Return the lowest number that is not in use, which the next open file gets."""
    descriptor = os.open(os.devnull, os.O_RDONLY)
    os.close(descriptor)
    return descriptor


@posix
def test_not_a_plain_file(tmp_path):
    """A folder, a pipe and a socket count as missing, and opening them neither waits nor leaves them open."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        folder = os.open(tmp_path, os.O_RDONLY)
        try:
            listener.bind(f"/proc/self/fd/{folder}/socket" if sys.platform == "linux" else str(tmp_path / "socket"))
        finally:
            os.close(folder)
        number = next_descriptor()
        for name in ("folder", "pipe", "socket", "missing", "folder/missing", "pipe/missing"):
            assert read_private(tmp_path / name, 10) is None
        for name in ("folder", "pipe", "socket"):
            with pytest.raises(UnfitFile, match="not a regular file"):
                open_own(tmp_path / name, os.O_RDWR | os.O_CREAT)
        assert next_descriptor() == number


@posix
def test_anothers_file(tmp_path, monkeypatch):
    """Another user's file counts as missing and is not left open, and another user's folder is an error."""
    file, number = tmp_path / "file", next_descriptor()
    write_atomically(file, b"one", private=True)
    somebody = os.geteuid() + 1
    monkeypatch.setattr("os.geteuid", lambda: somebody)
    assert (read_private(file, 10), next_descriptor()) == (None, number)
    with pytest.raises(UnfitFile, match="another user") as caught:
        private_folder(tmp_path)
    assert caught.value.filename == str(tmp_path)


@posix
def test_private_folder(tmp_path):
    """A new folder is for its user alone, and an existing one is closed to others."""
    folder = tmp_path / "a" / "b"
    private_folder(folder)
    assert mode(folder) == 0o700
    folder.chmod(0o777)
    assert is_open_to_others(folder)
    private_folder(folder)
    assert mode(folder) == 0o700
    assert not is_open_to_others(folder)
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(UnfitFile, match="link"):
        private_folder(tmp_path / "link")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_toml_string(text):
    """A text is read back from TOML."""
    assert tomllib.loads(f"x = {toml_string(text)}") == {"x": text}


def test_what_is_not_a_path():
    """The error says what is wrong and names the argument, and does not quote what it got."""
    no_type, no_file = "folder must be a string or a Path", "The path is not valid"
    for path, words in ((b"kanari", no_type), ("~kanari/x", no_file), ("kanari" * 999, no_file), ("kanari\0", no_file)):
        with pytest.raises(ConfigurationError, match=words) as caught:
            expanded(path, about="folder")
        assert caught.value.about == "folder"
        assert "kanari" not in str(caught.value)
