"""Payloads of the practice service. The service document does not show any, so each says `"made_up": true`.

The same arguments give the same payload in every run, without clock, randomness or addresses. Amounts, prices and
quantities are decimal text; instants are RFC 3339 text in UTC.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

STATUSES: Final = ("open", "restricted", "closed")
SYMBOLS: Final = ("ALFA", "BRVO", "CHRL", "DLTA", "ECHO", "FXTR", "GOLF", "HOTL")
MOST_SYMBOLS: Final = 50
SYMBOL: Final = re.compile(r"[A-Z]{1,6}\Z")
SIDES: Final = ("buy", "sell")
_QUANTITY: Final = re.compile(r"(?=.*[1-9])[0-9]{1,9}(\.[0-9]{1,6})?\Z", re.ASCII)
_ORDER_FIELDS: Final = frozenset({"symbol", "side", "quantity"})
_FIRST_OPENED: Final = datetime(2019, 1, 2, 14, 30, tzinfo=UTC)
_AS_OF: Final = datetime(2026, 1, 2, 15, 30, tzinfo=UTC)
_CENT: Final = Decimal("0.01")
_CITIES: Final = (("Lisbon", "PT"), ("Osaka", "JP"), ("Montréal", "CA"), ("Boston", "US"), ("Kraków", "PL"))


def account(holder: str, number: int) -> dict[str, Any]:
    """Return account `number` (from 0) of a holder.

    `equity` is the sum of `cash` and the market values of `positions`; a closed account has neither.
    """

    def pick(field: str, upper: int) -> int:
        return _number(f"{holder}/{number}/{field}", upper)

    status = STATUSES[(0, 0, 0, 0, 1, 0, 0, 2)[(number + pick("status", 2)) % 8]]
    positions = [] if status == "closed" else _positions(holder, number)
    cash = Decimal(0) if status == "closed" else Decimal(pick("cash", 25_000_000)) / 100
    equity = cash + sum((Decimal(position["market_value"]) for position in positions), Decimal(0))
    margin = pick("margin", 3) == 0
    city, country = _CITIES[pick("city", len(_CITIES))]
    opened = _FIRST_OPENED + timedelta(seconds=pick("opened", 200_000_000))
    if number % 3 == 0:
        opened += timedelta(microseconds=1 + pick("fraction", 999_999))
    return {
        "id": str(_identifier(f"{holder}/{number}")),
        "account_number": _account_number(holder, number),
        "status": status,
        "currency": "EUR" if pick("currency", 4) == 0 else "USD",
        "created_at": _instant(opened),
        "cash": _money(cash),
        "equity": _money(equity),
        "buying_power": _money(equity * 2 if margin else cash),
        "margin": margin,
        "trades_last_week": pick("trades", 40) if status == "open" else 0,
        "closed_on": "2025-12-31" if status == "closed" else None,
        "contact": {"city": city, "country": country},
        "positions": positions,
        "made_up": True,
    }


def quotes(symbols: Sequence[str]) -> dict[str, Any]:
    """Return a quote for each symbol, in this order."""
    return {"quotes": [_quote(symbol) for symbol in symbols], "made_up": True}


def order(holder: str, fields: Any) -> dict[str, Any]:
    """Return the accepted order for the JSON body of a holder.

    Raises:
        ValueError: if it is not an object of valid `symbol`, `side` and `quantity`; names the field, not its value.
    """
    if not isinstance(fields, Mapping) or set(fields) != _ORDER_FIELDS:
        raise ValueError("An order must be a JSON object with the fields symbol, side and quantity.")
    symbol, side, quantity = fields["symbol"], fields["side"], fields["quantity"]
    if not isinstance(symbol, str) or not SYMBOL.match(symbol):
        raise ValueError("symbol must be one to six capital letters.")
    if not isinstance(side, str) or side not in SIDES:
        raise ValueError("side must be buy or sell.")
    if isinstance(quantity, int) and not isinstance(quantity, bool) and 0 < quantity < 10**9:
        quantity = str(quantity)
    if not isinstance(quantity, str) or not _QUANTITY.match(quantity):
        raise ValueError("quantity must be a positive whole number, or decimal text such as 1.5.")
    return {
        "id": str(_identifier(f"{holder}/order/{symbol}/{side}/{quantity}")),
        "symbol": symbol,
        "side": side,
        "quantity": quantity,
        "status": "accepted",
        "price": _money(_price(symbol)),
        "submitted_at": _instant(_AS_OF),
        "made_up": True,
    }


def _positions(holder: str, number: int) -> list[dict[str, Any]]:
    count = _number(f"{holder}/{number}/positions", 4)
    start = _number(f"{holder}/{number}/first", len(SYMBOLS))
    return [_position(holder, number, SYMBOLS[(start + step) % len(SYMBOLS)]) for step in range(count)]


def _position(holder: str, number: int, symbol: str) -> dict[str, Any]:
    quantity = Decimal(1 + _number(f"{holder}/{number}/{symbol}", 4_000)) / 4
    paid = _price(symbol) * (80 + _number(f"{holder}/{number}/{symbol}/paid", 40)) / 100
    return {
        "symbol": symbol,
        "quantity": str(quantity),
        "average_price": _money(paid),
        "market_value": _money(quantity * _price(symbol)),
    }


def _quote(symbol: str) -> dict[str, Any]:
    price, spread = _price(symbol), (1 + _number(f"{symbol}/spread", 9)) * _CENT
    at = _AS_OF + timedelta(milliseconds=_number(f"{symbol}/at", 60_000))
    return {"symbol": symbol, "bid": _money(price - spread), "ask": _money(price + spread), "at": _instant(at)}


def _price(symbol: str) -> Decimal:
    return Decimal(500 + _number(f"{symbol}/price", 50_000)) / 100


def _account_number(holder: str, number: int) -> str:
    """Return nine digits or more, unique for the holder; every fourth number has a leading zero."""
    first = 0 if number % 4 == 0 else 1 + _number(f"{holder}/{number}/digit", 9)
    return f"{first}{_number(f'{holder}/branch', 100):02d}{number:06d}"


def _identifier(label: str) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_OID, f"service-access-toolkit/practice/{label}")


def _number(label: str, upper: int) -> int:
    """Return a number from 0 to `upper` (exclusive), taken from a digest and so the same in every Python version."""
    return int.from_bytes(hashlib.sha256(label.encode()).digest()[:8], "big") % upper


def _money(amount: Decimal) -> str:
    return str(amount.quantize(_CENT))


def _instant(instant: datetime) -> str:
    return instant.isoformat().replace("+00:00", "Z")
