"""Payloads of the practice service. The service document shows none of these, so each contains `"made_up": true`.

The same arguments give the same payload in every run; payloads do not depend on random numbers or addresses. The
instant for which prices, market values and equity are computed is an argument. Amounts, prices and quantities are
decimal strings; instants are RFC 3339 strings in UTC. A symbol's price is its base price plus three waves, whose
turning points come from a digest; only integers are used, so that prices are the same on every machine.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

STATUSES: Final = ("open", "restricted", "closed")
SYMBOLS: Final = ("ALFA", "BRVO", "CHRL", "DLTA", "ECHO", "FXTR", "GOLF", "HOTL")
SIDES: Final = ("buy", "sell")
_FIRST_OPENED: Final = datetime(2019, 1, 2, 14, 30, tzinfo=UTC)
_LAST_ORDER: Final = datetime(2026, 1, 2, 15, 30, tzinfo=UTC)
_BETWEEN_ORDERS: Final = timedelta(hours=31)
_MOST_ORDERS: Final = 220
_CENT: Final = Decimal("0.01")
_POSITION_OF_ACCOUNT: Final = ("symbol", "quantity", "average_price", "market_value")
_CITIES: Final = (("Lisbon", "PT"), ("Osaka", "JP"), ("Montréal", "CA"), ("Boston", "US"), ("Kraków", "PL"))
# For each wave: its half-period in seconds, and its amplitude in millionths of the base.
_WAVES: Final = ((86_400, 60_000), (3_600, 12_000), (60, 2_000))
_MILLION: Final = 1_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def account(holder: str, number: int, at: datetime) -> dict[str, Any]:
    """Return account `number` (from 0) of a holder, as of an instant.

    `equity` is the sum of `cash` and the market values of `positions`; a closed account has no cash and no positions.
    """

    def pick(field: str, upper: int) -> int:
        return _draw(f"{holder}/{number}/{field}", upper)

    status = account_status(holder, number)
    owned = positions(holder, number, at)
    cash = Decimal(0) if status == "closed" else Decimal(pick("cash", 25_000_000)) / 100
    equity = cash + sum((Decimal(position["market_value"]) for position in owned), Decimal(0))
    margin = pick("margin", 3) == 0
    city, country = _CITIES[pick("city", len(_CITIES))]
    first_digit = 0 if number % 4 == 0 else 1 + pick("digit", 9)
    opened = _FIRST_OPENED + timedelta(seconds=pick("opened", 200_000_000))
    if number % 3 == 0:
        opened += timedelta(microseconds=1 + pick("fraction", 999_999))
    return {
        "id": account_id(holder, number),
        "account_number": f"{first_digit}{_draw(f'{holder}/branch', 100):02d}{number:06d}",
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
        "positions": [{name: position[name] for name in _POSITION_OF_ACCOUNT} for position in owned],
        "made_up": True,
    }


def account_id(holder: str, number: int) -> str:
    """Return the UUID of a holder's account `number`, counted from 0."""
    return _identifier(f"{holder}/{number}")


def account_status(holder: str, number: int) -> str:
    """Return the status of account `number` (from 0) of a holder, one of `STATUSES`."""
    return STATUSES[(0, 0, 0, 0, 1, 0, 0, 2)[(number + _draw(f"{holder}/{number}/status", 2)) % 8]]


def positions(holder: str, number: int, at: datetime) -> list[dict[str, Any]]:
    """Return the positions, at most three, of account `number` (from 0) of a holder, valued at an instant."""
    if account_status(holder, number) == "closed":
        return []
    found, start = [], _draw(f"{holder}/{number}/first", len(SYMBOLS))
    for step in range(_draw(f"{holder}/{number}/positions", 4)):
        symbol = SYMBOLS[(start + step) % len(SYMBOLS)]
        quantity = Decimal(1 + _draw(f"{holder}/{number}/{symbol}", 4_000)) / 4
        paid = base_price(symbol) * (80 + _draw(f"{holder}/{number}/{symbol}/paid", 40)) / 100
        position = {
            "symbol": symbol,
            "quantity": str(quantity),
            "average_price": _money(paid),
            "price": _money(price(symbol, at)),
            "market_value": _money(quantity * price(symbol, at)),
            "as_of": _instant(at, "milliseconds"),
            "made_up": True,
        }
        found.append(position)
    return found


def order_count(holder: str, number: int) -> int:
    """Return the number of orders in the history of account `number` (from 0) of a holder."""
    return _draw(f"{holder}/{number}/orders", _MOST_ORDERS)


