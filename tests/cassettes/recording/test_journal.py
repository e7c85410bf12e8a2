"""Secrets that were still to be removed when a process died are removed at the next opening."""

from __future__ import annotations

import os
import secrets

import canaries
from echoed_cookies import journals, record
from hypothesis import given
from hypothesis import strategies as st

import toolkit as tk
from toolkit.cassettes.recording.journal import Journal, PendingSecret
from toolkit.core.secret import Secret

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


def test_a_recording_that_ends_leaves_no_journal(tmp_path):
    """The journal is removed with the check at the end."""
    cookie = secrets.token_urlsafe(24)
    cassette = record(tmp_path / "c.yaml", cookie)
    assert len(journals()) == 1
    cassette.close()
    assert journals() == []
    canaries.assert_absent(tmp_path / "c.yaml", cookie)
    tk.Cassette(tmp_path / "c.yaml", "none")  # nothing to warn about
