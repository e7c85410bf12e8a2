"""The log of what is played tells another process which interactions a run used."""

from __future__ import annotations

import os

import httpx
import pytest

from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.format.interactions import HEADER, encode
from toolkit.cassettes.replay import player as play_log
from toolkit.cassettes.replay.player import read_play_log


@pytest.fixture
def cassette(tmp_path, interaction):
    """Return the file of a cassette with the calls /a, /b, /b."""
    path = tmp_path / "x.yaml"
    path.write_bytes(HEADER + b"".join(encode(interaction(call)) for call in ("/a", "/b", "/b")))
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Let the test log what is played in a folder that does not exist yet."""
    folder = tmp_path / "logs" / "run"
    monkeypatch.setenv(play_log.VARIABLE, str(folder))
    return folder


def get(cassette, *paths):
    """Replay GET requests from the cassette in a file."""
    with httpx.Client(transport=Cassette(cassette, "none").transport()) as client:
        for path in paths:
            client.get(f"https://broker.svc.invalid{path}")


def test_first_plays_are_logged(cassette, folder):
    """A cassette is logged when it is opened, and an interaction when it is played, once for each opening."""
    get(cassette)
    assert read_play_log(folder) == {cassette.resolve(): set()}
    get(cassette, "/b", "/b", "/b")
    assert read_play_log(folder) == {cassette.resolve(): {1, 2}}
    [log] = folder.iterdir()
    assert len(log.read_bytes().splitlines()) == 4


def test_processes_are_read_together(cassette, folder, python):
    """Each process has a file of its own, links to the cassette are resolved, and half a line does not count."""
    link = cassette.with_name("link.yaml")
    link.symlink_to(cassette)
    get(link, "/a")
    script = f"""
import httpx, toolkit as tk
with httpx.Client(transport=tk.Cassette({str(cassette)!r}, "none").transport()) as client:
    client.get("https://broker.svc.invalid/b")
"""
    python("-c", script)
    assert len(list(folder.iterdir())) == 2
    with (folder / f"{os.getpid()}.plays").open("ab") as stream:
        stream.write(b'["/other.yaml", 1')
    (folder / "notes.txt").write_text('["/other.yaml", 1]')
    assert read_play_log(folder) == {cassette.resolve(): {0, 1}}
