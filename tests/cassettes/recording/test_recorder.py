"""Recording appends to a file, keeps what is in it, and reports errors without losing anything."""

from __future__ import annotations

import errno
import json
import os
import stat

import pytest
from recordings import paths_in

from toolkit.cassettes.format.interactions import HEADER
from toolkit.cassettes.recording.recorder import Recorder
from toolkit.core.errors import CassetteError, SecretLeak
from toolkit.core.secret import Secret
from toolkit.local import files
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.scrubber import Scrubber


@pytest.fixture
def scrubber():
    return Scrubber(KnownSecrets())


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "er" / "tour.yaml"


TOKEN = "a-fake-token-in-a-body"


def with_token(interaction):
    return interaction("/token", body=f'{{"echo": "{TOKEN}"}}'.encode())


def foreign(*paths):
    items = [
        {
            "request": {"method": "GET", "uri": f"https://api.example.com/{path}", "body": None, "headers": {}},
            "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": "a-fake-token-1"}},
        }
        for path in paths
    ]
    return json.dumps({"version": 1, "interactions": items}).encode()


def test_foreign_file_is_rewritten_once(path, interaction):
    """A file of stock vcrpy is rewritten as one of ours with the first append, scrubbed, and then appended to."""
    scrubber = Scrubber(
        KnownSecrets([("SECRET", Secret("a-fake-token-1"))]), addresses={"broker": "https://api.example.com"}
    )
    path.parent.mkdir(parents=True)
    path.write_bytes(foreign("a", "b"))
    path.chmod(0o640)
    recorder = Recorder(path, scrubber)
    recorder.append(interaction("/c"))
    inode = path.stat().st_ino
    recorder.append(interaction("/d"))
    assert path.stat().st_ino == inode
    assert paths_in(path) == ["a", "b", "c", "d"]
    assert path.read_bytes().startswith(HEADER)
    assert b"a-fake-token-1" not in path.read_bytes()
    assert b"api.example.com" not in path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(path.parent) == ["tour.yaml"]  # noqa: PTH208 - names are enough


class LeakyScrubber(Scrubber):
    """A scrubber that changes nothing."""

    def exchange(self, request, response, *, replaced=()):
        return request, response


def test_leak_is_refused(path, interaction):
    """An interaction from which scrubbing did not remove a secret is refused, and the file stays as it was."""
    known = KnownSecrets([("SECRET", Secret(TOKEN))])
    with pytest.raises(SecretLeak, match=r"GET in tour\.yaml would hold a secret \(<SECRET>\)"):
        Recorder(path, LeakyScrubber(known)).append(with_token(interaction))
    assert not path.parent.exists()
    Recorder(path, LeakyScrubber(known)).append(interaction())
    before = path.read_bytes()
    with pytest.raises(SecretLeak):
        Recorder(path, LeakyScrubber(known)).append(with_token(interaction))
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "error", [None, OSError(errno.ENOSPC, "No space left on device"), OSError(errno.EIO, "Input/output error")]
)
@pytest.mark.parametrize("recorded", [0, 2])
def test_disk_full(path, scrubber, interaction, writes_that_stop, error, recorded):
    """A write that stops halfway is undone and reported; no empty file is left, and recording can go on later."""
    recorder = Recorder(path, scrubber)
    for number in range(recorded):
        recorder.append(interaction(f"/{number}"))
    before = path.read_bytes() if recorded else None
    said = f"Cannot record to .*tour.yaml: {error.strerror if error else 'No space'}"
    with writes_that_stop(error), pytest.raises(CassetteError, match=said) as caught:
        recorder.append(interaction("/lost"))
    assert "Everything recorded earlier is intact" in caught.value.next_step
    assert "again" not in caught.value.next_step  # the call was made, and may have been an order
    assert (path.read_bytes() if path.exists() else None) == before
    assert recorder.count == recorded
    recorder.append(interaction("/more"))
    assert paths_in(path) == [*map(str, range(recorded)), "more"]


def test_file_changed_during_a_recording(path, scrubber, interaction, monkeypatch):
    """A file that another program changes is repaired before the next append, and left alone during one."""
    recorder = Recorder(path, scrubber)
    recorder.append(interaction("/0"))
    path.write_bytes(foreign("a"))
    recorder.append(interaction("/1"))
    assert paths_in(path) == ["a", "1"]
    path.write_bytes(path.read_bytes()[:-1] + b"\n- req")
    recorder.append(interaction("/2"))
    assert paths_in(path) == ["a", "1", "2"]
    opened = files.open_plain
    with monkeypatch.context() as patched:
        patched.setattr(files, "open_plain", lambda file, flags: file.write_bytes(foreign("b")) and opened(file, flags))
        with pytest.raises(CassetteError, match="another program is changing the file"):
            recorder.append(interaction("/lost"))
    assert path.read_bytes() == foreign("b")
    recorder.append(interaction("/3"))
    assert paths_in(path) == ["b", "3"]
