"""Bytes on the disk: appended whole or not at all, replaced in one step."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from toolkit.cassettes.recording.appending import append, bring_to, clear_away, replace_atomically, stamp_of


@pytest.fixture
def file(tmp_path):
    return tmp_path / "x.yaml"


def names_in(folder):
    return sorted(one.name for one in folder.iterdir())


def refuse(*_, **__):
    raise PermissionError(errno.EACCES, "Permission denied")


def test_the_header_comes_once(file):
    """What comes first in a file is written with the first bytes that are appended, and never again."""
    append(file, b"one", header=b"head ")
    append(file, b" two", header=b"head ")
    assert file.read_bytes() == b"head one two"


@pytest.mark.parametrize("held", [None, b"", b"held"])
@pytest.mark.parametrize("error", [None, OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_an_interrupted_write_is_taken_back(file, writes_that_stop, held, error):
    """A write that stops half-way leaves the file ending where it ended: short, with an error or by Ctrl+C."""
    if held is not None:
        file.write_bytes(held)
    with writes_that_stop(error), pytest.raises(OSError if error is None else type(error)):
        append(file, b"an interaction", header=b"head ")
    assert file.read_bytes() == (held or b"")


@given(st.binary(max_size=20), st.binary(max_size=20), st.booleans())
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_bring_to(file, data, whole, is_beginning):
    """Whatever a file held, it holds what was asked afterwards, and nothing is beside it."""
    whole = data[: len(whole)] if is_beginning else whole
    file.write_bytes(data)
    bring_to(whole, data, file)
    assert file.read_bytes() == whole
    assert names_in(file.parent) == ["x.yaml"]


def test_a_torn_end_is_cut_off_in_place(file):
    """Cutting off needs no room on a full disk, and no second file."""
    file.write_bytes(b"whole, torn")
    inode = file.stat().st_ino
    bring_to(b"whole", b"whole, torn", file)
    assert (file.stat().st_ino, file.read_bytes()) == (inode, b"whole")


def test_replace_atomically(file, monkeypatch):
    """A replacement that fails leaves the old bytes and no other file."""
    file.write_bytes(b"old")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", refuse)
        with pytest.raises(PermissionError):
            replace_atomically(file, b"new")
    assert names_in(file.parent) == ["x.yaml"]
    assert file.read_bytes() == b"old"
    file.chmod(0o640)
    replace_atomically(file, b"new")
    replace_atomically(file.with_name("y.yaml"), b"newer")
    assert {one.name: one.read_bytes() for one in file.parent.iterdir()} == {"x.yaml": b"new", "y.yaml": b"newer"}
    assert os.name == "nt" or file.stat().st_mode & 0o777 == 0o640


def test_what_a_killed_process_left_is_cleared_away(file, monkeypatch):
    """Only what was left of replacing this very file."""
    monkeypatch.setattr(Path, "replace", refuse)
    monkeypatch.setattr(Path, "unlink", lambda *_, **__: None)  # killed before it could
    for one in (file, file.with_name("other.yaml")):
        with pytest.raises(PermissionError):
            replace_atomically(one, b"new")
    monkeypatch.undo()
    file.write_bytes(b"old")
    clear_away(file)
    left = names_in(file.parent)
    assert len(left) == 2
    assert "x.yaml" in left
    assert any("other.yaml" in name for name in left)


def test_a_stamp_tells_of_a_change(file):
    """None without a file, the same while nobody touches it, another when somebody does."""
    assert stamp_of(file) is None
    file.write_bytes(b"one")
    stamp = stamp_of(file)
    assert stamp == stamp_of(file)
    append(file, b"!", header=b"")
    assert stamp_of(file) != stamp
