"""The endpoints of the interfaces, beside the token endpoint: what each address answers to a caller it knows.

The service document shows two of them, without their payloads. The others stand below `/v1/practice/` and
`/v2/practice/`, where they cannot be taken for endpoints of the document. Pages of lists are the practice service's
own as well: a page token says where its page begins, and belongs to one list of one holder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, Route

from toolkit.core.document import BROKER_ACCOUNTS_PATH, TRADING_ACCOUNT_PATH, Interface
from toolkit.practice_service import payloads
from toolkit.practice_service.authentication import RequestRefusedError

if TYPE_CHECKING:
    from toolkit.core.ledger import Clock

_LARGEST_BODY: Final = 1024 * 1024  # bytes
_LARGEST_PAGE: Final = 100
_ORDERS_OF_A_PAGE: Final = 50
_MOST_SYMBOLS: Final = 50
_MOST_DAYS: Final = 366


class Endpoints:
    """All endpoints of the interfaces. A request's `state.holder` is the name of its caller.

    Args:
        accounts: number of accounts of each correspondent.
        clock: the time of the service.
    """

    def __init__(self, accounts: int, clock: Clock) -> None:
        self._accounts = range(accounts)
        self._clock = clock
        self._numbers_by_id = cache(self._index)
        of_account = "/v1/practice/accounts/{account_id}"
        self._routes = {
            Interface.TRADING: [
                Route(TRADING_ACCOUNT_PATH, self._account),
                Route("/v2/practice/orders", self._order, methods=["POST"]),
            ],
            Interface.MARKET_DATA: [
                Route("/v2/practice/quotes", self._quotes),
                Route("/v2/practice/bars", self._bars),
            ],
            Interface.BROKER: [
                Route(BROKER_ACCOUNTS_PATH, self._account_list),
                Route(of_account, self._one_account),
                Route(f"{of_account}/positions", self._positions),
                Route(f"{of_account}/orders", self._past_orders),
                Route("/v1/practice/orders", self._order, methods=["POST"]),
            ],
            Interface.AUTH: [],
        }

    def path_of(self, interface: Interface, request: Request) -> str | None:
        """Return the path of a request as its route writes it, or None if nothing takes the request."""
        route, match = self._find(interface, request)
        return route.path if route is not None and match is Match.FULL else None

    async def answer(self, request: Request, interface: Interface) -> Response:
        """Return the response to a holder's request.

        Raises:
            RequestRefusedError: if the path, method or account does not exist, or the request is malformed.
        """
        route, match = self._find(interface, request)
        if route is None:
            known = ", ".join(route.path for route in self._routes[interface])
            raise RequestRefusedError(404, "not_found", f"This path does not exist. This address has {known}.")
        if match is Match.PARTIAL:
            raise not_allowed(route.methods or ())
        response: Response = await route.endpoint(request)
        return response

    def _find(self, interface: Interface, request: Request) -> tuple[Route | None, Match]:
        for route in self._routes[interface]:
            match, found = route.matches(request.scope)
            if match is not Match.NONE:
                request.scope.update(found)
                return route, match
        return None, Match.NONE

    async def _account(self, request: Request) -> Response:
        return JSONResponse(payloads.account(request.state.holder, 0, self._clock.now()))

    async def _account_list(self, request: Request) -> Response:
        query, holder, now = _query(request), request.state.holder, self._clock.now()
        status = query.get("status")
        if status is not None and status not in payloads.STATUSES:
            raise _bad_query(f"status must be one of {', '.join(payloads.STATUSES)}.")
        limit = _number(query, "limit", default=len(self._accounts) or 1)
        numbers: Sequence[int] = self._accounts
        if status is not None:
            numbers = [number for number in numbers if payloads.account_status(holder, number) == status]
        name = f"{holder}/accounts/{status}/{limit}"
        page, next_token = _page(query, name, numbers[:limit], size=_LARGEST_PAGE)
        headers = {}
        if next_token is not None:
            url = request.url.include_query_params(page_token=next_token)
            headers["Link"] = f'<{url}>; rel="next"'
        return JSONResponse([payloads.account(holder, number, now) for number in page], headers=headers)

    async def _one_account(self, request: Request) -> Response:
        return JSONResponse(payloads.account(request.state.holder, self._number_of(request), self._clock.now()))

    async def _positions(self, request: Request) -> Response:
        holder, number = request.state.holder, self._number_of(request)
        return JSONResponse(payloads.positions(holder, number, self._clock.now()))

    async def _past_orders(self, request: Request) -> Response:
        holder, number = request.state.holder, self._number_of(request)
        places = range(payloads.order_count(holder, number))
        page, next_token = _page(_query(request), f"{holder}/{number}/orders", places, size=_ORDERS_OF_A_PAGE)
        orders = [payloads.past_order(holder, number, place) for place in page]
        return JSONResponse({"orders": orders, "next_page_token": next_token, "made_up": True})

    async def _quotes(self, request: Request) -> Response:
        return JSONResponse(payloads.quotes(_symbols(_query(request)), self._clock.now()))

    async def _bars(self, request: Request) -> Response:
        query = _query(request)
        days = _number(query, "days", default=30, most=_MOST_DAYS)
        return JSONResponse(payloads.bars(_symbols(query), days, self._clock.now()))

    async def _order(self, request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise RequestRefusedError(415, "unsupported_media_type", "An order must be sent as application/json.")
        try:
            fields = json.loads(await read_body(request, _LARGEST_BODY))
        except (ValueError, RecursionError):
            raise RequestRefusedError(400, "malformed", "The body is not JSON.") from None
        try:
            order = payloads.order(request.state.holder, fields, self._clock.now())
        except ValueError as error:
            raise RequestRefusedError(422, "invalid_order", str(error)) from None
        return JSONResponse(order, status_code=201)

    def _number_of(self, request: Request) -> int:
        number = self._numbers_by_id(request.state.holder).get(request.path_params["account_id"])
        if number is None:
            raise RequestRefusedError(404, "not_found", "These credentials do not have this account.")
        return number

    def _index(self, holder: str) -> Mapping[str, int]:
        return {payloads.account_id(holder, number): number for number in self._accounts}


async def read_body(request: Request, limit: int) -> bytes:
    """Return the body of a request.

    Raises:
        RequestRefusedError: with 413 if it has more than `limit` bytes.
    """
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            message = f"The body has more than {limit} bytes."
            raise RequestRefusedError(413, "too_large", message, ("Connection", "close"))
    return bytes(body)


def not_allowed(methods: Collection[str]) -> RequestRefusedError:
    """Return the refusal of a method, which names those that the path takes."""
    allow = ", ".join(sorted(methods))
    return RequestRefusedError(405, "method_not_allowed", f"This path takes {allow}.", ("Allow", allow))


def _query(request: Request) -> dict[str, str]:
    pairs = request.query_params.multi_items()
    if len(dict(pairs)) != len(pairs):
        raise _bad_query("A query parameter must not occur twice.")
    return dict(pairs)


def _symbols(query: Mapping[str, str]) -> Sequence[str]:
    text = query.get("symbols")
    symbols = payloads.SYMBOLS if text is None else tuple(text.split(","))
    if len(symbols) > _MOST_SYMBOLS or not all(map(payloads.SYMBOL.match, symbols)):
        raise _bad_query(f"symbols must be up to {_MOST_SYMBOLS} of one to six capital letters, with commas.")
    return symbols


def _number(query: Mapping[str, str], name: str, *, default: int, most: int = 10**9) -> int:
    """Return a positive number of a query."""
    text = query.get(name, str(default))
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else 0
    if not 0 < number <= most:
        raise _bad_query(f"{name} must be a whole number from 1 to {most}.")
    return number


def _page(query: Mapping[str, str], name: str, items: Sequence[int], *, size: int) -> tuple[Sequence[int], str | None]:
    """Return the part of a list that a query asks for, and the page token of the next part, or None at the end.

    Args:
        query: the query; `page_size` (1 to 100) and `page_token` count.
        name: what the page tokens belong to: the list with its holder and filters.
        items: the list.
        size: number of items of a page without `page_size`.
    """
    size = _number(query, "page_size", default=size, most=_LARGEST_PAGE)
    tokens = {_token(start, name): start for start in range(size, len(items), size)}
    start = 0
    if "page_token" in query:
        start = tokens.get(query["page_token"], 0)
        if not start:
            raise _bad_query("page_token is not a page token of this list.")
    return items[start : start + size], next((token for token, at in tokens.items() if at == start + size), None)


def _token(place: int, name: str) -> str:
    return f"{place}-{hashlib.sha256(f'{place}/{name}'.encode()).hexdigest()[:10]}"


def _bad_query(message: str) -> RequestRefusedError:
    return RequestRefusedError(400, "bad_query", message)
