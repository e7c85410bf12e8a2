"""The practice service keeps the rules of the service document, on real sockets and in memory."""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import logging
import os
import secrets
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from decimal import Decimal
from itertools import chain

import httpx
import pytest

from toolkit.auth.assertion import ASSERTION_TYPE, client_assertion
from toolkit.auth.credentials import ClientKey, ClientSecret, KeyPair
from toolkit.core.clock import ManualClock
from toolkit.core.document import ADDRESS_NAMES
from toolkit.core.errors import ConfigurationError
from toolkit.practice_service import Fault, practice
from toolkit.practice_service.app import PracticeApp
from toolkit.practice_service.faults import ConnectionDroppedError
from toolkit.practice_service.server import ServerThread, listen
from toolkit.practice_service.world import World

# Section 1 of the service document, written out anew: what each caller may call.
ALLOWED = {
    "live": {"trading_live", "market_data"},
    "live-2": {"trading_live", "market_data"},
    "paper": {"trading_paper", "market_data"},
    "paper-2": {"trading_paper", "market_data"},
    "broker-secret": {"broker", "market_data", "auth"},
    "broker-key": {"broker", "market_data", "auth"},
    "broker-2": {"broker", "market_data", "auth"},
    "sandbox-secret": {"broker_sandbox", "market_data_sandbox", "auth_sandbox"},
    "sandbox-key": {"broker_sandbox", "market_data_sandbox", "auth_sandbox"},
    "sandbox-2": {"broker_sandbox", "market_data_sandbox", "auth_sandbox"},
}
PATHS = {
    "trading_live": "/v2/account",
    "trading_paper": "/v2/account",
    "market_data": "/v2/practice/quotes",
    "market_data_sandbox": "/v2/practice/quotes",
    "broker": "/v1/accounts",
    "broker_sandbox": "/v1/accounts",
}
TOKEN_PATH = "/v1/oauth2/token"
KEY_PAIRS = [name for name in ALLOWED if name.startswith(("live", "paper"))]
CLIENTS = [name for name in ALLOWED if name not in KEY_PAIRS]
FORM_TYPE = "application/x-www-form-urlencoded"


@pytest.fixture(autouse=True, scope="module")
def _online():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TOOLKIT_OFFLINE", raising=False)
        yield


@pytest.fixture(scope="module")
def clock():
    return ManualClock()


@pytest.fixture(scope="module")
def running(clock):
    with practice(clock=clock) as service:
        yield service


@pytest.fixture
def service(running):
    """One service for the module, as new: no faults, no counts, no tokens."""
    running.faults.clear()
    running.stats.reset()
    running.revoke_tokens()
    return running


@pytest.fixture(scope="module")
def http():
    with httpx.Client(trust_env=False, timeout=20) as client:
        yield client


def to_whole_second(clock):
    """Move the clock on to where NumericDates can name it exactly."""
    clock.advance(1 - clock.now().microsecond / 1_000_000)
    assert clock.now().microsecond == 0


def auth_address(credentials):
    return "auth" if credentials.environment == "broker-live" else "auth_sandbox"


def signed(credentials, claims, **header):
    """A JWT with any claims and header, signed with the key of the credentials."""
    parts = [{"alg": credentials.algorithm, "typ": "JWT", **header}, claims]
    text = b".".join(encoded(json.dumps(part).encode()) for part in parts)
    return b".".join((text, encoded(credentials.private_key.sign(text)))).decode()


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def claims_for(service, credentials, clock, **changes):
    now = int(clock.now().timestamp())
    claims = {
        "iss": credentials.client_id,
        "sub": credentials.client_id,
        "aud": service.url(auth_address(credentials)) + TOKEN_PATH,
        "iat": now,
        "exp": now + 60,
        "jti": secrets.token_hex(8),
        **changes,
    }
    return {name: value for name, value in claims.items() if value is not None}


def assertion_form(credentials, assertion, **changes):
    fields = {
        "grant_type": "client_credentials",
        "client_id": credentials.client_id,
        "client_assertion_type": ASSERTION_TYPE,
        "client_assertion": assertion,
        **changes,
    }
    return {name: value for name, value in fields.items() if value is not None}


def token_form(service, credentials, clock, *, at=None):
    """The form of a lawful token request, for the credentials' own auth address or another."""
    if isinstance(credentials, ClientSecret):
        return {
            "grant_type": "client_credentials",
            "client_id": credentials.client_id,
            "client_secret": credentials.client_secret.reveal(),
        }
    audience = service.url(at or auth_address(credentials)) + TOKEN_PATH
    assertion = client_assertion(
        credentials.private_key,
        client_id=credentials.client_id,
        audience=audience,
        now=clock.now(),
        new_jti=lambda: secrets.token_hex(8),
    )
    return assertion_form(credentials, assertion.reveal())


def ask_token(http, service, credentials, clock):
    return http.post(service.url(auth_address(credentials)) + TOKEN_PATH, data=token_form(service, credentials, clock))


def own_headers(http, service, credentials, clock):
    """What the caller's own flow puts on a call."""
    if isinstance(credentials, KeyPair):
        return {
            "SVC-API-KEY-ID": credentials.key_id.reveal(),
            "SVC-API-SECRET-KEY": credentials.secret_key.reveal(),
        }
    token = ask_token(http, service, credentials, clock).json()["access_token"]
    return {"Authorization": f"Bearer {token}"}


def basic(credentials, *, secret_key=None):
    text = f"{credentials.key_id.reveal()}:{secret_key or credentials.secret_key.reveal()}"
    return "Basic " + base64.b64encode(text.encode()).decode()


def get(http, service, name, clock, address, *, path=None, **options):
    headers = own_headers(http, service, service.credentials[name], clock)
    return http.get(service.url(address) + (path or PATHS[address]), headers=headers, **options)


# Scoping (section 1)


@pytest.mark.parametrize("address", PATHS)
@pytest.mark.parametrize("name", ALLOWED)
def test_credentials_work_exactly_where_section_1_says(http, service, clock, name, address):
    """Every caller is served at its own interfaces and refused at all others."""
    response = get(http, service, name, clock, address)
    assert response.status_code == (200 if address in ALLOWED[name] else 401)


@pytest.mark.parametrize("address", ["auth", "auth_sandbox"])
@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_gets_tokens_of_its_own_environment_only(http, service, clock, name, address):
    """A client is unknown to the token endpoint of the other environment."""
    form = token_form(service, service.credentials[name], clock, at=address)
    response = http.post(service.url(address) + TOKEN_PATH, data=form)
    assert response.status_code == (200 if address in ALLOWED[name] else 401)


