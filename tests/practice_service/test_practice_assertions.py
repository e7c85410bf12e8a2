from __future__ import annotations

import json
import secrets

import pytest
from practice_requests import TOKEN_PATH, assertion_form, auth_address, claims_for, encoded, signed, url_of


@pytest.mark.parametrize("name", ["broker-key", "sandbox-key"])
def test_valid_assertions(http, service, clock, name):
    """Both audiences are accepted, as text or as a list of one; `client_id`, `iat` and `kid` are optional."""
    credentials = service.credentials[name]
    address = url_of(service, auth_address(credentials))
    url = address + TOKEN_PATH
    for changes in ({}, {"aud": address}, {"aud": [url]}, {"iat": None}, {"nbf": 0}):
        claims = claims_for(service, credentials, clock, **changes)
        for client_id in (credentials.client_id, None):
            fresh = signed(credentials, {**claims, "jti": secrets.token_hex(8)}, kid=credentials.key_id)
            form = assertion_form(credentials, fresh, client_id=client_id)
            assert http.post(url, data=form).status_code == 200, (changes, client_id)
    without_kid = signed(credentials, claims_for(service, credentials, clock))
    assert http.post(url, data=assertion_form(credentials, without_kid)).status_code == 200


def post_claims(http, service, clock, **changes):
    """Send an assertion of the client of `broker-key` with these changes of its claims."""
    credentials = service.credentials["broker-key"]
    assertion = signed(credentials, claims_for(service, credentials, clock, **changes))
    return http.post(url_of(service, "auth") + TOKEN_PATH, data=assertion_form(credentials, assertion))


def test_claim_mistakes(http, service, clock):
    """Each claim of RFC 7523 section 3 is checked."""
    clock.advance(1 - clock.now().microsecond / 1_000_000)  # to a whole second, as a NumericDate is
    now = clock.now().timestamp()
    url = url_of(service, "auth") + TOKEN_PATH
    mistakes = {
        "iss of another client": {"iss": "practice-broker-secret"},
        "sub of another client": {"sub": "practice-broker-secret"},
        "iss not text": {"iss": 1},
        "aud of the other environment": {"aud": url_of(service, "auth_sandbox") + TOKEN_PATH},
        "aud of the broker interface": {"aud": url_of(service, "broker")},
        "aud with a slash": {"aud": url + "/"},
        "aud missing": {"aud": None},
        "aud of none": {"aud": []},
        "aud not text": {"aud": 1},
        "exp missing": {"exp": None},
        "exp now": {"exp": int(now)},
        "exp far ahead": {"exp": int(now) + 3_606},
        "exp text": {"exp": str(int(now) + 60)},
        "exp true": {"exp": True},
        "exp infinite": {"exp": float("inf")},
        "exp not a number": {"exp": float("nan")},
        "iat ahead": {"iat": int(now) + 6},
        "iat true": {"iat": True},
        "nbf ahead": {"nbf": int(now) + 6},
        "jti missing": {"jti": None},
        "jti empty": {"jti": ""},
        "jti not text": {"jti": 7},
    }
    for mistake, changes in mistakes.items():
        response = post_claims(http, service, clock, **changes)
        assert (response.status_code, response.json()["error"]) == (401, "invalid_client"), mistake


def test_limits_of_times(http, service, clock):
    """`exp` may be up to an hour ahead, as in Authlib's assertions, and `iat` up to five seconds."""
    clock.advance(1 - clock.now().microsecond / 1_000_000)  # to a whole second, as a NumericDate is
    now = int(clock.now().timestamp())
    for changes in ({"exp": now + 3_600}, {"exp": now + 1}, {"iat": now + 5}, {"iat": 0}):
        assert post_claims(http, service, clock, **changes).status_code == 200, changes


def test_signature_mistakes(http, service, clock):
    """Only the registered key with its algorithm is accepted."""
    credentials, other = service.credentials["broker-key"], service.credentials["sandbox-key"]
    claims = claims_for(service, credentials, clock)
    valid = signed(credentials, claims)
    header, payload, signature = valid.split(".")
    changed = encoded(json.dumps({**claims, "exp": claims["exp"] + 1}).encode()).decode()
    unsigned = encoded(json.dumps({"alg": "none"}).encode()).decode() + f".{payload}."
    mistakes = {
        "not a JWT": "x",
        "a signature of another key": signed(other, claims),
        "a header that lies about the algorithm": signed(credentials, claims, alg="EdDSA"),
        "a symmetric algorithm": signed(credentials, claims, alg="HS256"),
        "no algorithm": unsigned,
        "no signature": f"{header}.{payload}.",
        "a changed payload": f"{header}.{changed}.{signature}",
        "claims that are not an object": signed(credentials, [claims]),
        "another kid": signed(credentials, claims, kid="sandbox-key-1"),
        "an unknown critical header": signed(credentials, claims, crit=["x"], x=1),
        "endless nesting": f"{header}.{encoded(b'[' * 30_000).decode()}.{signature}",
    }
    for mistake, assertion in mistakes.items():
        response = http.post(url_of(service, "auth") + TOKEN_PATH, data=assertion_form(credentials, assertion))
        assert (response.status_code, response.json()["error"]) == (401, "invalid_client"), mistake


def test_replayed_assertion(http, service, clock):
    """A `jti` is refused when it is used again, even in another assertion, until the first assertion has expired."""

    def ask(**changes):
        return post_claims(http, service, clock, jti="once", **changes).status_code

    assert ask() == 200
    assert ask() == 401
    assert ask(exp=int(clock.now().timestamp()) + 61) == 401
    clock.advance(61)
    assert ask() == 200
