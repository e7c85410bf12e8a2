"""A local server for practice, which implements the service's side of the service document.

Everything it serves is made up. The server needs starlette and uvicorn, which the `practice` extra installs.

1. `service` is the part that users call: it starts the server, injects faults and counts requests. uvicorn serves eight
   loopback ports, one for each address, in a thread.
2. `app`: the ASGI application looks up the address by port, counts the request, applies a fault, and answers. It has
   the routes of each interface (add a new interface or call there).
3. `authentication` identifies the caller of each token request or other call, and creates the credentials and tokens.
4. `payloads` makes up the responses, with prices that depend only on the time and are the same in every run.
"""

from __future__ import annotations

from toolkit.core.ledger import Clock, as_clock
from toolkit.practice_service.service import PracticeService, World


def practice(
    *,
    accounts: int = 25,
    token_validity: float = 900,
    delay: float = 0.0,
    token_delay: float = 0.0,
    rate_limit: float | None = None,
    port: int = 0,
    clock: Clock | None = None,
) -> PracticeService:
    """Return a practice service. Use it in a `with` statement, or call `start()`.

    It is a local server. The accounts it serves are made up and marked as such. Besides the token endpoint and
    `GET /v2/account` (trading) from the service document, it serves these calls. The ones with `practice` in their path
    are not in the document:

    - `GET /v1/accounts` (broker): a list of the partner's accounts, in one response for up to 100 of them. If there are
      more, or if `page_size=` (1 to 100) is given, the list is split into pages; a `Link` header with `rel="next"`
      points to the next page. `status=` filters the list, and `limit=` shortens it.
    - `GET /v1/practice/accounts/{account_id}` (broker): one of these accounts.
    - `GET /v1/practice/accounts/{account_id}/positions` (broker): a list of the account's positions.
    - `GET /v1/practice/accounts/{account_id}/orders` (broker): `orders`, newest first, and `next_page_token`, which
      is the `page_token=` of the next page, or null on the last; `page_size=` is 50 by default.
    - `GET /v2/practice/quotes?symbols=ALFA,BRVO` (market data).
    - `GET /v2/practice/bars?symbols=ALFA,BRVO&days=30` (market data): `bars` has a list for each symbol, with `day`,
      `open` and `close`, oldest day first.
    - `POST /v1/practice/orders` (broker) or `/v2/practice/orders` (trading) with `symbol`, `side` and `quantity`.

    Prices, and therefore market values and equity, change with the service's clock, so two recordings differ. At the
    same instant, every run of the service gives the same responses.

    `service.stats` counts requests: `by_credentials` by caller, and `by_status` by path and status.
    `service.faults.inject("interfaces", 503, retry_after=2)` makes the next call fail, and `service.revoke_tokens()`
    revokes all tokens.

    Args:
        accounts: number of accounts per broker partner, from 0 to 100,000.
        token_validity: seconds for which a token is accepted, from 2 to 86,400; by default the document's 15 minutes.
            Short values show what happens when tokens expire. `expires_in` is one second less.
        delay: seconds to wait before every response.
        token_delay: additional seconds to wait before a response from the token endpoints.
        rate_limit: calls per second for each account holder or partner, from 0.01 to 1,000,000, or None for no limit. A
            second's worth of calls may be made at once. Further calls get 429 and `Retry-After` in seconds.
        port: first of eight consecutive ports, or 0 for any free ports.
        clock: the service's clock; defaults to the system clock.

    Raises:
        ConfigurationError: if a value is out of range; its `about` names the argument.
    """
    return PracticeService(World(as_clock(clock), accounts, token_validity, delay, token_delay, rate_limit), port)


__all__ = ["PracticeService", "practice"]