@pytest.mark.parametrize("address", ["auth", "auth_sandbox"])
@pytest.mark.parametrize("name", KEY_PAIRS)
def test_a_key_pair_gets_no_token(http, service, clock, name, address):
    """The client credentials flow is not for account holders, however they send their keys."""
    pair = service.credentials[name]
    url = service.url(address) + TOKEN_PATH
    form = {
        "grant_type": "client_credentials",
        "client_id": pair.key_id.reveal(),
        "client_secret": pair.secret_key.reveal(),
    }
    assert http.post(url, data=form).status_code == 401
    assert http.post(url, data={"grant_type": "client_credentials"}, headers={"Authorization": basic(pair)}).is_error
    headers = own_headers(http, service, pair, clock)
    assert http.post(url, data={"grant_type": "client_credentials"}, headers=headers).is_error


def test_the_names_and_kinds_of_the_credentials(service):
    """There are ten credentials, each named as it is looked up."""
    assert list(service.credentials) == list(ALLOWED)
    assert all(credentials.name == name for name, credentials in service.credentials.items())
    kinds = {name: type(credentials) for name, credentials in service.credentials.items()}
    assert {kinds[name] for name in KEY_PAIRS} == {KeyPair}
    assert [name for name in CLIENTS if kinds[name] is ClientKey] == ["broker-key", "sandbox-key"]
    assert {service.credentials[name].algorithm for name in ("broker-key", "sandbox-key")} == {"ES256", "EdDSA"}


def test_each_account_holder_sees_its_own_account(http, service, clock):
    """No two account holders are shown the same account."""
    addresses = {"live": "trading_live", "live-2": "trading_live", "paper": "trading_paper", "paper-2": "trading_paper"}
    accounts = [get(http, service, name, clock, address).json()["id"] for name, address in addresses.items()]
    assert len(set(accounts)) == 4


def test_each_correspondent_sees_its_own_accounts(http, service, clock):
    """The two credentials of one correspondent see the same accounts, other correspondents none of them."""
    seen = {
        name: {row["id"] for row in get(http, service, name, clock, address).json()}
        for names, address in ((CLIENTS[:3], "broker"), (CLIENTS[3:], "broker_sandbox"))
        for name in names
    }
    assert seen["broker-secret"] == seen["broker-key"]
    assert seen["sandbox-secret"] == seen["sandbox-key"]
    distinct = [seen[name] for name in ("broker-secret", "broker-2", "sandbox-secret", "sandbox-2")]
    assert len(set.union(*distinct)) == sum(map(len, distinct)) == 100


def test_credentials_are_new_for_each_service(http, service, clock):
    """Neither a key pair nor a token of one service is accepted by another."""
    with practice(clock=clock) as other:
        for name, address in (("live", "trading_live"), ("broker-secret", "broker")):
            headers = own_headers(http, service, service.credentials[name], clock)
            assert http.get(other.url(address) + PATHS[address], headers=headers).status_code == 401


# The legacy flow (section 5.2)


@pytest.mark.parametrize("name", KEY_PAIRS)
def test_both_legacy_schemes_are_one_and_the_same(http, service, clock, name):
    """HTTP Basic and the two headers identify the same account."""
    pair = service.credentials[name]
    url = service.url("trading_live" if name.startswith("live") else "trading_paper") + "/v2/account"
    by_basic = http.get(url, headers={"Authorization": basic(pair)})
    by_headers = http.get(url, headers=own_headers(http, service, pair, clock))
    assert by_basic.status_code == by_headers.status_code == 200
    assert by_basic.content == by_headers.content


def legacy_mistakes(service):
    pair, other = service.credentials["live"], service.credentials["live-2"]
    key_id, secret_key = pair.key_id.reveal(), pair.secret_key.reveal()
    headers = [("SVC-API-KEY-ID", key_id), ("SVC-API-SECRET-KEY", secret_key)]
    return {
        "nothing": [],
        "both schemes": [*headers, ("Authorization", basic(pair))],
        "the key ID alone": headers[:1],
        "the secret key alone": headers[1:],
        "Basic and half of the headers": [*headers[:1], ("Authorization", basic(pair))],
        "a header twice": [*headers, headers[1]],
        "Basic twice": [("Authorization", basic(pair))] * 2,
        "another holder's secret key": [headers[0], ("SVC-API-SECRET-KEY", other.secret_key.reveal())],
        "another holder's secret key in Basic": [("Authorization", basic(pair, secret_key=other.secret_key.reveal()))],
        "a cut secret key": [headers[0], ("SVC-API-SECRET-KEY", secret_key[:-1])],
        "empty headers": [("SVC-API-KEY-ID", ""), ("SVC-API-SECRET-KEY", "")],
        "Basic without base64": [("Authorization", f"Basic {key_id}:{secret_key}")],
        "Basic with a character too many": [("Authorization", basic(pair)[:10] + "!" + basic(pair)[10:])],
        "Basic without a colon": [("Authorization", "Basic " + base64.b64encode(key_id.encode()).decode())],
        "Basic of no text": [("Authorization", "Basic /////w==")],
        "Bearer": [("Authorization", f"Bearer {secret_key}")],
        "no scheme": [("Authorization", secret_key)],
        "another prefix": [("XYZ-API-KEY-ID", key_id), ("XYZ-API-SECRET-KEY", secret_key)],
    }


def test_a_key_pair_sent_otherwise_is_refused(http, service):
    """Whatever is not one key pair sent in one way gets 401 with the scheme that would do."""
    for mistake, headers in legacy_mistakes(service).items():
        response = http.get(service.url("trading_live") + "/v2/account", headers=headers)
        assert response.status_code == 401, mistake
        assert response.headers["www-authenticate"].startswith('Basic realm="trading_live"'), mistake


# The token endpoint (section 4.1)


@pytest.mark.parametrize("name", CLIENTS)
def test_the_token_response_is_that_of_section_2(http, service, clock, name):
    """Three fields, `expires_in` slightly under 15 minutes, and nothing may keep a copy."""
    response = ask_token(http, service, service.credentials[name], clock)
    fields = response.json()
    assert set(fields) == {"access_token", "expires_in", "token_type"}
    assert fields["token_type"] == "Bearer"
    assert fields["expires_in"] == 899
    assert response.headers["cache-control"] == "no-store"


def test_every_token_request_gives_a_new_token_and_the_earlier_one_stays_good(http, service, clock):
    """A second token does not end the first."""
    credentials = service.credentials["broker-secret"]
    first, second = (own_headers(http, service, credentials, clock) for _ in range(2))
    assert first != second
    for headers in (first, second):
        assert http.get(service.url("broker") + "/v1/accounts", headers=headers).status_code == 200


def test_a_token_ends_with_its_validity(http, service, clock):
    """A token is good until just before the end of its validity, and not from then on."""
    headers = own_headers(http, service, service.credentials["sandbox-key"], clock)
    url = service.url("broker_sandbox") + "/v1/accounts"
    clock.advance(899.999)
    assert http.get(url, headers=headers).status_code == 200
    clock.advance(0.001)
    refused = http.get(url, headers=headers)
    assert refused.status_code == 401
    assert 'error="invalid_token"' in refused.headers["www-authenticate"]


