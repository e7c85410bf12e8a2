"""Pages, positions and order histories of the practice service, called in memory."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from manual_clock import ManualClock

from toolkit.practice_service import payloads
from toolkit.practice_service.app import PracticeApp
from toolkit.practice_service.service import World

BASE = "http://127.0.0.1:50001"
HOLDERS = {"broker": "broker-secret", "broker-2": "broker-2"}


class InMemory:
    """The application, its clock, and calls to its broker address."""

    def __init__(self, **options):
        self.clock = ManualClock()
        self.world = World(self.clock, **options)
        self._app = PracticeApp(self.world, {50_001: "broker", 50_002: "market_data"})
        self._tokens = {}

    def get(self, path, *, holder="broker", method="GET", base=BASE):
        async def call():
            async with httpx.AsyncClient(transport=httpx.ASGITransport(self._app)) as client:
                return await client.request(method, httpx.URL(base).join(path), headers=self._headers(holder))

        return asyncio.run(call())

    def _headers(self, holder):
        if holder not in self._tokens:
            credentials = self.world.authenticator.credentials[HOLDERS[holder]]
            self._tokens[holder] = self.world.authenticator.issue_token(credentials)["access_token"]
        return {"Authorization": f"Bearer {self._tokens[holder]}"}


def test_more_accounts_come_in_pages():
    """More than 100 accounts come in pages of 100, in order, each account once."""
    many = InMemory(accounts=230)
    responses = [many.get("/v1/accounts")]
    while "next" in responses[-1].links:
        responses.append(many.get(responses[-1].links["next"]["url"]))
    assert [len(response.json()) for response in responses] == [100, 100, 30]
    ids = [account["id"] for response in responses for account in response.json()]
    assert ids == [payloads.account_id("broker", number) for number in range(230)]
    url = responses[0].links["next"]["url"]
    assert url.startswith(f"{BASE}/v1/accounts?page_token=")
    for token_of_another_list in (url + "x", url + "&limit=200"):
        assert many.get(token_of_another_list).json()["error"] == "bad_query"


@pytest.mark.parametrize("list_name", ["positions", "orders"])
def test_unknown_accounts(list_name):
    """Accounts that do not exist, and those of another correspondent, get 404; so do templates of paths."""
    few = InMemory(accounts=25)
    other = payloads.account_id("broker-2", 0)
    assert few.get(f"/v1/practice/accounts/{other}/{list_name}", holder="broker-2").status_code == 200
    for account in (other, payloads.account_id("broker", 25), "x", "{account_id}", "", "a%2Fb"):
        response = few.get(f"/v1/practice/accounts/{account}/{list_name}")
        assert (response.status_code, response.json()["error"]) == (404, "not_found"), account


def test_rate_limit():
    """Each correspondent may call so many times a second; further calls get 429 with a Retry-After that is enough."""
    service = InMemory(accounts=1, rate_limit=2)
    answers = [service.get("/v1/accounts") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[-1].headers["retry-after"] == "1"
    assert answers[-1].json()["error"] == "rate_limited"
    assert service.get("/v1/accounts", holder="broker-2").status_code == 200
    assert service.get("/v2/practice/quotes", base="http://127.0.0.1:50002").status_code == 429
    service.clock.advance(1)
    assert service.get("/v1/accounts").status_code == 200
    stats = service.world.stats
    assert (stats.calls, stats.refused, stats.rate_limited) == (6, 2, 2)
    assert stats.by_credentials == {"broker-secret": 5, "broker-2": 1}
    assert stats.by_status["broker GET /v1/accounts"] == {200: 4, 429: 1}
