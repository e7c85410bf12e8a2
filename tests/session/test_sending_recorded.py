"""Requests of a session that are recorded and replayed."""

from __future__ import annotations

from datetime import timedelta

import httpx
import pytest
from sender_calls import URL, secrets_in, taped
from session_calls import BOTH, bearer

from toolkit.core.errors import (
    CredentialsMismatch,
    UnsafeAddress,
)


def test_recording(make_credentials, service, tmp_path):
    """A recording shows placeholders where credentials were sent; the caller gets the answer as it came."""
    path = tmp_path / "one.yaml"
    way = taped(make_credentials, service, path, "once")
    service.answer = lambda request: service.reply({"echo": bearer(request), "self": URL})
    response = way.send("POST", json={"n": 1})
    assert response.json() == {"echo": service.issued[0], "self": URL}
    text = path.read_text()
    assert secrets_in(text, way) == []
    assert "example.com" not in text
    for shown in ("Bearer <ACCESS_TOKEN>", "client_secret=<CLIENT_SECRET>", "client_id=<CLIENT_ID>"):
        assert shown in text
    assert text.index("/v1/oauth2/token") < text.index("/v1/accounts")


def test_refused_in_replay(make_credentials, service, tmp_path):
    """A request that may not be sent is refused in a replay too."""
    path = tmp_path / "one.yaml"
    taped(make_credentials, service, path, "once").send()
    again = taped(make_credentials, service, path, "none")
    with pytest.raises(UnsafeAddress):
        again.send(url="https://elsewhere.example.com/v1/accounts")
    with pytest.raises(CredentialsMismatch):
        again.send(auth=("user", "QXZ"))


@BOTH
def test_responses_that_are_already_read(make_credentials, tmp_path, is_async):
    """httpx.MockTransport, whose responses are already read, works below a session and is recorded."""

    def answer(request):
        reply = {"access_token": "QXZ-access-token", "expires_in": 890, "token_type": "Bearer"}
        return httpx.Response(200, json=reply if request.method == "POST" else {"path": request.url.path})

    for mode in ("once", "none"):
        way = taped(make_credentials, httpx.MockTransport(answer), tmp_path / "one.yaml", mode)
        assert way.send(is_async=is_async).json() == {"path": "/v1/accounts"}
        assert [call.elapsed for call in way.sender.ledger.calls()] == [timedelta(0)] * 2
