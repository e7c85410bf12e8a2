from __future__ import annotations

import base64

import pytest
from practice_requests import CLIENTS, TOKEN_PATH, ask_token, own_headers, token_form, url_of


@pytest.mark.parametrize("name", CLIENTS)
def test_token_response(http, service, clock, name):
    """The token response has the three fields of section 2, `expires_in` under 15 minutes, and is not cached."""
    response = ask_token(http, service, service.credentials[name], clock)
    fields = response.json()
    assert set(fields) == {"access_token", "expires_in", "token_type"}
    assert fields["token_type"] == "Bearer"
    assert fields["expires_in"] == 899
    assert response.headers["cache-control"] == "no-store"
    assert service.stats.by_credentials == {name: 1}


def test_end_of_a_token(http, service, clock):
    """A token is accepted until the end of its validity."""
    headers = own_headers(http, service, service.credentials["sandbox-key"], clock)
    url = url_of(service, "broker_sandbox") + "/v1/accounts"
    clock.advance(899.999)
    assert http.get(url, headers=headers).status_code == 200
    clock.advance(0.001)
    refused = http.get(url, headers=headers)
    assert refused.status_code == 401
    assert 'error="invalid_token"' in refused.headers["www-authenticate"]


def test_form_mistakes(http, service, clock):
    """Each mistake has the status and error code of RFC 6749 section 5.2, and no response is cached."""
    url = url_of(service, "auth") + TOKEN_PATH
    client = service.credentials["broker-secret"]
    valid = token_form(service, client, clock)
    in_header = {"Authorization": "Basic " + base64.b64encode(b"a:b").decode()}
    pair = {"SVC-API-KEY-ID": "a", "SVC-API-SECRET-KEY": "b"}
    mistakes = {  # changes of the form, further headers, status, error code
        "secret in a header": ({"client_secret": None}, in_header, 401, "invalid_client"),
        "secret in a header too": ({}, in_header, 400, "invalid_request"),
        "key pair": ({"client_secret": None}, pair, 401, "invalid_client"),
        "key pair too": ({}, pair, 400, "invalid_request"),
        "no grant type": ({"grant_type": None}, {}, 400, "invalid_request"),
        "other grant type": ({"grant_type": "password"}, {}, 400, "unsupported_grant_type"),
        "grant type twice": ({"grant_type": ["client_credentials"] * 2}, {}, 400, "invalid_request"),
        "unknown field twice": ({"scope": ["a", "b"]}, {}, 400, "invalid_request"),
        "no client ID": ({"client_id": None}, {}, 400, "invalid_request"),
        "no secret": ({"client_secret": None}, {}, 401, "invalid_client"),
        "wrong secret": ({"client_secret": client.client_secret.reveal()[:-1]}, {}, 401, "invalid_client"),
        "unknown client": ({"client_id": "nobody"}, {}, 401, "invalid_client"),
        "another client": ({"client_id": "practice-broker-2"}, {}, 401, "invalid_client"),
        "client with a key": ({"client_id": "practice-broker-key"}, {}, 401, "invalid_client"),
        "two methods": ({"client_assertion": "x"}, {}, 400, "invalid_request"),
    }
    for mistake, (changes, headers, status, error) in mistakes.items():
        form = {name: value for name, value in {**valid, **changes}.items() if value is not None}
        response = http.post(url, data=form, headers=headers)
        assert (response.status_code, response.json()["error"]) == (status, error), mistake
        assert response.headers["cache-control"] == "no-store", mistake
        scheme = headers.get("Authorization", "").partition(" ")[0] if status == 401 else ""
        assert response.headers.get("www-authenticate", "").partition(" ")[0] == scheme, mistake
    assert http.post(url, data=valid).status_code == 200
    for options in ({"json": valid}, {"data": valid, "params": {"scope": "a"}}):
        assert http.post(url, **options).json()["error"] == "invalid_request"
