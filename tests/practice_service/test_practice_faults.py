from __future__ import annotations

import threading
import time

import httpx
import pytest
from practice_requests import ask_token, get, own_headers, url_of

from toolkit.practice_service import practice


def test_status_and_retry_after(http, service, clock):
    """Only the next request meets the fault, with its status and Retry-After header."""
    service.faults.inject("token", 429, retry_after=7)
    credentials = service.credentials["broker-secret"]
    response = ask_token(http, service, credentials, clock)
    assert (response.status_code, response.headers["retry-after"]) == (429, "7")
    assert response.json()["error"] == "fault"
    assert ask_token(http, service, credentials, clock).status_code == 200


@pytest.mark.parametrize("place", ["token", "interfaces"])
def test_dropped_connection(http, service, clock, place):
    """The caller gets a transport error, and the next request succeeds."""
    credentials = service.credentials["broker-secret"]
    headers = own_headers(http, service, credentials, clock)
    service.faults.inject(place, dropped=True)

    def ask():
        if place == "token":
            return ask_token(http, service, credentials, clock)
        return http.get(url_of(service, "broker") + "/v1/accounts", headers=headers)

    with pytest.raises(httpx.TransportError):
        ask()
    assert ask().status_code == 200
    assert service.stats.faulted == 1


def test_order_and_number(http, service, clock):
    """Faults of a place queue up, other places are not affected, and clear() ends a permanent fault."""
    service.faults.inject("interfaces", 500, times=2)
    service.faults.inject("interfaces", 503, times=None)
    statuses = [get(http, service, "live", clock, "trading_live").status_code for _ in range(5)]
    assert statuses == [500, 500, 503, 503, 503]
    assert ask_token(http, service, service.credentials["broker-key"], clock).status_code == 200
    service.faults.clear()
    assert get(http, service, "live", clock, "trading_live").status_code == 200


def test_delays(http, clock):
    """During a delay other calls are answered, and closing does not wait for it."""
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
