"""The cassette of one test: how it is opened, and what is in its folder after the test."""

from __future__ import annotations

import os
import socket

import httpx
import pytest

from toolkit.cassettes import cell_cassette
from toolkit.core.errors import CassetteError, CassetteMiss, NetworkBlocked, SecretLeak
from toolkit.local.settings import Settings
from toolkit.scrubbing.scanning import Finding, FindingList
from toolkit.sharing.pytest_plugin import playing as playing_module
from toolkit.sharing.pytest_plugin.marks import CassetteChoice
from toolkit.sharing.pytest_plugin.playing import Playing, mode_in_force


@pytest.fixture
def play(tmp_path):
    """Return a function that plays a test which calls paths, and ends it; returns what it was played with."""
    path = tmp_path / "cassettes" / "test_x.yaml"

    def play(*calls, option=None, fails=False, number=1, settings=None, **choices):
        project = settings or Settings(project=tmp_path)
        playing = Playing(path, CassetteChoice(**choices), project, option=option)
        well = not fails
        try:
            answers = httpx.MockTransport(lambda _: httpx.Response(200, text=str(number)))
            with httpx.Client(transport=playing.cassette.transport(answers)) as client:
                assert cell_cassette.current() is playing.cassette
                texts = [client.get(f"https://a.example/{call}").text for call in calls]
            if well:
                well = False
                playing.check()
                well = True
        finally:
            playing.end(well=well)
        assert cell_cassette.current() is None
        return texts, playing

    play.path, play.aside = path, path.with_name("test_x.failed.yaml")
    return play


@pytest.mark.parametrize(
    ("option", "marked", "new", "existing"),
    [
        (None, None, "none", "none"),
        (None, "once", "all", "none"),
        (None, "all", "all", "all"),
        ("once", None, "all", "none"),
        ("new_episodes", None, "all", "new_episodes"),
        ("all", "once", "all", "all"),
        ("all", "none", "none", "none"),
    ],
)
def test_modes(option, marked, new, existing):
    """The command line wins over the marker, except over none; a new recording is made beside the old one."""
    assert mode_in_force(option, marked, has_recording=False) == new
    assert mode_in_force(option, marked, has_recording=True) == existing


def test_recorded_and_replayed(play):
    """What a good test recorded replays, and a second recording with once changes nothing."""
    assert play("x", option="once", number=1)[0] == ["1"]
    assert play("x", number=2)[0] == ["1"]
    assert play("x", option="once", number=2)[0] == ["1"]
    assert play("x", option="all", number=3)[0] == ["3"]
    assert play("x", "y", option="new_episodes", number=4)[0] == ["3", "4"]
    assert [file.name for file in play.path.parent.iterdir()] == ["test_x.yaml"]


@pytest.mark.parametrize("mode", ["all", "new_episodes", "once"])
def test_failed_test(play, mode):
    """The recording of a failed test is kept aside, the old one stays, as private as it was.

    The next good recording removes what was kept.
    """
    if mode != "once":
        play("x", option="once")
        play.path.chmod(0o600)
    before = play.path.read_bytes() if play.path.exists() else None
    _, playing = play("x", "y", option=mode, fails=True)
    assert playing.kept == play.aside
    assert play.aside.read_bytes().count(b"- request:") == 2
    assert (play.path.read_bytes() if play.path.exists() else None) == before
    if before is not None and os.name == "posix":
        assert {file.stat().st_mode & 0o777 for file in (play.path, play.aside)} == {0o600}
    assert len(list(play.path.parent.iterdir())) == 1 + (before is not None)
    play("x", "y", option=mode)
    assert [file.name for file in play.path.parent.iterdir()] == ["test_x.yaml"]


def test_nothing_recorded(play):
    """A test that makes no call leaves no file, whether it fails or not."""
    play(option="all")
    play(option="all", fails=True)
    assert not play.path.parent.exists()


def test_unplayed(play):
    """A test must play everything, unless it is not strict; recording again is advised."""
    play("x", "y", option="once")
    with pytest.raises(CassetteError, match="1 of its 2") as caught:
        play("x")
    assert "--toolkit-record=all" in caught.value.next_step
    play("x", strict=False)


def test_missing(play, monkeypatch):
    """Without a recording the error says how to make one; while offline it says that nothing is recorded."""
    with pytest.raises(CassetteMiss, match="pytest --toolkit-record"):
        play("x")
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1")
    with pytest.raises(CassetteMiss, match="TOOLKIT_OFFLINE is set"):
        play("x", option="all")


def test_secret(play, monkeypatch):
    """What looks like a secret in a new recording fails the test; a finding that the project allows does not."""
    finding = Finding(play.path.with_name("test_x.part.yaml"), 3, "odd value", fingerprint="abc123")
    monkeypatch.setattr(playing_module, "scan_files", lambda *_, **__: FindingList([finding]))
    with pytest.raises(SecretLeak, match="line 3: odd value"):
        play("x", option="once")
    assert play.aside.exists()
    assert not play.path.exists()
    allow = {"path": "cassettes/test_x.yaml", "kind": "odd value", "fingerprint": "abc123", "reason": "a test"}
    play("x", option="once", settings=Settings(project=play.path.parents[1], scan={"allow": [allow]}))
    assert play.path.exists()


def test_real_scan(play):
    """The recording is scanned as it is on the disk, before it replaces the old one."""
    seen = []
    scan_files = playing_module.scan_files
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            playing_module, "scan_files", lambda path, **options: seen.append(path) or scan_files(path, **options)
        )
        play("x", option="all")
        play("x", "y", option="new_episodes")
    assert [path.name for path in seen] == ["test_x.part.yaml", "test_x.yaml"]


def test_network(play, tmp_path):
    """Nothing connects while a test replays, or has no recording; a test that records does."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()

        def connect(path, option=None, **choices):
            playing = Playing(
                path, CassetteChoice(**choices), Settings(project=tmp_path), option=option, is_needed=False
            )
            try:
                socket.create_connection(address).close()
            finally:
                playing.end(well=True)

        connect(play.path, "once")
        with pytest.raises(NetworkBlocked, match="no recording yet") as caught:
            connect(play.path)
        assert caught.value.about == "network"
        play("x", option="once")
        with pytest.raises(NetworkBlocked, match=r"replays test_x\.yaml, so it may not connect to 127\.0\.0\.1"):
            connect(play.path)
        connect(play.path, allowed_hosts=("localhost",))
