"""The tables of a session: its calls, and the tokens that authorized them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

import pandas as pd

from toolkit.core.escaping import printable
from toolkit.core.ledger import Authorization, Call

_INSTANT: Final = "datetime64[us, UTC]"


def calls_table(calls: Sequence[Call], *, first: int = 1) -> pd.DataFrame:
    """Return one row for each call, in the order in which they were sent; the index "call" counts from `first`.

    `Session.calls` describes the columns. They and their types are the same if there are no calls.
    """
    sent = sorted(calls, key=lambda call: call.sent_at)
    columns = {
        "when": _series(_INSTANT, (call.sent_at for call in sent)),
        "interface": _series("str", (str(call.interface) for call in sent)),
        "method": _series("str", (call.method for call in sent)),
        "path": _series("str", (call.path for call in sent)),
        "status": _series("Int64", (call.status for call in sent)),
        "elapsed": _series(
            "float64", (None if call.elapsed is None else round(call.elapsed.total_seconds(), 4) for call in sent)
        ),
        "tries": _series("Int64", (call.tries for call in sent)),
        "token": _series("Int64", (call.authorized_by and call.authorized_by.token for call in sent)),
    }
    return pd.DataFrame(columns).set_index(pd.RangeIndex(first, first + len(sent), name="call"))


def tokens_table(calls: Iterable[Call], now: datetime) -> pd.DataFrame:
    """Return one row for each token that authorized a call; the index "token" holds the numbers of the tokens.

    `Session.tokens` describes the columns. They and their types are the same if there are no tokens.

    Args:
        calls: the calls of a session, in any order.
        now: the instant, with a time zone, at which `remaining` and `state` are taken.
    """
    uses = Counter(call.authorized_by for call in calls if call.authorized_by and call.authorized_by.token is not None)
    tokens = sorted(uses, key=_token_order)
    frame = pd.DataFrame(
        {
            "profile": _series("str", (token.profile for token in tokens)),
            "environment": _series("str", (str(token.environment) for token in tokens)),
            "issued": _series(_INSTANT, (_to_the_second(token.issued_at) for token in tokens)),
            "expires": _series(_INSTANT, (_to_the_second(token.expires_at) for token in tokens)),
            "lifetime": _series("float64", (_seconds(token.issued_at, token.expires_at) for token in tokens)),
            "remaining": _series("float64", (_remaining(token, now) for token in tokens)),
            "state": _series("str", _states(tokens, now)),
            "calls": _series("int64", (uses[token] for token in tokens)),
        }
    )
    return frame.set_index(pd.Index([token.token for token in tokens], dtype="int64", name="token"))


def _series(dtype: str, values: Iterable[Any]) -> pd.Series[Any]:
    # Methods, paths and names may come from a recording, and a table is printed as it is.
    texts = (printable(value) if isinstance(value, str) else value for value in values)
    return pd.Series(list(texts), dtype=dtype)


def _token_order(token: Authorization) -> tuple[Any, ...]:
    instants = (str(token.issued_at), str(token.expires_at))
    return (token.token, str(token.environment), token.profile, *instants, str(token.kind))


def _seconds(start: datetime | None, end: datetime | None) -> float | None:
    return None if start is None or end is None else (end - start).total_seconds()


def _to_the_second(instant: datetime | None) -> datetime | None:
    """Return the instant cut to the second; unlike rounding, that keeps the order and the lifetimes."""
    return instant and instant.replace(microsecond=0)


def _remaining(token: Authorization, now: datetime) -> float | None:
    left = _seconds(now, token.expires_at)
    return None if left is None else float(max(math.ceil(left), 0))


def _states(tokens: Sequence[Authorization], now: datetime) -> Iterator[str]:
    for token in tokens:
        if any(_replaces(other, token) for other in tokens):
            yield "replaced"
        else:
            yield "expired" if token.expires_at is not None and token.expires_at <= now else "valid"


def _replaces(later: Authorization, token: Authorization) -> bool:
    """Return True if `later` has the same credentials, and was issued after `token` and before it expired."""
    if (later.profile, later.environment) != (token.profile, token.environment):
        return False
    if later.issued_at is None or token.issued_at is None or token.expires_at is None:
        return False
    follows = (later.issued_at, later.token or 0) > (token.issued_at, token.token or 0)
    return follows and later.issued_at < token.expires_at