def test_the_validity_of_tokens_can_be_chosen(http, clock):
    """A shorter validity shows in `expires_in`, slightly under it, and holds."""
    with practice(token_validity=2.5, clock=clock) as service:
        response = ask_token(http, service, service.credentials["broker-2"], clock)
        assert response.json()["expires_in"] == 2
        headers = {"Authorization": f"Bearer {response.json()['access_token']}"}
        clock.advance(2.5)
        assert http.get(service.url("broker") + "/v1/accounts", headers=headers).status_code == 401


def test_a_revoked_token_is_refused(http, service, clock):
    """After `revoke_tokens()` a token that should be good gets 401, and a new one works."""
    headers = own_headers(http, service, service.credentials["broker-secret"], clock)
    service.revoke_tokens()
    assert http.get(service.url("broker") + "/v1/accounts", headers=headers).status_code == 401
    assert get(http, service, "broker-secret", clock, "broker").status_code == 200


def form_mistakes(service):
    """Token requests that break one rule: changes of the form, further headers, status, error code."""
    client = service.credentials["broker-secret"]
    in_header = {"Authorization": "Basic " + base64.b64encode(b"a:b").decode()}
    pair = {"SVC-API-KEY-ID": "a", "SVC-API-SECRET-KEY": "b"}
    return {
        "secret in a header": ({"client_secret": None}, in_header, 401, "invalid_client"),
        "secret in a header too": ({}, in_header, 400, "invalid_request"),
        "bearer": ({"client_secret": None}, {"Authorization": "Bearer x"}, 401, "invalid_client"),
        "key pair": ({"client_secret": None}, pair, 401, "invalid_client"),
        "key pair too": ({}, pair, 400, "invalid_request"),
        "no grant type": ({"grant_type": None}, {}, 400, "invalid_request"),
        "empty grant type": ({"grant_type": ""}, {}, 400, "invalid_request"),
        "other grant type": ({"grant_type": "password"}, {}, 400, "unsupported_grant_type"),
        "grant type twice": ({"grant_type": ["client_credentials"] * 2}, {}, 400, "invalid_request"),
        "unknown field twice": ({"scope": ["a", "b"]}, {}, 400, "invalid_request"),
        "no client ID": ({"client_id": None}, {}, 400, "invalid_request"),
        "no secret": ({"client_secret": None}, {}, 401, "invalid_client"),
        "empty secret": ({"client_secret": ""}, {}, 401, "invalid_client"),
        "wrong secret": ({"client_secret": client.client_secret.reveal()[:-1]}, {}, 401, "invalid_client"),
        "unknown client": ({"client_id": "nobody"}, {}, 401, "invalid_client"),
        "another client": ({"client_id": "practice-broker-2"}, {}, 401, "invalid_client"),
        "client with a key": ({"client_id": "practice-broker-key"}, {}, 401, "invalid_client"),
        "two methods": ({"client_assertion": "x"}, {}, 400, "invalid_request"),
        "too large": ({"scope": "x" * 70_000}, {}, 413, "too_large"),
    }


def test_a_token_request_that_breaks_a_rule_is_refused(http, service, clock):
    """Each mistake has the status and error code of RFC 6749 section 5.2, and no reply may be kept."""
    url = service.url("auth") + TOKEN_PATH
    lawful = token_form(service, service.credentials["broker-secret"], clock)
    for mistake, (changes, headers, status, error) in form_mistakes(service).items():
        form = {name: value for name, value in {**lawful, **changes}.items() if value is not None}
        response = http.post(url, data=form, headers=headers)
        assert (response.status_code, response.json()["error"]) == (status, error), mistake
        assert response.headers["cache-control"] == "no-store", mistake
    assert http.post(url, data=lawful).status_code == 200


def test_a_refused_header_names_the_scheme_that_was_used(http, service):
    """RFC 6749 section 5.2: 401 for an Authorization header comes with its own scheme."""
    url = service.url("auth") + TOKEN_PATH
    for scheme in ("Basic", "Bearer"):
        response = http.post(
            url, data={"grant_type": "client_credentials"}, headers={"Authorization": f"{scheme} YTpi"}
        )
        assert response.headers["www-authenticate"].startswith(scheme)


@pytest.mark.parametrize(
    ("content_type", "content"),
    [
        ("application/json", b'{"grant_type": "client_credentials"}'),
        (FORM_TYPE, b"grant_type"),
        (FORM_TYPE, b"grant_type=%FF"),
        (FORM_TYPE, b"grant_type=\xff"),
        (FORM_TYPE, b"&".join(b"f%d=1" % number for number in range(50))),
        ("multipart/form-data; boundary=x", b"--x--"),
        ("", b"grant_type=client_credentials"),
    ],
)
def test_the_token_endpoint_takes_well_formed_forms_only(http, service, content_type, content):
    """Anything but an application/x-www-form-urlencoded form is an invalid request."""
    response = http.post(service.url("auth") + TOKEN_PATH, content=content, headers={"Content-Type": content_type})
    assert (response.status_code, response.json()["error"]) == (400, "invalid_request")


def test_a_form_may_name_its_charset_and_hold_fields_nobody_knows(http, service, clock):
    """RFC 6749 section 3.2: unknown fields are ignored."""
    form = {**token_form(service, service.credentials["broker-secret"], clock), "scope": "x"}
    content = httpx.Request("POST", "http://localhost", data=form).read()
    headers = {"Content-Type": FORM_TYPE + "; charset=UTF-8"}
    assert http.post(service.url("auth") + TOKEN_PATH, content=content, headers=headers).status_code == 200


def test_the_token_url_takes_no_query(http, service, clock):
    """Credentials in a URL would end up in logs: a query is refused."""
    form = token_form(service, service.credentials["broker-secret"], clock)
    url = service.url("auth") + TOKEN_PATH
    assert http.post(url, params={"client_id": form["client_id"]}, data=form).json()["error"] == "invalid_request"


# Signed assertions (RFC 7523)


@pytest.mark.parametrize("name", ["broker-key", "sandbox-key"])
def test_lawful_assertions_are_accepted(http, service, clock, name):
    """Either audience, alone or as a list of one, with or without `client_id`, `iat` and `kid`."""
    credentials = service.credentials[name]
    address = service.url(auth_address(credentials))
    url = address + TOKEN_PATH
    for changes in ({}, {"aud": address}, {"aud": [url]}, {"iat": None}, {"nbf": 0}):
        claims = claims_for(service, credentials, clock, **changes)
        for client_id in (credentials.client_id, None):
            fresh = signed(credentials, {**claims, "jti": secrets.token_hex(8)}, kid=credentials.key_id)
            form = assertion_form(credentials, fresh, client_id=client_id)
            assert http.post(url, data=form).status_code == 200, (changes, client_id)
    without_kid = signed(credentials, claims_for(service, credentials, clock))
    assert http.post(url, data=assertion_form(credentials, without_kid)).status_code == 200


def test_the_audience_may_name_the_host_as_the_caller_wrote_it(http, service, clock):
    """A caller that reaches the service as localhost means localhost."""
    credentials = service.credentials["broker-key"]
    url = service.url("auth").replace("127.0.0.1", "localhost") + TOKEN_PATH
    form = assertion_form(credentials, signed(credentials, claims_for(service, credentials, clock, aud=url)))
    headers = {"Host": httpx.URL(url).netloc.decode()}
    assert http.post(service.url("auth") + TOKEN_PATH, data=form, headers=headers).status_code == 200


