"""Recordings end without close(): after a cell, a `with`, or the interpreter."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import httpx
import pytest
from recordings import recorded_bodies

import toolkit as tk
from toolkit.cassettes.format.interactions import HEADER, encode
from toolkit.cassettes.recording import recorder as finishing


@pytest.fixture
def path(tmp_path, interaction):
    """Return the path of a cassette with an old recording."""
    path = tmp_path / "tour.yaml"
    path.write_bytes(HEADER + encode(interaction(body=b"old")))
    return path


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


def test_cells(path, at_exit, monkeypatch):
    """In a notebook, the end of a cell that succeeded finishes a recording; a failed cell does not."""
    registered = {}
    shell = SimpleNamespace(events=SimpleNamespace(register=registered.__setitem__))
    monkeypatch.setattr(finishing, "shell", lambda: shell)
    succeed, fail = SimpleNamespace(success=True), SimpleNamespace(success=False)
    cassette = tk.Cassette(path, "all")
    record(cassette)
    for result in (fail, None):
        registered["post_run_cell"](result)
        assert recorded_bodies(path) == (["old"], ["new"])
    registered["post_run_cell"](succeed)
    assert recorded_bodies(path) == (["new"], None)
    record(cassette, "/more")
    assert len(registered) == 1
    rerun = tk.Cassette(path, "all")  # the cell that opened it runs again
    assert recorded_bodies(path) == (["new", "new"], None)
    record(rerun)
    monkeypatch.setattr(sys, "last_value", ValueError(), raising=False)  # of any cell that failed
    at_exit()
    assert recorded_bodies(path) == (["new"], None)


def test_two_recordings_of_one_file(path):
    """Two cassettes that record one file anew share the new recording; the first to end puts it in place."""
    first, second = tk.Cassette(path, "all"), tk.Cassette(path, "all")
    record(first)
    record(second, "/more")
    first.close()
    record(second, "/even-more")
    second.close()
    assert recorded_bodies(path) == (["new"] * 3, None)
