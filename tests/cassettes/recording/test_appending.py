"""Bytes are appended completely or not at all."""

from __future__ import annotations

import errno

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from toolkit.cassettes.format.interactions import HEADER
from toolkit.cassettes.recording.appending import append, change_to, stamp_of


@pytest.fixture
def file(tmp_path):
    return tmp_path / "x.yaml"


def test_header_is_written_once(file):
    """The header is written with the first bytes, and not again."""
    stamp = append(file, b"one", stamp=None, like=file)
    append(file, b" two", stamp=stamp, like=file)
    assert file.read_bytes() == HEADER + b"one two"


@pytest.mark.parametrize("old", [None, b"", b"old"])
@pytest.mark.parametrize("error", [None, OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_partial_write_is_undone(file, writes_that_stop, old, error):
    """A write that stops halfway, with or without an error, leaves the file as it was."""
    if old is not None:
        file.write_bytes(old)
    with writes_that_stop(error), pytest.raises(OSError if error is None else type(error)):
        append(file, b"an interaction", stamp=stamp_of(file), like=file)
    assert (file.read_bytes() if file.exists() else None) == old


@given(st.binary(max_size=20), st.binary(max_size=20), st.booleans())
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_change_to(file, old, new, is_prefix):
    """The file has the new content, and nothing is left beside it."""
    new = old[: len(new)] if is_prefix else new
    file.write_bytes(old)
    change_to(new, old, file)
    assert file.read_bytes() == new
    assert [entry.name for entry in file.parent.iterdir()] == ["x.yaml"]


def test_torn_tail_is_truncated_in_place(file):
    """Cutting off the end needs no space on a full disk and no second file."""
    file.write_bytes(b"whole, torn")
    inode = file.stat().st_ino
    change_to(b"whole", b"whole, torn", file)
    assert (file.stat().st_ino, file.read_bytes()) == (inode, b"whole")


def test_stamp_shows_changes(file):
    """A stamp is None without a file, and changes only if the file does."""
    assert stamp_of(file) is None
    file.write_bytes(b"one")
    stamp = stamp_of(file)
    assert stamp == stamp_of(file)
    after = append(file, b"!", stamp=stamp, like=file)
    assert stamp_of(file) == after != stamp


@pytest.mark.parametrize("old", [None, b"old"])
@pytest.mark.parametrize("kind", ["symlink_to", "hardlink_to"])
def test_only_the_checked_file_is_written(file, tmp_path, kind, old):
    """A link, or another file, that takes the place of the checked one or of none is not written to."""
    other, stamp = tmp_path / "other", None
    other.write_bytes(b"another")
    if old is not None:
        file.write_bytes(old)
        stamp = stamp_of(file)
        file.unlink()
    getattr(file, kind)(other)
    with pytest.raises(OSError, match=r"link|exists|another program"):
        append(file, b" new", stamp=stamp, like=file)
    with pytest.raises(OSError, match=r"link|another program"):
        change_to(b"", b"old", file)
    assert other.read_bytes() == b"another"