def claim_mistakes(service, clock):
    now = clock.now().timestamp()
    url = service.url("auth") + TOKEN_PATH
    return {
        "iss of another client": {"iss": "practice-broker-secret"},
        "sub of another client": {"sub": "practice-broker-secret"},
        "iss missing": {"iss": None},
        "iss no text": {"iss": 1},
        "sub missing": {"sub": None},
        "sub no text": {"sub": ["practice-broker-key"]},
        "aud of the other environment": {"aud": service.url("auth_sandbox") + TOKEN_PATH},
        "aud of the broker interface": {"aud": service.url("broker")},
        "aud with a slash": {"aud": url + "/"},
        "aud missing": {"aud": None},
        "aud of two": {"aud": [url, service.url("auth")]},
        "aud of none": {"aud": []},
        "aud nested": {"aud": [[url]]},
        "aud no text": {"aud": 1},
        "exp missing": {"exp": None},
        "exp now": {"exp": int(now)},
        "exp past": {"exp": int(now) - 60},
        "exp far ahead": {"exp": int(now) + 601},
        "exp text": {"exp": str(int(now) + 60)},
        "exp true": {"exp": True},
        "exp infinite": {"exp": float("inf")},
        "exp not a number": {"exp": float("nan")},
        "iat ahead": {"iat": int(now) + 6},
        "iat text": {"iat": "now"},
        "iat true": {"iat": True},
        "nbf ahead": {"nbf": int(now) + 6},
        "jti missing": {"jti": None},
        "jti empty": {"jti": ""},
        "jti no text": {"jti": 7},
        "jti endless": {"jti": "x" * 300},
    }


def test_an_assertion_that_breaks_a_rule_is_refused(http, service, clock):
    """Each claim of RFC 7523 section 3 is checked."""
    to_whole_second(clock)
    credentials = service.credentials["broker-key"]
    for mistake, changes in claim_mistakes(service, clock).items():
        claims = claims_for(service, credentials, clock, **changes)
        form = assertion_form(credentials, signed(credentials, claims))
        response = http.post(service.url("auth") + TOKEN_PATH, data=form)
        assert (response.status_code, response.json()["error"]) == (401, "invalid_client"), mistake


def test_the_edges_of_the_times_of_an_assertion(http, service, clock):
    """`exp` up to ten minutes ahead and `iat` up to five seconds ahead are accepted."""
    to_whole_second(clock)
    credentials = service.credentials["broker-key"]
    now = int(clock.now().timestamp())
    for changes in ({"exp": now + 600}, {"exp": now + 1}, {"iat": now + 5}, {"iat": 0}):
        claims = claims_for(service, credentials, clock, **changes)
        form = assertion_form(credentials, signed(credentials, claims))
        assert http.post(service.url("auth") + TOKEN_PATH, data=form).status_code == 200, changes


def signature_mistakes(service, clock):
    credentials, other = service.credentials["broker-key"], service.credentials["sandbox-key"]
    claims = claims_for(service, credentials, clock)
    lawful = signed(credentials, claims)
    header, payload, signature = lawful.split(".")
    changed = encoded(json.dumps({**claims, "exp": claims["exp"] + 1}).encode()).decode()
    unsigned = encoded(json.dumps({"alg": "none"}).encode()).decode() + f".{payload}."
    return {
        "no JWT": "x",
        "a signature of another key": signed(other, claims),
        "a header that lies about the algorithm": signed(credentials, claims, alg="EdDSA"),
        "a symmetric algorithm": signed(credentials, claims, alg="HS256"),
        "no algorithm": unsigned,
        "no signature": f"{header}.{payload}.",
        "a changed payload": f"{header}.{changed}.{signature}",
        "claims that are no object": signed(credentials, [claims]),
        "another kid": signed(credentials, claims, kid="sandbox-key-1"),
        "an unknown critical header": signed(credentials, claims, crit=["x"], x=1),
        "endless nesting": f"{header}.{encoded(b'[' * 30_000).decode()}.{signature}",
    }


def test_an_assertion_with_a_bad_signature_or_header_is_refused(http, service, clock):
    """Only the registered key with its one algorithm will do."""
    credentials = service.credentials["broker-key"]
    for mistake, assertion in signature_mistakes(service, clock).items():
        response = http.post(service.url("auth") + TOKEN_PATH, data=assertion_form(credentials, assertion))
        assert (response.status_code, response.json()["error"]) == (401, "invalid_client"), mistake


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"client_assertion_type": None}, "invalid_request"),
        ({"client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:saml2-bearer"}, "invalid_request"),
        ({"client_secret": "x"}, "invalid_request"),
        ({"client_id": "practice-broker-secret"}, "invalid_client"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
    ],
)
def test_the_form_around_an_assertion_is_checked(http, service, clock, changes, error):
    """Type, client ID and method must agree with the assertion."""
    credentials = service.credentials["broker-key"]
    form = assertion_form(credentials, signed(credentials, claims_for(service, credentials, clock)), **changes)
    assert http.post(service.url("auth") + TOKEN_PATH, data=form).json()["error"] == error


def test_an_assertion_cannot_stand_for_a_client_with_a_secret(http, service, clock):
    """A client that has no key is not identified by any signature."""
    credentials, secret_client = service.credentials["broker-key"], service.credentials["broker-secret"]
    name = secret_client.client_id
    claims = claims_for(service, credentials, clock, iss=name, sub=name)
    form = assertion_form(credentials, signed(credentials, claims), client_id=name)
    assert http.post(service.url("auth") + TOKEN_PATH, data=form).json()["error"] == "invalid_client"


def test_an_assertion_is_good_for_one_request(http, service, clock):
    """A replayed `jti` is refused, also in another assertion, until the first one has expired."""
    credentials = service.credentials["broker-key"]
    url = service.url("auth") + TOKEN_PATH

    def ask(**changes):
        claims = claims_for(service, credentials, clock, jti="once", **changes)
        return http.post(url, data=assertion_form(credentials, signed(credentials, claims))).status_code

    assert ask() == 200
    assert ask() == 401
    assert ask(exp=int(clock.now().timestamp()) + 61) == 401
    clock.advance(61)
    assert ask() == 200


def test_a_refused_assertion_does_not_use_up_its_jti(http, service, clock):
    """Nobody can spoil a `jti` with an assertion that is not accepted."""
    credentials = service.credentials["broker-key"]
    url = service.url("auth") + TOKEN_PATH
    claims = claims_for(service, credentials, clock)
    refused = signed(credentials, {**claims, "exp": claims["iat"] - 1})
    assert http.post(url, data=assertion_form(credentials, refused)).status_code == 401
    assert http.post(url, data=assertion_form(credentials, signed(credentials, claims))).status_code == 200


# Calls that are refused


