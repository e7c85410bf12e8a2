from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from toolkit.practice_service.payloads import base_price, price

SYMBOLS = st.text(st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), min_size=1, max_size=6)
FIRST, LAST = (datetime.fromisoformat(f"{year}-01-01") for year in (1960, 2100))
INSTANTS = st.datetimes(FIRST, LAST, timezones=st.just(UTC))


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
