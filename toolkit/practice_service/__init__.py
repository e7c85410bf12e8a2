"""A local server to practise with, which implements the other side of the service document.

Everything it serves is made up. It needs starlette and uvicorn, from an extra, when a service starts.

1. `service` is what users see, with faults to inject and counts to read. uvicorn serves eight loopback ports, one for
   each address, in a thread.
2. `app`: the ASGI application finds the address by the port, counts the request, applies a fault, and answers. It has
   the routes of each interface (add a new interface or call there).
3. `authentication` determines who makes a token request or any other call. It makes the credentials and tokens.
4. `payloads` makes up the responses, with prices that move with the clock: the same in every run at the same instant.
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
    """Return a practice service for a `with` statement, or to start with `start()`.

    It is a local server. Everything it serves is made up, and says so. In addition to the two calls that the service
    document shows, it has its own:

    - `GET /v1/accounts` (broker): a list of the partner's accounts, in one response for up to 100 of them. If there are
      more, or with `page_size=` (1 to 100), the list comes in pages; a `Link` header with `rel="next"` leads from one
      to the next. `status=` filters the list, `limit=` shortens it.
    - `GET /v1/practice/accounts/{account_id}` (broker): one of these accounts.
    - `GET /v1/practice/accounts/{account_id}/positions` (broker): a list of what the account holds, possibly empty.
    - `GET /v1/practice/accounts/{account_id}/orders` (broker): `orders`, the newest first, with `next_page_token` for
      `page_token=` or null; `page_size=` is 50 by default.
    - `GET /v2/practice/quotes?symbols=ALFA,BRVO` (market data).
    - `GET /v2/practice/bars?symbols=ALFA,BRVO&days=30` (market data): under `bars`, for each symbol a list of `day`,
      `open` and `close`, the oldest day first.
    - `POST /v1/practice/orders` (broker) or `/v2/practice/orders` (trading) with `symbol`, `side` and `quantity`.

    Prices move with the clock of the service, and market values and equity with them, so two recordings differ. At the
    same instant, every run of the service gives the same responses.

    `service.stats` counts requests, by who made them in `by_credentials`, and by path and status in `by_status`.
    `service.faults.inject("interfaces", 503, retry_after=2)` makes the next call fail, `service.revoke_tokens()`
    revokes all tokens.

    Args:
        accounts: number of accounts of each broker partner, from 0 to 100,000.
        token_validity: seconds for which a token is accepted, from 2 to 86,400; by default the document's 15 minutes.
            Short values show what happens when tokens expire. `expires_in` is one second less.
        delay: seconds to wait before every response.
        token_delay: further seconds to wait before a response of the token endpoints.
        rate_limit: calls per second for each account holder or partner, from 0.01 to 1,000,000, or None for no limit.
            The calls of a second may come at once. Further calls are answered with 429 and `Retry-After` in seconds.
        port: first of eight consecutive ports, or 0 for any free ports.
        clock: the time of the service; by default the system's clock.

    Raises:
        ConfigurationError: if a value is out of range; `about` is the argument.
    """
    return PracticeService(World(as_clock(clock), accounts, token_validity, delay, token_delay, rate_limit), port)


__all__ = ["PracticeService", "practice"]