def test_bearer_challenges_follow_rfc_6750(http, service):
    """`invalid_token` answers a token, and nothing but the scheme answers no credentials."""
    url = service.url("broker") + "/v1/accounts"
    assert http.get(url).headers["www-authenticate"] == 'Bearer realm="broker"'
    shown = http.get(url, headers={"Authorization": "Bearer x"}).headers["www-authenticate"]
    assert shown == 'Bearer realm="broker", error="invalid_token"'


def test_market_data_names_both_flows(http, service):
    """Market data takes each caller's own flow, and its sandbox only tokens."""
    both = http.get(service.url("market_data") + PATHS["market_data"]).headers.get_list("www-authenticate")
    assert [challenge.partition(" ")[0] for challenge in both] == ["Basic", "Bearer"]
    sandbox = http.get(service.url("market_data_sandbox") + PATHS["market_data"]).headers.get_list("www-authenticate")
    assert [challenge.partition(" ")[0] for challenge in sandbox] == ["Bearer"]


def test_a_token_beside_a_key_pair_is_refused(http, service, clock):
    """Two credentials on one call are never meant, even where each alone would do."""
    headers = own_headers(http, service, service.credentials["broker-secret"], clock)
    headers |= own_headers(http, service, service.credentials["live"], clock)
    assert http.get(service.url("market_data") + PATHS["market_data"], headers=headers).status_code == 401


@pytest.mark.parametrize("address", PATHS)
def test_strangers_get_401_whatever_they_ask_for(http, service, address):
    """Without credentials there is no telling which paths and methods exist."""
    for method, path in (("GET", PATHS[address]), ("GET", "/nothing"), ("DELETE", PATHS[address])):
        assert http.request(method, service.url(address) + path).status_code == 401


def test_unknown_paths_and_methods_are_told_to_those_who_may_call(http, service, clock):
    """404 and 405 are JSON; 405 lists what is allowed."""
    headers = own_headers(http, service, service.credentials["broker-secret"], clock)
    base = service.url("broker")
    for path in ("/", "/v1/accounts/", "/v1//accounts", "/v1/practice/echo-headers", "/v2/account", "/v1/accounts%3Fx"):
        response = http.get(base + path, headers=headers)
        assert response.status_code == 404, path
        assert response.json()["error"] == "not_found"
    response = http.delete(base + "/v1/accounts", headers=headers)
    assert response.status_code == 405
    assert response.headers["allow"] == "GET, HEAD"
    response = http.get(service.url("auth") + TOKEN_PATH)
    assert (response.status_code, response.headers["allow"]) == (405, "POST")
    assert http.get(service.url("auth") + "/v1/accounts", headers=headers).status_code == 404


def test_head_is_get_without_its_body(http, service, clock):
    """RFC 9110 section 9.3.2: HEAD has the header fields of GET."""
    headers = own_headers(http, service, service.credentials["live"], clock)
    url = service.url("trading_live") + "/v2/account"
    head, full = http.head(url, headers=headers), http.get(url, headers=headers)
    assert head.headers["content-length"] == str(len(full.content))
    assert head.content == b""


def test_refusals_never_repeat_what_was_sent(http, service, clock):
    """No error answer holds anything of the request: not from its URL, headers or body."""
    canary = "CANARY" + secrets.token_hex(8)
    token_url = service.url("auth") + TOKEN_PATH
    key = service.credentials["broker-key"]
    broker = own_headers(http, service, service.credentials["broker-secret"], clock)
    orders = service.url("broker") + "/v1/practice/orders"
    forms = [
        {canary: canary},
        {"grant_type": canary, "client_id": canary, "client_secret": canary},
        {**token_form(service, service.credentials["broker-secret"], clock), "grant_type": canary},
        assertion_form(key, signed(key, claims_for(service, key, clock, aud=canary), kid=canary)),
        assertion_form(key, signed(key, claims_for(service, key, clock, aud=canary))),
        assertion_form(key, signed(key, claims_for(service, key, clock, iss=canary, sub=canary))),
        assertion_form(key, signed(key, claims_for(service, key, clock, exp=canary))),
        assertion_form(key, canary),
    ]
    responses = [http.post(token_url, data=form) for form in forms]
    responses += [
        http.post(token_url, content=canary, headers={"Content-Type": canary}),
        http.post(token_url, data={"x": canary}, headers={"Authorization": canary}),
        http.post(f"{token_url}?{canary}", data={"x": canary}),
        http.get(f"{service.url('broker')}/{canary}"),
        http.get(f"{service.url('broker')}/{canary}", headers=broker),
        http.get(f"{service.url('broker')}/v1/accounts", params={"limit": canary}, headers=broker),
        http.get(f"{service.url('broker')}/v1/accounts", params={"status": canary}, headers=broker),
        http.get(f"{service.url('market_data')}{PATHS['market_data']}?symbols={canary}", headers=broker),
        http.get(f"{service.url('broker')}/v1/accounts", headers={"Authorization": f"Bearer {canary}"}),
        http.get(f"{service.url('broker')}/v1/accounts", headers={"Host": canary}),
        http.request(canary, f"{service.url('broker')}/v1/accounts", headers=broker),
        http.post(orders, content=canary, headers={**broker, "Content-Type": "application/json"}),
        http.post(orders, content=canary, headers={**broker, "Content-Type": canary}),
        http.post(orders, json={canary: canary}, headers=broker),
        http.post(orders, json={"symbol": canary, "side": canary, "quantity": canary}, headers=broker),
        http.get(f"{service.url('trading_live')}/v2/account", headers={"SVC-API-KEY-ID": canary}),
    ]
    for response in responses:
        assert response.is_client_error, response.request
        shown = f"{response.text}{response.headers.multi_items()}{response.reason_phrase}"
        assert canary.lower() not in shown.lower(), response.request
        assert response.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    "host", ["example.com", "broker.example:{port}", "127.0.0.1", "127.0.0.1:{other}", "0.0.0.0:{port}", "[::1]:{port}"]
)
def test_a_foreign_host_is_refused(http, service, clock, host):
    """DNS rebinding: a name that merely resolves to this machine, or another port, gets nothing."""
    url, other = httpx.URL(service.url("broker")), httpx.URL(service.url("broker_sandbox"))
    headers = own_headers(http, service, service.credentials["broker-secret"], clock)
    headers["Host"] = host.format(port=url.port, other=other.port)
    service.stats.reset()
    assert http.get(str(url) + "/v1/accounts", headers=headers).status_code == 421
    assert (service.stats.calls, service.stats.refused) == (0, 1)


def test_localhost_is_the_same_host(http, service, clock):
    """The service answers to localhost with its own port as well."""
    headers = own_headers(http, service, service.credentials["broker-secret"], clock)
    headers["Host"] = f"LocalHost:{httpx.URL(service.url('broker')).port}"
    assert http.get(service.url("broker") + "/v1/accounts", headers=headers).status_code == 200


# Payloads


