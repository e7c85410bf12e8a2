from __future__ import annotations

from decimal import Decimal

import pytest
from practice_requests import get, own_headers, url_of


def test_accounts(http, service, clock):
    """Fields vary, sums add up, each account says that it is made up, and none names an address."""
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
        assert (account["equity"] == "0.00") == (account["status"] == "closed")
    for path in ("/v2/practice/quotes", "/v2/practice/bars"):
        assert get(http, service, "live", clock, "market_data", path=path).json()["made_up"] is True


@pytest.mark.parametrize(
    ("name", "url"), [("live", "trading_live /v2/practice/orders"), ("sandbox-2", "broker_sandbox /v1/practice/orders")]
)
def test_orders(http, service, clock, name, url):
    """The same order gives the same response, another order another."""
    address, path = url.split()
    headers = own_headers(http, service, service.credentials[name], clock)
    first, again, another = (
        http.post(
            url_of(service, address) + path,
            json={"symbol": "GOLF", "side": "sell", "quantity": quantity},
            headers=headers,
        )
        for quantity in (2, "2", 3)
    )
    assert first.status_code == 201
    assert first.content == again.content
    assert first.json()["id"] != another.json()["id"]
    assert first.json()["made_up"] is True
    refused = http.post(url_of(service, address) + path, json={"symbol": "GOLF"}, headers=headers)
    assert (refused.status_code, refused.json()["error"]) == (422, "invalid_order")
