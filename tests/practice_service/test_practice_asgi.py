from __future__ import annotations

import secrets

import httpx
import pytest
from practice_requests import PATHS, TOKEN_PATH, assertion_form, claims_for, get, own_headers, signed, token_form


def test_unknown_paths_and_methods(http, service, clock):
    """Callers get 404 and 405 as JSON; 405 lists the methods that are allowed."""
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


def test_refusals_do_not_quote_the_request(http, service, clock):
    """No error response quotes anything of the request: URL, headers or body."""
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
def test_foreign_host(http, service, clock, host):
    """A host name that resolves to this machine, or another port, is refused (DNS rebinding)."""
    url, other = httpx.URL(service.url("broker")), httpx.URL(service.url("broker_sandbox"))
    headers = own_headers(http, service, service.credentials["broker-secret"], clock)
    headers["Host"] = host.format(port=url.port, other=other.port)
    service.stats.reset()
    assert http.get(str(url) + "/v1/accounts", headers=headers).status_code == 421
    assert (service.stats.calls, service.stats.refused) == (0, 1)


def test_stats(http, service, clock):
    """Token requests, calls, refusals and faults are counted; unknown paths are not kept."""
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
    stats.reset()
    assert (stats.token_requests, stats.calls, stats.refused, stats.faulted, stats.by_endpoint) == (0, 0, 0, 0, {})
