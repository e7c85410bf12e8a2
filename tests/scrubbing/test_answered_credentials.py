"""What an answer names as a credential is replaced in its place, and what only looks like one stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.messages import RecordedRequest, RecordedResponse
from toolkit.scrubbing.scrubber import Scrubber

ANSWERS = json.loads((Path(__file__).parent / "data" / "answers.json").read_text("utf-8"))
REQUEST = RecordedRequest("GET", "https://api.example.com/")


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer["body"][:60])
def test_bodies(answer: dict[str, Any]) -> None:
    body = answer["body"].encode()
    response = RecordedResponse(answer.get("status", 200), headers=(("Content-Type", answer["type"]),), body=body)
    recorded = Scrubber(KnownSecrets()).exchange(REQUEST, response).response.body
    if "gone" in answer:
        assert answer["gone"].encode() not in recorded
    else:
        assert recorded == body


def test_headers() -> None:
    headers = (("Location", "https://example.com/back?code=abc12&state=1"), ("X-Auth-Token", "weak"))
    recorded = Scrubber(KnownSecrets()).exchange(REQUEST, RecordedResponse(302, headers=headers)).response
    assert "abc12" not in str(recorded.headers)
    assert "weak" not in str(recorded.headers)
    assert "state=1" in str(recorded.headers)