def test_payloads_are_the_same_in_every_run(http, service, clock):
    """Another service, at another time, makes up the same accounts, quotes and orders."""
    later = ManualClock()
    later.advance(1_000_000)

    def payloads(of, at):
        order = {"symbol": "ALFA", "side": "buy", "quantity": "1.5"}
        headers = own_headers(http, of, of.credentials["broker-secret"], at)
        return [
            get(http, of, "live", at, "trading_live").content,
            get(http, of, "broker-secret", at, "broker").content,
            get(http, of, "sandbox-2", at, "market_data_sandbox").content,
            http.post(of.url("broker") + "/v1/practice/orders", json=order, headers=headers).content,
        ]

    with practice(clock=later) as other:
        assert payloads(service, clock) == payloads(service, clock) == payloads(other, later)


def test_accounts_are_whole_and_made_up(http, service, clock):
    """Kinds of fields are mixed, sums add up, each record says it is made up, none names an address."""
    response = get(http, service, "broker-secret", clock, "broker")
    accounts = response.json()
    assert len(accounts) == 25
    assert all(account["made_up"] is True for account in accounts)
    assert "http" not in response.text
    assert "127.0.0.1" not in response.text
    numbers = [account["account_number"] for account in accounts]
    assert len(set(numbers)) == 25
    assert all(number.isdecimal() for number in numbers)
    assert {number.startswith("0") for number in numbers} == {True, False}
    assert {account["status"] for account in accounts} == {"open", "restricted", "closed"}
    assert {account["closed_on"] is None for account in accounts} == {True, False}
    assert {bool(account["positions"]) for account in accounts} == {True, False}
    for account in accounts:
        values = sum(Decimal(position["market_value"]) for position in account["positions"])
        assert Decimal(account["equity"]) == Decimal(account["cash"]) + values


def test_accounts_can_be_filtered_and_limited(http, service, clock):
    """`status` filters, `limit` cuts what is left, and both keep the order."""

    def ids(**query):
        return [row["id"] for row in get(http, service, "sandbox-secret", clock, "broker_sandbox", params=query).json()]

    everything = ids()
    by_status = {status: ids(status=status) for status in ("open", "restricted", "closed")}
    assert sorted(chain.from_iterable(by_status.values())) == sorted(everything)
    assert ids(limit=3) == everything[:3]
    assert ids(limit=1000) == everything
    assert ids(limit=2, status="open") == by_status["open"][:2]


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=-1", "limit=x", "limit=", "status=", "status=x", "limit=1&limit=2"]
)
def test_a_query_that_makes_no_sense_is_refused(http, service, clock, query):
    """A bad filter gets 400 rather than everything."""
    assert get(http, service, "broker-secret", clock, "broker", path=f"/v1/accounts?{query}").status_code == 400


def test_the_number_of_accounts_can_be_chosen(http, clock):
    """A correspondent has as many accounts as asked for, the same ones first."""
    with practice(accounts=3, clock=clock) as few, practice(accounts=0, clock=clock) as none:
        three = get(http, few, "broker-secret", clock, "broker").json()
        assert len(three) == 3
        assert get(http, none, "broker-secret", clock, "broker").json() == []
        with practice(accounts=5, clock=clock) as more:
            assert get(http, more, "broker-secret", clock, "broker").json()[:3] == three


def test_quotes_come_for_the_symbols_asked_for(http, service, clock):
    """Quotes keep the order of the symbols; without any there are some."""
    path = PATHS["market_data"]
    some = get(http, service, "paper", clock, "market_data", path=path).json()["quotes"]
    two = get(http, service, "broker-key", clock, "market_data", path=f"{path}?symbols=ECHO,ALFA").json()["quotes"]
    assert [quote["symbol"] for quote in two] == ["ECHO", "ALFA"]
    assert all(quote in some for quote in two)
    assert all(Decimal(quote["bid"]) < Decimal(quote["ask"]) for quote in some)
    assert get(http, service, "paper", clock, "market_data", path=f"{path}?symbols=a").status_code == 400


@pytest.mark.parametrize(
    ("name", "url"), [("live", "trading_live /v2/practice/orders"), ("sandbox-2", "broker_sandbox /v1/practice/orders")]
)
def test_the_same_order_gives_the_same_answer(http, service, clock, name, url):
    """An upload has a deterministic answer, which differs by what was uploaded."""
    address, path = url.split()
    headers = own_headers(http, service, service.credentials[name], clock)
    first, again, another = (
        http.post(
            service.url(address) + path, json={"symbol": "GOLF", "side": "sell", "quantity": quantity}, headers=headers
        )
        for quantity in (2, "2", 3)
    )
    assert first.status_code == 201
    assert first.content == again.content
    assert first.json()["id"] != another.json()["id"]
    assert first.json()["made_up"] is True


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"{", 400),
        (b"[" * 100_000, 400),
        (b"\xff", 400),
        (b"[]", 422),
        (b"{}", 422),
        (b'{"symbol": "A", "side": "buy", "quantity": 0}', 422),
        (b'{"symbol": "A", "side": "buy", "quantity": true}', 422),
        (b'{"symbol": "A", "side": "buy", "quantity": "0.0"}', 422),
        (b'{"symbol": "A", "side": ["buy"], "quantity": 1}', 422),
        (b'{"symbol": "a", "side": "buy", "quantity": 1}', 422),
        (b'{"symbol": "A", "side": "buy", "quantity": 1, "x": 1}', 422),
        (b" " * 1_100_000, 413),
    ],
)
def test_an_order_that_is_none_is_refused(http, service, clock, content, status):
    """Malformed JSON, wrong fields and bodies without end are told apart."""
    headers = own_headers(http, service, service.credentials["live"], clock) | {"Content-Type": "application/json"}
    response = http.post(service.url("trading_live") + "/v2/practice/orders", content=content, headers=headers)
    assert response.status_code == status


def test_the_date_is_that_of_the_clock(http, service, clock):
    """Every answer carries the service's own time, so that a caller can compare clocks."""
    response = http.get(service.url("broker") + "/v1/accounts")
    assert response.headers["date"] == clock.now().strftime("%a, %d %b %Y %H:%M:%S GMT")


# Faults and delays


def test_a_fault_has_its_status_and_retry_after(http, service, clock):
    """The next request meets the fault, the one after it does not."""
    service.faults.inject("token", 429, retry_after=7)
    credentials = service.credentials["broker-secret"]
    response = ask_token(http, service, credentials, clock)
    assert (response.status_code, response.headers["retry-after"]) == (429, "7")
    assert response.json()["error"] == "fault"
    assert ask_token(http, service, credentials, clock).status_code == 200


def test_a_fault_may_be_malformed_json_or_a_page(http, service, clock):
    """A body may break off or be HTML, with any status."""
    service.faults.inject("interfaces", 200, body="malformed")
    service.faults.inject("interfaces", 502, body="html")
    broken, page = (get(http, service, "live", clock, "trading_live") for _ in range(2))
    assert broken.headers["content-type"] == "application/json"
    with pytest.raises(json.JSONDecodeError):
        broken.json()
    assert (broken.status_code, page.status_code) == (200, 502)
    assert page.headers["content-type"].startswith("text/html")


