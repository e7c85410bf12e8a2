from __future__ import annotations

import traceback

import pytest

from toolkit.core.errors import ConfigurationError
from toolkit.local.files import lies_in, parse_toml, read_text


def test_read_text(home):
    """Text is read as UTF-8, with and without the byte order mark of Windows editors."""
    for encoding in ("utf-8", "utf-8-sig"):
        (home / "file").write_text("zwei ü", encoding=encoding)
        assert read_text(home / "file", "the file", "Mend it.") == "zwei ü"


def test_errors_keep_nothing(home):
    """No error hangs on to what was read: Python's own hold the whole text."""
    (home / "file").write_bytes(b"hush\xff")
    with pytest.raises(ConfigurationError) as unreadable:
        read_text(home / "file", "the file", "Mend it.")
    with pytest.raises(ConfigurationError) as malformed:
        parse_toml("hush", "the file", "Mend it.")
    for error in (unreadable.value, malformed.value):
        assert (error.__cause__, error.__context__) == (None, None)
        assert "hush" not in str(error)
        for frame, _ in traceback.walk_tb(error.__traceback__.tb_next):
            assert "hush" not in repr(frame.f_locals)


def test_lies_in(home):
    """Links and dots are followed before it is said where a path leads; a loop leads nowhere."""
    inside = home / "inside"
    inside.mkdir()
    (inside / "out").symlink_to(home)
    (inside / "loop").symlink_to(inside / "loop")
    assert lies_in(inside / "missing" / "file", inside)
    assert not lies_in(inside / ".." / "file", inside)
    assert not lies_in(inside / "out" / "file", inside)
    assert not lies_in(home / "inside-out", inside)
    assert not lies_in(inside / "\x00", inside)
