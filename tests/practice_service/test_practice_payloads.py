from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from manual_clock import ManualClock
from practice_requests import PATHS, get, own_headers, url_of

from toolkit.practice_service import practice
from toolkit.practice_service.payloads import base_price, price

SYMBOLS = st.text(st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), min_size=1, max_size=6)
FIRST, LAST = (datetime.fromisoformat(f"{year}-01-01") for year in (1960, 2100))
INSTANTS = st.datetimes(FIRST, LAST, timezones=st.just(UTC))


def test_same_in_every_run(http, service, clock):
    """Another service at the same instant gives the same accounts, quotes and orders, and later others."""
    same = ManualClock(clock.now())

    def payloads(of, at):
        order = {"symbol": "ALFA", "side": "buy", "quantity": "1.5"}
        headers = own_headers(http, of, of.credentials["broker-secret"], at)
        return [
            get(http, of, "live", at, "trading_live").content,
            get(http, of, "broker-secret", at, "broker").content,
            get(http, of, "sandbox-2", at, "market_data_sandbox").content,
            http.post(of.settings.addresses["broker"] + "/v1/practice/orders", json=order, headers=headers).content,
        ]

    with practice(clock=same) as other:
        now = payloads(service, clock)
        assert now == payloads(service, clock) == payloads(other, same)
        same.advance(60)
        assert all(before != after for before, after in zip(now, payloads(other, same), strict=True))


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


def test_quotes(http, service, clock):
    """Quotes keep the order of the symbols; by default there are some."""
    path = PATHS["market_data"]
    some = get(http, service, "paper", clock, "market_data", path=path).json()["quotes"]
    two = get(http, service, "broker-key", clock, "market_data", path=f"{path}?symbols=ECHO,ALFA").json()["quotes"]
    assert [quote["symbol"] for quote in two] == ["ECHO", "ALFA"]
    assert all(quote in some for quote in two)
    assert all(Decimal(quote["bid"]) < Decimal(quote["ask"]) for quote in some)


def test_one_account(http, service, clock):
    """An account of the list can be requested by its id; another holder's is not found."""
    account = get(http, service, "sandbox-secret", clock, "broker_sandbox").json()[1]
    path = f"/v1/practice/accounts/{account['id']}"
    assert get(http, service, "sandbox-secret", clock, "broker_sandbox", path=path).json() == account
    assert get(http, service, "broker-secret", clock, "broker", path=path).status_code == 404


def test_bars(http, service, clock):
    """A day begins with the price at which the day before it ended; the last day is still going on."""
    path = "/v2/practice/bars?symbols=ECHO,ALFA&days="
    bars = get(http, service, "paper", clock, "market_data", path=f"{path}3").json()["bars"]
    assert list(bars) == ["ECHO", "ALFA"]
    for days in bars.values():
        assert [day["day"] for day in days] == sorted(day["day"] for day in days)
        assert days[-1]["day"] == clock.now().date().isoformat()
        assert abs(Decimal(days[0]["close"]) - Decimal(days[1]["open"])) < 1
    assert get(http, service, "paper", clock, "market_data", path=f"{path}0").status_code == 400


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


@pytest.mark.parametrize("content", [b"{", b"[]", b'"x"', b'{"symbol": "A", "side": "buy"}'])
def test_malformed_orders(http, service, clock, content):
    """Anything but an object with symbol, side and quantity is refused."""
    headers = own_headers(http, service, service.credentials["live"], clock)
    response = http.post(url_of(service, "trading_live") + "/v2/practice/orders", content=content, headers=headers)
    assert (response.status_code, response.json()["error"]) == (422, "invalid_order")


@given(symbol=SYMBOLS, at=INSTANTS)
def test_no_jumps(symbol, at):
    """From one second to the next a price moves by less than 0.1 %, and within a second it stays."""
    second = at.replace(microsecond=0)
    now, base = price(symbol, second), base_price(symbol)
    assert price(symbol, at) == now
    assert abs(price(symbol, second + timedelta(seconds=1)) - now) <= base / 1000 + Decimal("0.01")


def test_same_on_every_machine():
    """Prices of a symbol and instant are fixed: recordings are made again with them."""
    at = datetime(2026, 11, 20, 16, 30, tzinfo=UTC)
    assert [str(price(symbol, at)) for symbol in ("ALFA", "BRVO", "CHRL")] == ["37.57", "190.11", "279.53"]
