from __future__ import annotations

import base64

import pytest
from practice_requests import ALLOWED, CLIENTS, PATHS, TOKEN_PATH, basic, get, own_headers, url_of


@pytest.mark.parametrize("address", PATHS)
@pytest.mark.parametrize("name", ALLOWED)
def test_scope_of_credentials(http, service, clock, name, address):
    """All credentials work at their own interfaces (section 1) and are refused at all others."""
    response = get(http, service, name, clock, address)
    assert response.status_code == (200 if address in ALLOWED[name] else 401)


def test_accounts_of_correspondents(http, service, clock):
    """Both credentials of a correspondent see the same accounts, and other correspondents see other accounts."""
    seen = {
        name: {row["id"] for row in get(http, service, name, clock, address).json()}
        for names, address in ((CLIENTS[:3], "broker"), (CLIENTS[3:], "broker_sandbox"))
        for name in names
    }
    assert seen["broker-secret"] == seen["broker-key"]
    assert seen["sandbox-secret"] == seen["sandbox-key"]
    distinct = [seen[name] for name in ("broker-secret", "broker-2", "sandbox-secret", "sandbox-2")]
    assert len(set.union(*distinct)) == sum(map(len, distinct)) == 100


def test_malformed_key_pairs(http, service):
    """Anything but one key pair sent in one way gets 401 and the scheme that is accepted."""
    pair, other = service.credentials["live"], service.credentials["live-2"]
    key_id, secret_key = pair.key_id.reveal(), pair.secret_key.reveal()
    headers = [("SVC-API-KEY-ID", key_id), ("SVC-API-SECRET-KEY", secret_key)]
    mistakes = {
        "nothing": [],
        "both schemes": [*headers, ("Authorization", basic(pair))],
        "the key ID alone": headers[:1],
        "another holder's secret key": [headers[0], ("SVC-API-SECRET-KEY", other.secret_key.reveal())],
        "another holder's secret key in Basic": [("Authorization", basic(pair, secret_key=other.secret_key.reveal()))],
        "Basic without base64": [("Authorization", f"Basic {key_id}:{secret_key}")],
        "Basic without a colon": [("Authorization", "Basic " + base64.b64encode(key_id.encode()).decode())],
    }
    for mistake, headers in mistakes.items():
        response = http.get(url_of(service, "trading_live") + "/v2/account", headers=headers)
        assert response.status_code == 401, mistake
        assert response.headers["www-authenticate"].startswith('Basic realm="trading_live"'), mistake


def test_revoked_tokens(service):
    """A token that was revoked is not accepted: the session gets another one."""
    with service.session("broker-secret") as session:
        session.accounts()
        service.revoke_tokens()
        session.accounts()
        assert len(session.tokens()) == 2


def test_unknown_paths_and_methods(http, service, clock):
    """Callers get 404 and 405 as JSON; 405 lists the methods that are allowed."""
    headers = own_headers(http, service, service.credentials["broker-secret"], clock)
    base = url_of(service, "broker")
    for path in ("/", "/v1//accounts", "/v2/account", "/v1/accounts%3Fx"):
        response = http.get(base + path, headers=headers)
        assert (response.status_code, response.json()["error"]) == (404, "not_found"), path
    response = http.delete(base + "/v1/accounts", headers=headers)
    assert response.status_code == 405
    assert set(response.headers["allow"].split(", ")) == {"GET", "HEAD"}
    response = http.get(url_of(service, "auth") + TOKEN_PATH)
    assert (response.status_code, response.headers["allow"]) == (405, "POST")
    assert http.get(url_of(service, "auth") + "/v1/accounts", headers=headers).status_code == 404


def test_foreign_host(http, service):
    """A host name that resolves to this machine is refused (DNS rebinding)."""
    for host in ("example.com", "localhost.example", "127.0.0.2"):
        assert http.get(url_of(service, "broker") + "/v1/accounts", headers={"Host": host}).status_code == 400, host