@pytest.mark.parametrize("place", ["token", "interfaces"])
def test_a_dropped_connection_is_closed_without_an_answer(http, service, clock, place):
    """The caller sees a transport error, and the next request is answered."""
    credentials = service.credentials["broker-secret"]
    headers = own_headers(http, service, credentials, clock)
    service.faults.inject(place, dropped=True)

    def ask():
        if place == "token":
            return ask_token(http, service, credentials, clock)
        return http.get(service.url("broker") + "/v1/accounts", headers=headers)

    with pytest.raises(httpx.TransportError):
        ask()
    assert ask().status_code == 200
    assert service.stats.faulted == 1


def test_a_dropped_connection_carries_no_byte(service):
    """Not even a status line is sent."""
    service.faults.inject("interfaces", dropped=True)
    url = httpx.URL(service.url("broker"))
    with socket.create_connection((url.host, url.port), timeout=20) as connection:
        connection.sendall(f"GET /v1/accounts HTTP/1.1\r\nHost: {url.netloc.decode()}\r\n\r\n".encode())
        assert connection.recv(100) == b""


def test_faults_happen_in_order_and_as_often_as_asked(http, service, clock):
    """Faults of one place queue up, the other place is untouched, and one for good ends when cleared."""
    service.faults.inject("interfaces", 500, times=2)
    service.faults.inject("interfaces", 503, times=None)
    statuses = [get(http, service, "live", clock, "trading_live").status_code for _ in range(5)]
    assert statuses == [500, 500, 503, 503, 503]
    assert ask_token(http, service, service.credentials["broker-key"], clock).status_code == 200
    service.faults.clear("token")
    assert get(http, service, "live", clock, "trading_live").status_code == 503
    service.faults.clear()
    assert get(http, service, "live", clock, "trading_live").status_code == 200


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 204},
        {"status": 100},
        {"status": 600},
        {"status": "503"},
        {"body": "xml"},
        {"retry_after": "a\r\nb"},
        {"times": 0},
        {"place": "broker"},
    ],
)
def test_a_fault_that_cannot_be_sent_is_refused(service, fault):
    """A mistake in a fault shows where it is made, not in a server thread."""
    with pytest.raises(ConfigurationError):
        service.faults.inject(**{"place": "token", **fault})
    assert service.faults.take("token") is None


def test_a_delayed_token_request_holds_up_nobody_and_is_dropped_at_the_end(http, clock):
    """Delays are awaited: other calls are answered meanwhile, and closing does not wait for them."""
    outcome = []
    with practice(token_delay=3600, clock=clock) as service:
        credentials = service.credentials["broker-secret"]

        def ask():
            try:
                with httpx.Client(trust_env=False, timeout=60) as own:
                    outcome.append(ask_token(own, service, credentials, clock))
            except httpx.TransportError as error:
                outcome.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        while asking.is_alive() and not service.stats.token_requests:
            time.sleep(0.001)
        assert get(http, service, "live", clock, "trading_live").status_code == 200
    asking.join(30)
    assert [type(result).__name__ for result in outcome] in (["RemoteProtocolError"], ["ReadError"])


# Counts


def test_stats_count_by_kind_and_endpoint(http, service, clock):
    """Token requests, calls, refusals and faults are counted, and paths that hold anything are not kept."""
    get(http, service, "broker-secret", clock, "broker")
    get(http, service, "live", clock, "trading_paper")
    http.get(service.url("broker") + "/secret-in-a-path")
    service.faults.inject("interfaces")
    get(http, service, "live", clock, "trading_live")
    stats = service.stats
    assert (stats.token_requests, stats.calls, stats.refused, stats.faulted) == (1, 4, 2, 1)
    assert stats.by_endpoint == {
        "auth POST /v1/oauth2/token": 1,
        "broker GET /v1/accounts": 1,
        "broker other": 1,
        "trading_live GET /v2/account": 1,
        "trading_paper GET /v2/account": 1,
    }
    assert repr(stats) == "<Stats 1 token requests, 4 calls, 2 refused, 1 faulted>"
    stats.reset()
    assert (stats.token_requests, stats.calls, stats.refused, stats.faulted, stats.by_endpoint) == (0, 0, 0, 0, {})


# Starting, closing, offline


def test_eight_addresses_are_eight_origins(service):
    """Each address has its own port on loopback, and `url` names it."""
    assert tuple(service.settings.addresses) == ADDRESS_NAMES
    ports = {httpx.URL(address).port for address in service.settings.addresses.values()}
    assert len(ports) == 8
    assert all(address.startswith("http://127.0.0.1:") for address in service.settings.addresses.values())
    assert all(service.url(name) == address for name, address in service.settings.addresses.items())
    with pytest.raises(ConfigurationError):
        service.url("nowhere")


def started_at_a_base_port(clock):
    """A service on eight consecutive ports, and the first of them; other processes look for ports too."""
    for _ in range(100):
        base = 20_000 + secrets.randbelow(10_000)
        try:
            return base, practice(port=base, clock=clock).start()
        except ConfigurationError:
            continue
    raise AssertionError("no eight consecutive ports are free")


def test_a_base_port_gives_eight_consecutive_ones(clock):
    """The ports follow the order of the document's address table, and a taken one is named."""
    base, service = started_at_a_base_port(clock)
    with service:
        assert list(service.settings.addresses.values()) == [f"http://127.0.0.1:{base + n}" for n in range(8)]
        with pytest.raises(ConfigurationError, match=f"port {base}"):
            practice(port=base).start()
        with pytest.raises(ConfigurationError, match=f"port ({base - 1}|{base})"):
            practice(port=base - 1).start()


def server_threads():
    return [thread for thread in threading.enumerate() if thread.name == "practice-service"]


def test_closing_ends_the_thread_and_frees_the_ports(http):
    """After `close()` nothing listens; closing twice, or before starting, does nothing."""
    before = server_threads()
    service = practice()
    service.close()
    with pytest.raises(ConfigurationError, match="not running"):
        _ = service.settings
    assert service.start() is service.start()
    assert len(server_threads()) == len(before) + 1
    url = service.url("broker")
    assert http.get(url).status_code == 401
    service.close()
    service.close()
    assert server_threads() == before
    with pytest.raises(httpx.ConnectError):
        http.get(url)
    assert repr(service) == "<PracticeService, closed, 25 accounts>"


def test_a_server_that_cannot_start_says_why_and_keeps_no_socket():
    """What fails in the thread is raised where the server is started, and its sockets are closed."""
    sockets = listen(2, 0)
    sockets[1].close()
    server = ServerThread(PracticeApp(World(ManualClock()), {}), sockets)
    with pytest.raises(OSError):
        server.start()
    server.close()
    assert sockets[0].fileno() == -1


