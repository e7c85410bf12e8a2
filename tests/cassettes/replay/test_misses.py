"""The errors of replay say what is missing, what comes nearest, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolkit.cassettes.format.contents import read_bytes
from toolkit.cassettes.replay.differences import all_played, left_over, missing, no_match, similar_names
from toolkit.cassettes.replay.matching import OURS, Identity, Matcher
from toolkit.core.errors import CassetteError
from toolkit.scrubbing.messages import RecordedRequest

BASE = "https://broker.svc.invalid"


def request(path="/v1/accounts"):
    return RecordedRequest("GET", BASE + path)


def test_missing(tmp_path):
    """The error for a missing file gives its full path and cassettes with similar names."""
    names = ("Accounts-2026.yaml", "accounts.yml", "accounts.part.yaml", "other.yaml", "acounts.json", "accounts.txt")
    for name in names:
        (tmp_path / name).touch()
    error = missing(tmp_path / "accounts.yaml")
    assert error.what.startswith(f"The cassette {tmp_path / 'accounts.yaml'} does not exist.")
    assert error.what.endswith("In that folder are accounts.yml, acounts.json, Accounts-2026.yaml.")
    assert similar_names(tmp_path / "other.yml") == ["other.yaml"]
    assert similar_names(tmp_path / "nothing-like-it.yaml") == []
    assert "TOOLKIT_OFFLINE" in missing(tmp_path / "a.yaml", is_offline=True).next_step


def test_unreadable(tmp_path, monkeypatch):
    """The advice fits the path: a folder, a name that is too long, or a file in the place of a folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "afile").touch()
    for path, words in (
        (Path(), "Give a file in that folder"),
        (tmp_path, "Give a file in that folder"),
        (Path("x" * 300), "Fix the cause"),
        (Path("afile/x.yaml"), "Fix the cause"),
    ):
        with pytest.raises(CassetteError) as caught:
            read_bytes(path)
        assert caught.value.what.startswith(f"Cannot read {path.absolute()}: ")
        assert words in caught.value.next_step


def test_another_environment():
    """The error for a session of another environment names only the environments of the cassette."""
    miss = no_match(
        "tour.yaml",
        Matcher(OURS),
        Identity("paper", None),
        request(path="/v2/account"),
        [(0, request())],
        lambda number: pytest.fail("a recording is parsed"),
        environments=["broker-sandbox"],
    )
    assert miss.what == "tour.yaml holds calls of broker-sandbox, and this session is paper."
    assert "leave the environment out" in miss.next_step


def test_strict_cassettes():
    """The errors of a strict cassette say which recordings were already played, or not played."""
    assert (
        all_played("x.yaml", request(), 1).what
        == f"The only recording of GET {BASE}/v1/accounts in x.yaml was already played."
    )
    assert "Each of the 3 recordings" in all_played("x.yaml", request(), 3).what
    error = left_over("x.yaml", 20, [f"GET /{number}" for number in range(12)])
    assert "12 of its 20 interactions were not played.\n  GET /0" in error.what
    assert error.what.endswith("and 2 more")
    assert error.about == "strict"