def past_order(holder: str, number: int, place: int) -> dict[str, Any]:
    """Return the order at an index (from 0, the newest) in the history of account `number` of a holder.

    The history ends in January 2026 and does not change.
    """
    label = f"{holder}/{number}/order/{place}"
    submitted = _LAST_ORDER - place * _BETWEEN_ORDERS - timedelta(seconds=_draw(f"{label}/at", 80_000))
    symbol = SYMBOLS[_draw(f"{label}/symbol", len(SYMBOLS))]
    filled = _draw(f"{label}/filled", 6) > 0
    return {
        "id": _identifier(label),
        "symbol": symbol,
        "side": SIDES[_draw(f"{label}/side", 2)],
        "quantity": str(Decimal(1 + _draw(f"{label}/quantity", 400)) / 4),
        "status": "filled" if filled else "canceled",
        "price": _money(price(symbol, submitted)),
        "submitted_at": _instant(submitted),
        "filled_at": _instant(submitted + timedelta(milliseconds=_draw(f"{label}/wait", 5_000))) if filled else None,
    }


def quotes(symbols: Sequence[str], at: datetime) -> dict[str, Any]:
    """Return a quote for each symbol, in the given order and as of an instant."""
    found = []
    for symbol in symbols:
        middle, spread = price(symbol, at), (1 + _draw(f"{symbol}/spread", 9)) * _CENT
        found.append(
            {
                "symbol": symbol,
                "bid": _money(middle - spread),
                "ask": _money(middle + spread),
                "at": _instant(at, "milliseconds"),
            }
        )
    return {"quotes": found, "made_up": True}


def bars(symbols: Sequence[str], days: int, at: datetime) -> dict[str, Any]:
    """Return each symbol's opening and closing prices for the most recent days; the last day ends at the instant."""
    midnight = at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    by_symbol: dict[str, list[dict[str, str]]] = {symbol: [] for symbol in symbols}
    for number in reversed(range(days)):
        morning = midnight - timedelta(days=number)
        evening = min(morning + timedelta(days=1, seconds=-1), at)
        for symbol, of_days in by_symbol.items():
            opening, close = _money(price(symbol, morning)), _money(price(symbol, evening))
            of_days.append({"day": morning.date().isoformat(), "open": opening, "close": close})
    return {"bars": by_symbol, "made_up": True}


def order(holder: str, fields: Mapping[str, Any], at: datetime) -> dict[str, Any]:
    """Return the order accepted at an instant for a holder's JSON body, which has symbol, side and quantity."""
    symbol, side, quantity = (str(fields[name]) for name in ("symbol", "side", "quantity"))
    return {
        "id": _identifier(f"{holder}/order/{symbol}/{side}/{quantity}"),
        "symbol": symbol,
        "side": side,
        "quantity": quantity,
        "status": "accepted",
        "price": _money(price(symbol, at)),
        "submitted_at": _instant(at, "milliseconds"),
        "made_up": True,
    }


def price(symbol: str, at: datetime) -> Decimal:
    """Return a symbol's price at a timezone-aware time, rounded to cents, within 8 % of its base price."""
    second = (at - _EPOCH) // timedelta(seconds=1)
    cents = int(base_price(symbol).scaleb(2))
    millionths = _MILLION + sum(_wave(symbol, second, period, furthest) for period, furthest in _WAVES)
    return Decimal((cents * millionths + _MILLION // 2) // _MILLION).scaleb(-2)


def base_price(symbol: str) -> Decimal:
    """Return the price around which a symbol moves, from 5.00 to 505.00."""
    return Decimal(500 + _draw(f"{symbol}/price", 50_000)).scaleb(-2)


def _wave(symbol: str, second: int, period: int, furthest: int) -> int:
    """Return a wave's deviation from the base price, in millionths of the base price."""
    turn, passed = divmod(second, period)
    start, end = (_draw(f"{symbol}/{period}/{turn + step}", 2 * furthest + 1) - furthest for step in (0, 1))
    # The smoothstep function 3x² - 2x³ for x = passed / period.
    return start + (end - start) * passed * passed * (3 * period - 2 * passed) // period**3


def _identifier(label: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"service-access-toolkit/practice/{label}"))


def _draw(label: str, upper: int) -> int:
    """Return a number from 0 to `upper` (exclusive), derived from a digest and so the same in every Python version."""
    return int.from_bytes(hashlib.sha256(label.encode()).digest()[:8], "big") % upper


def _money(amount: Decimal) -> str:
    return str(amount.quantize(_CENT))


def _instant(instant: datetime, precision: str = "auto") -> str:
    return instant.isoformat(timespec=precision).replace("+00:00", "Z")
