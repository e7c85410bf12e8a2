from __future__ import annotations

import secrets

from practice_requests import (
    TOKEN_PATH,
    assertion_form,
    claims_for,
    get,
    own_headers,
    signed,
    token_form,
    url_of,
)


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


def test_refusals_do_not_quote_the_request(http, service, clock):
    """No error response quotes anything of the request: URL, headers or body."""
    canary = "CANARY" + secrets.token_hex(8)
    token_url = url_of(service, "auth") + TOKEN_PATH
    key = service.credentials["broker-key"]
    broker = own_headers(http, service, service.credentials["broker-secret"], clock)
    orders = url_of(service, "broker") + "/v1/practice/orders"
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
        http.get(f"{url_of(service, 'broker')}/{canary}"),
        http.get(f"{url_of(service, 'broker')}/{canary}", headers=broker),
        http.get(f"{url_of(service, 'broker')}/v1/accounts", params={"limit": canary}, headers=broker),
        http.get(f"{url_of(service, 'broker')}/v1/accounts", headers={"Authorization": f"Bearer {canary}"}),
        http.request(canary, f"{url_of(service, 'broker')}/v1/accounts", headers=broker),
        http.post(orders, content=canary, headers={**broker, "Content-Type": "application/json"}),
        http.post(orders, content=canary, headers={**broker, "Content-Type": canary}),
        http.post(orders, json={canary: canary}, headers=broker),
        http.get(f"{url_of(service, 'trading_live')}/v2/account", headers={"SVC-API-KEY-ID": canary}),
    ]
    for response in responses:
        assert response.is_client_error, response.request
        shown = f"{response.text}{response.headers.multi_items()}{response.reason_phrase}"
        assert canary.lower() not in shown.lower(), response.request
        assert response.headers["content-type"] == "application/json"


def test_foreign_host(http, service):
    """A host name that resolves to this machine is refused (DNS rebinding)."""
    for host in ("example.com", "localhost.example", "127.0.0.2"):
        assert http.get(url_of(service, "broker") + "/v1/accounts", headers={"Host": host}).status_code == 400, host


def test_stats(http, service, clock):
    """Token requests, calls, refusals and faults are counted; unknown paths are not kept."""
    get(http, service, "broker-secret", clock, "broker")
    get(http, service, "live", clock, "trading_paper")
    http.get(url_of(service, "broker") + "/secret-in-a-path")
    service.faults.inject("interfaces")
    get(http, service, "live", clock, "trading_live")
    stats = service.stats
    assert (stats.token_requests, stats.calls, stats.refused, stats.faulted) == (1, 4, 2, 1)
    assert stats.by_credentials == {"broker-secret": 2}
    assert stats.by_status == {
        "auth POST /v1/oauth2/token": {200: 1},
        "broker GET /v1/accounts": {200: 1},
        "broker other": {404: 1},
        "trading_live GET /v2/account": {503: 1},
        "trading_paper GET /v2/account": {401: 1},
    }
    stats.reset()
    assert (stats.token_requests, stats.calls, stats.refused, stats.faulted, stats.by_status) == (0, 0, 0, 0, {})
