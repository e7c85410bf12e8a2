"""The errors of replay say what is missing, what comes nearest, and what to do."""

from __future__ import annotations

import pytest

from toolkit.cassettes.replay.differences import missing, no_match, similar_names
from toolkit.cassettes.replay.matching import OURS, Identity, Matcher
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
