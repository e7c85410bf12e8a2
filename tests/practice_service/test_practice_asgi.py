from __future__ import annotations

from practice_requests import TOKEN_PATH, own_headers, url_of


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
