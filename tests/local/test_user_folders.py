from __future__ import annotations

import os

import pytest

from toolkit.local.folders import config_folder, user_key


def test_a_key_is_made_once():
    """A key is made when it is asked for, is private, and stays the same; each purpose has its own."""
    assert user_key("x", makes=False) is None
    assert not config_folder().exists()
    key = user_key("x", makes=True)
    assert len(key) == 32
    assert user_key("x", makes=True) == user_key("x", makes=False) == key
    assert user_key("y", makes=True) != key
    if os.name == "posix":
        assert (config_folder() / "x.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "not a key", "ab" * 31, "ab" * 33, "ab" * 5000])
def test_not_a_key(text):
    """A file that is not a key is an error, and is not replaced."""
    file = config_folder() / "x.key"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    for makes in (False, True):
        with pytest.raises(OSError, match="not a key"):
            user_key("x", makes=makes)
    assert file.read_text() == text
