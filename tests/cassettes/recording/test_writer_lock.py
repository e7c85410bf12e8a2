"""One process at a time records to a file; within a process, sessions and cassettes share it."""

from __future__ import annotations

import gc

import pytest
from claimed_calls import get, recorded_paths

import toolkit as tk
from toolkit.cassettes.recording import writer_lock


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tour.yaml"


def test_two_that_record_anew(path):
    """Two sessions of a process that record anew share what replaces the file."""
    get(tk.Cassette(path), "/old")
    first, second = tk.Cassette(path, "all"), tk.Cassette(path, "all")
    get(first, "/a")
    get(second, "/b")
    get(first, "/c")
    first.close()
    get(second, "/d")
    second.close()
    assert recorded_paths(path) == ["/a", "/b", "/c", "/d"]
    assert [file.name for file in path.parent.iterdir()] == ["tour.yaml"]


class Knot:
    """A recorder in a reference cycle, like that of a session."""

    def __init__(self):
        self.itself = self


def test_recorders_in_reference_cycles(path):
    """A recorder that only a reference cycle keeps alive, such as that of a rerun cell, does not keep a claim."""
    gc.disable()
    try:
        lost, last, other = Knot(), Knot(), Knot()
        claim = writer_lock.acquire(path, lost)
        for recorder in (last, other):
            writer_lock.acquire(path, recorder)
        del lost
        writer_lock.release(claim, last)
        assert claim.is_held  # by `other`
        assert list(claim.recorders) == [other]
        rerun = Knot()
        writer_lock.acquire(path, rerun)
        del other, recorder
        writer_lock.release(claim, rerun)
        assert not claim.is_held
    finally:
        gc.enable()