def test_the_sockets_name_their_protocol():
    """Only then does asyncio turn off Nagle's algorithm, which makes every answer wait."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(listening) for listening in listen(2, 0)]
        assert {listening.proto for listening in sockets} == {socket.IPPROTO_TCP}


def test_a_closed_service_can_start_anew_with_the_same_credentials(http):
    """Starting again serves the same holders, perhaps on other ports."""
    service = practice()
    with service:
        headers = own_headers(http, service, service.credentials["live"], None)
    with service:
        assert http.get(service.url("trading_live") + "/v2/account", headers=headers).status_code == 200


def test_a_service_nobody_holds_ends_by_itself():
    """Rerunning the cell that starts a service leaves no old one behind."""
    before = server_threads()
    service = practice().start()
    (thread,) = (thread for thread in server_threads() if thread not in before)
    del service
    gc.collect()
    thread.join(30)
    assert not thread.is_alive()


def test_it_serves_callers_inside_a_running_event_loop():
    """In a notebook a loop is already running: the service has its own."""

    async def notebook():
        with practice() as service:
            async with httpx.AsyncClient(trust_env=False) as client:
                return await client.get(service.url("broker") + "/v1/accounts")

    assert asyncio.run(notebook()).status_code == 401


def run_python(code, *options):
    """What a fresh interpreter, with the import path of this one, does with the code."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, *options, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)


@pytest.mark.parametrize("ending", ["service.close()", "del service; gc.collect()", "pass"])
def test_nothing_is_printed_and_nothing_left_open(ending):
    """However it ends, with a connection open or without: no warning, no log line, no traceback."""
    code = f"""if True:
        import gc, warnings, httpx
        from toolkit.practice_service import practice
        service = practice().start()
        with httpx.Client(trust_env=False) as client:
            client.get(service.url("broker") + "/v1/accounts")
            service.faults.inject("interfaces", dropped=True)
            try:
                client.get(service.url("broker") + "/v1/accounts")
            except httpx.TransportError:
                pass
            client.get(service.url("auth"))
            {ending}
        gc.collect()
    """
    finished = run_python(code, "-W", "always::ResourceWarning")
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "", "")


def test_importing_it_loads_no_server_and_no_cryptography():
    """Starlette and uvicorn come with the start, jwt and cryptography with the credentials."""
    heavy = {"starlette", "uvicorn", "jwt", "cryptography", "pandas"}
    code = f"import sys, toolkit.practice_service; print(sorted({heavy!r} & set(sys.modules)))"
    assert run_python(code).stdout == "[]\n"


@pytest.mark.parametrize("missing", ["starlette", "uvicorn"])
def test_a_missing_server_package_is_named_with_its_remedy(missing):
    """Without the extra, starting says what to install."""
    code = f"""if True:
        import sys
        sys.modules[{missing!r}] = None
        from toolkit.core.errors import ConfigurationError
        from toolkit.practice_service import practice
        try:
            practice().start()
        except ConfigurationError as error:
            print(error)
    """
    printed = run_python(code).stdout
    assert missing in printed
    assert "service-access-toolkit[practice]" in printed


def test_offline_it_starts_no_server(monkeypatch):
    """While the toolkit replays only: symbolic addresses, real credential objects, zero counts, no thread."""
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1")
    before = server_threads()
    with practice() as service:
        assert server_threads() == before
        assert service.url("broker_sandbox") == "https://broker-sandbox.svc.invalid"
        assert tuple(service.settings.addresses) == ADDRESS_NAMES
        assert list(service.credentials) == list(ALLOWED)
        assert (service.stats.token_requests, service.stats.calls, service.stats.by_endpoint) == (0, 0, {})
        assert repr(service) == "<PracticeService, offline, 25 accounts>"


@pytest.mark.parametrize(
    "option",
    [
        {"accounts": -1},
        {"accounts": 2.5},
        {"accounts": 1_000_000},
        {"accounts": True},
        {"token_validity": 1},
        {"token_validity": float("nan")},
        {"token_validity": "900"},
        {"delay": -0.1},
        {"token_delay": float("inf")},
        {"port": 80},
        {"port": 65_530},
        {"port": "8000"},
    ],
)
def test_an_option_out_of_range_is_refused(option):
    """A mistake in an option shows where it is made."""
    with pytest.raises(ConfigurationError, match=next(iter(option))):
        practice(**option)


# Secrets


def all_secrets(service):
    return [secret.reveal() for credentials in service.credentials.values() for _, secret in credentials.secrets()]


def test_no_secret_shows_in_a_repr_or_a_log(http, service, clock, caplog):
    """Whatever is printed, and with every logger at DEBUG, no key, secret or token appears."""
    # What the client of this test would log is not the service's doing. The last level set is the handler's.
    for name in ("httpx", "httpcore"):
        caplog.set_level(logging.CRITICAL, logger=name)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi", "asyncio", "starlette", None):
        caplog.set_level(logging.DEBUG, logger=name)
    sent = [own_headers(http, service, credentials, clock) for credentials in service.credentials.values()]
    for headers in sent:
        http.get(service.url("market_data") + PATHS["market_data"], headers=headers)
    tokens = [headers["Authorization"].removeprefix("Bearer ") for headers in sent if "Authorization" in headers]
    assert len(tokens) == len(CLIENTS)
    service.faults.inject("interfaces", dropped=True)
    with pytest.raises(httpx.TransportError):
        get(http, service, "live", clock, "trading_live")
    world = service._world
    printed = "".join(
        repr(thing)
        for thing in (
            service,
            vars(service),
            world,
            vars(world.holders),
            vars(world.tokens),
            service.credentials,
            service.faults,
            service.stats,
            Fault(),
        )
    )
    for secret in (*all_secrets(service), *tokens):
        assert secret not in printed
        assert secret not in caplog.text
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


# In memory


def test_the_application_runs_without_sockets(clock):
    """A port stands for an address, so httpx can call the application in memory; a drop is an exception."""
    world = World(clock)
    app = PracticeApp(world, {50_001: "trading_live", 50_002: "trading_paper"})
    pair = world.holders.credentials["live"]
    headers = {"Authorization": basic(pair)}

    async def calls():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), headers=headers) as client:
            served = await client.get("http://127.0.0.1:50001/v2/account")
            refused = await client.get("http://127.0.0.1:50002/v2/account")
            misdirected = await client.get("http://127.0.0.1:50003/v2/account")
            world.faults.inject("interfaces", dropped=True)
            with pytest.raises(ConnectionDroppedError):
                await client.get("http://127.0.0.1:50001/v2/account")
            return [served.status_code, refused.status_code, misdirected.status_code]

    assert asyncio.run(calls()) == [200, 401, 421]


def test_credentials_that_there_are_not() -> None:
    """A name that is none is answered with those that are."""
    service = practice()
    with pytest.raises(ConfigurationError, match="no credentials called 'sandbox'") as caught:
        service.credentials["sandbox"]
    assert caught.value.next_step == f"Names: {', '.join(service.credentials)}."
    assert "sandbox-secret" in caught.value.next_step
    assert service.credentials.get("sandbox") is None
    assert "sandbox" not in service.credentials
