from __future__ import annotations

import os

import pytest

from toolkit.local.files import UnfitFile
from toolkit.local.locks import try_lock

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
posix = pytest.mark.skipif(os.name != "posix", reason="needs pipes, owners and signals of POSIX")


def test_one_at_a_time(tmp_path):
    """Only one holder has the lock until it is released; releasing it twice does not matter."""
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


def in_a_child(act):
    """Return the small number that `act` returns in a forked child."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            code = act()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@needs_fork
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")  # threads of pytest-xdist
def test_forked_child_does_not_hold_it(tmp_path):
    """A forked child can neither release nor take the lock of its parent."""
    file = tmp_path / "a.lock"
    lock = try_lock(file)

    def act():
        lock.release()
        lock.__del__()
        return 1 if try_lock(file) is None else 2

    assert in_a_child(act) == 1
    assert try_lock(file) is None
    lock.release()
    assert try_lock(file) is not None


@posix
def test_not_a_plain_file_of_this_user(tmp_path, monkeypatch):
    """A pipe, a folder, a link or another user's file is refused without waiting."""
    os.mkfifo(tmp_path / "pipe.lock")
    (tmp_path / "folder.lock").mkdir()
    (tmp_path / "file.lock").touch()
    somebody = os.geteuid() + 1
    for name in ("pipe", "folder", "file"):
        if name == "file":
            monkeypatch.setattr("os.geteuid", lambda: somebody)
        with pytest.raises(UnfitFile):
            try_lock(tmp_path / f"{name}.lock")
    (tmp_path / "link.lock").symlink_to(tmp_path / "missing")
    with pytest.raises(UnfitFile):
        try_lock(tmp_path / "link.lock")
    assert not (tmp_path / "missing").exists()
