"""Secrets that were still to be removed when a process died are removed at the next opening."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import textwrap

import canaries
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolkit as tk
from toolkit.cassettes.recording.journal import Journal, PendingSecret
from toolkit.core.secret import Secret
from toolkit.local.folders import cache_folder

ENTRIES = st.lists(
    st.builds(
        PendingSecret,
        st.sampled_from(["COOKIE", "ACCESS_TOKEN", ""]),
        st.text(min_size=1).map(Secret),
        st.sampled_from(["", "4711000815"]),
    ),
    max_size=5,
)


@given(st.lists(ENTRIES, max_size=3))
def test_what_is_noted_can_be_read(tmp_path_factory, batches):
    """The journal returns all entries in their order until it is cleared; a torn last line is ignored."""
    recording = tmp_path_factory.mktemp("recording") / "c.yaml"
    for entries in batches:
        Journal(recording).note(entries)
    noted = [entry for entries in batches for entry in entries]
    assert Journal(recording).read() == noted
    if noted:
        file = Journal(recording).file
        file.write_bytes(file.read_bytes()[:-5])
        assert Journal(recording).read() == noted[:-1]
    Journal(recording).clear()
    assert Journal(recording).read() == []
    assert not Journal(recording).file.exists()


def test_private_and_sealed(tmp_path):
    """Only this user can read the journal, it shows no secret, and it does not open for another recording."""
    secret = secrets.token_urlsafe(24)
    journal = Journal(tmp_path / "c.yaml")
    journal.note([PendingSecret("COOKIE", Secret(secret))])
    canaries.assert_absent(journal.file, secret)
    if os.name == "posix":
        assert journal.file.stat().st_mode & 0o077 == 0
    other = Journal(tmp_path / "d.yaml")
    other.file.write_bytes(journal.file.read_bytes())
    assert other.read() == []


def test_without_folders(tmp_path, monkeypatch):
    """Where the user's folders cannot be used, there is no journal, and no error."""
    in_the_way = tmp_path / "file"
    in_the_way.touch()
    monkeypatch.setattr("toolkit.cassettes.recording.journal.cache_folder", lambda: in_the_way / "cache")
    journal = Journal(tmp_path / "c.yaml")
    journal.note([PendingSecret("COOKIE", Secret("a-fake-cookie"))])
    assert journal.read() == []
    journal.clear()


def served(cookie):
    """Return a transport that names a value first and sets it as a cookie in the second answer."""

    def answer(request):
        if request.url.path == "/second":
            return httpx.Response(200, headers={"Set-Cookie": f"visit={cookie}"}, json={})
        return httpx.Response(200, json={"echo": cookie})

    return httpx.MockTransport(answer)


def record(path, cookie, *, mode="once"):
    cassette = tk.Cassette(path, mode)
    client = httpx.Client(transport=cassette.transport(served(cookie)), base_url="https://api.example.com")
    client.get("/first")
    client.get("/second")
    return cassette


def journals():
    return list((cache_folder() / "recording").glob("*.journal"))


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
@pytest.mark.parametrize("mode", ["once", "all"])
def test_after_a_kill(tmp_path, mode):
    """An echoed cookie, which is removed when the recording ends, is removed by the next opening after a kill."""
    path, cookie = tmp_path / "c.yaml", secrets.token_urlsafe(24)
    file = path if mode == "once" else tmp_path / "c.part.yaml"
    script = f"""
        import os, signal, sys
        sys.path[:0] = {sys.path!r}
        import test_journal
        cassette = test_journal.record({str(path)!r}, {cookie!r}, mode={mode!r})
        os.kill(os.getpid(), signal.SIGKILL)
    """
    sys_path = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])  # noqa: PTH120
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], env={**os.environ, "PYTHONPATH": sys_path}, check=False
    )
    assert ended.returncode == -signal.SIGKILL
    assert cookie in file.read_text()
    (journal,) = journals()
    canaries.assert_absent(journal, cookie)
    leftover = tmp_path / f".{path.name}.0123abcd.part"
    leftover.write_text(cookie)
    with pytest.warns(UserWarning, match="interrupted recording"):
        tk.Cassette(path, "once" if mode == "once" else "new_episodes")
    canaries.assert_absent(file, cookie)
    assert (journals(), leftover.exists()) == ([], False)


def test_a_recording_that_ends_leaves_no_journal(tmp_path):
    """The journal is removed with the check at the end."""
    cookie = secrets.token_urlsafe(24)
    cassette = record(tmp_path / "c.yaml", cookie)
    assert len(journals()) == 1
    cassette.close()
    assert journals() == []
    canaries.assert_absent(tmp_path / "c.yaml", cookie)
    tk.Cassette(tmp_path / "c.yaml", "none")  # nothing to warn about
