"""Recording appends to a file, keeps what is in it, and reports errors without losing anything."""

from __future__ import annotations

import contextlib
import sys
from types import SimpleNamespace

import httpx
import pytest
from recordings import paths_in, recorded_bodies
from stock_recordings import vcrpy_text

import toolkit as tk
from toolkit.cassettes.recording import recorder as finishing
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
    return vcrpy_text(*(f"https://api.example.com/{path}" for path in paths), answer="a-fake-token-1").encode()


class LeakyScrubber(Scrubber):
    """A scrubber that changes nothing."""

    def exchange(self, request, response, *, replaced=()):
        return request, response


def test_leak_is_refused(path, interaction):
    """An interaction from which scrubbing did not remove a secret is refused, and the file stays as it was."""
    known = KnownSecrets([("SECRET", Secret(TOKEN))])
    with pytest.raises(SecretLeak, match=r"GET call in tour\.yaml would contain a secret \(<SECRET>\)"):
        Recorder(path, LeakyScrubber(known)).append(with_token(interaction))
    assert not path.parent.exists()
    Recorder(path, LeakyScrubber(known)).append(interaction())
    before = path.read_bytes()
    with pytest.raises(SecretLeak):
        Recorder(path, LeakyScrubber(known)).append(with_token(interaction))
    assert path.read_bytes() == before
    path.write_bytes(foreign("b"))
    known = KnownSecrets([("SECRET", Secret("a-fake-token-1"))])
    with pytest.raises(SecretLeak, match="rewritten content"):
        Recorder(path, LeakyScrubber(known)).append(interaction())


@contextlib.contextmanager
def files_of_at_most(size):
    """Let no file grow beyond a size, as on a full disk: a write stops there, and the next one fails."""
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.skipif(sys.platform == "win32", reason="limits of files are POSIX")
@pytest.mark.parametrize(("more", "error"), [(0, "File too large"), (100, "No space")], ids=["error", "short"])
@pytest.mark.parametrize("recorded", [0, 2])
def test_disk_full(path, scrubber, interaction, more, error, recorded):
    """A write that fails or stops halfway is undone and reported; no empty file is left, and recording can go on."""
    recorder = Recorder(path, scrubber)
    for number in range(recorded):
        recorder.append(interaction(f"/{number}"))
    before = path.read_bytes() if recorded else b""
    with (
        files_of_at_most(len(before) + more),
        pytest.raises(CassetteError, match=f"Cannot record to .*tour.yaml: {error}") as caught,
    ):
        recorder.append(interaction("/lost"))
    assert "Everything recorded earlier is intact" in caught.value.next_step
    assert "again" not in caught.value.next_step  # the call was made, and may have been an order
    assert (path.read_bytes() if path.exists() else b"") == before
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
    path.unlink()
    with pytest.warns(UserWarning, match="disappeared during the recording"):
        recorder.append(interaction("/4"))
    assert (paths_in(path), recorder.count) == (["4"], 1)


# Recordings end without close(): after a cell, a `with`, or the interpreter


@pytest.fixture
def at_exit(monkeypatch):
    """Call the functions that would run at interpreter exit, as if nothing else had been recorded."""
    functions = []
    monkeypatch.setattr(finishing, "_unfinished", {})
    monkeypatch.setattr(finishing, "_shells", [])
    monkeypatch.setattr(finishing, "atexit", SimpleNamespace(register=functions.append))
    return lambda: [function() for function in functions]


def record(cassette, path="/"):
    answer = httpx.MockTransport(lambda _: httpx.Response(200, content=b"new"))
    with httpx.Client(transport=cassette.transport(answer)) as client:
        client.get("https://h.example" + path)


def test_cells(old_recording, at_exit, monkeypatch):
    """In a notebook, the end of a cell that succeeded finishes a recording; a failed cell does not."""
    registered = {}
    shell = SimpleNamespace(events=SimpleNamespace(register=registered.__setitem__))
    monkeypatch.setattr(finishing, "shell", lambda: shell)
    succeed, fail = SimpleNamespace(success=True), SimpleNamespace(success=False)
    cassette = tk.Cassette(old_recording, "all")
    record(cassette)
    for result in (fail, None):
        registered["post_run_cell"](result)
        assert recorded_bodies(old_recording) == (["old"], ["new"])
    registered["post_run_cell"](succeed)
    assert recorded_bodies(old_recording) == (["new"], None)
    record(cassette, "/more")
    assert len(registered) == 1
    rerun = tk.Cassette(old_recording, "all")  # the cell that opened it runs again
    assert recorded_bodies(old_recording) == (["new", "new"], None)
    record(rerun)
    monkeypatch.setattr(sys, "last_value", ValueError(), raising=False)  # of any cell that failed
    at_exit()
    assert recorded_bodies(old_recording) == (["new"], None)


def test_two_recordings_of_one_file(old_recording):
    """Two cassettes that record one file anew share the new recording; the first to end puts it in place."""
    first, second = tk.Cassette(old_recording, "all"), tk.Cassette(old_recording, "all")
    record(first)
    record(second, "/more")
    first.close()
    record(second, "/even-more")
    second.close()
    assert recorded_bodies(old_recording) == (["new"] * 3, None)
