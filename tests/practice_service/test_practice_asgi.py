from __future__ import annotations

from practice_requests import (
    TOKEN_PATH,
    get,
    own_headers,
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
