from __future__ import annotations

import os

import pytest

from toolkit.local.locks import try_lock

pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")  # threads of pytest-xdist
posix = pytest.mark.skipif(os.name != "posix", reason="needs pipes, owners and forks of POSIX")


def test_one_at_a_time(tmp_path):
    """Only one holder has the lock until it is released; releasing it twice does not matter. No link is followed."""
    file = tmp_path / "a.lock"
    lock = try_lock(file)
    assert try_lock(file) is None
    lock.release()
    second = try_lock(file)
    assert second is not None
    lock.release()
    assert try_lock(file) is None
    second.release()
    assert os.name != "posix" or file.stat().st_mode & 0o777 == 0o600
    (tmp_path / "link.lock").symlink_to(file)
    with pytest.raises(OSError, match="it is a link"):
        try_lock(tmp_path / "link.lock")


@posix
def test_forked_child_does_not_hold_it(tmp_path):
    """A forked child can neither release nor take the lock of its parent."""
    file = tmp_path / "a.lock"
    lock = try_lock(file)
    if os.fork() == 0:
        lock.release()
        lock.__del__()
        os._exit(try_lock(file) is not None)
    assert os.wait()[1] == 0
    assert try_lock(file) is None
    lock.release()
    assert try_lock(file) is not None


@posix
def test_what_a_released_lock_leaves(tmp_path):
    """The file is closed, and a copy of it, which a child forked just now would have, does not keep the lock."""
    number = os.open(os.devnull, os.O_RDONLY)
    os.close(number)  # so that the lock gets this number, which is the lowest
    lock = try_lock(tmp_path / "a.lock")
    copy = os.dup(number)
    lock.release()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)
    assert try_lock(tmp_path / "a.lock") is not None
    os.close(copy)
