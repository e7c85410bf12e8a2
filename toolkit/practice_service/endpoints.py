"""The endpoints of the interfaces, beside the token endpoint: what each address answers to a caller it knows.

The service document shows two of them, without their payloads. The others stand below `/v1/practice/` and
`/v2/practice/`, where they cannot be taken for endpoints of the document.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from toolkit.core.document import BROKER_ACCOUNTS_PATH, TRADING_ACCOUNT_PATH, Interface
from toolkit.practice_service import payloads
from toolkit.practice_service.accounts import AccountIndex
from toolkit.practice_service.authentication import RequestRefusedError
from toolkit.practice_service.holders import Holder
from toolkit.practice_service.paging import (
    LARGEST_PAGE,
    PAGE_SIZE,
    PAGE_TOKEN,
    PageRefusedError,
    choose_page,
    next_link,
    whole_number,
)

if TYPE_CHECKING:
    from toolkit.core.clock import Clock

_LARGEST_BODY: Final = 1024 * 1024  # bytes
_ORDERS_OF_A_PAGE: Final = 50
_ID: Final = "{account_id}"
_PARAMETERS: Final = frozenset({"status", "limit", "symbols", PAGE_SIZE, PAGE_TOKEN})


@dataclass(frozen=True, slots=True)
class EndpointCall:
    """A call by a known caller.

    Attributes:
        request: the request.
        holder: the caller.
        account_id: the account that the path names, or empty text.
        at: the instant of the answer.
    """

    request: Request
    holder: Holder
    account_id: str
    at: datetime

    @property
    def query(self) -> dict[str, str]:
        """The query parameters by name.

        Raises:
            RequestRefusedError: if a parameter that counts occurs twice.
        """
        if not self.request.scope["query_string"]:
            return {}
        query: dict[str, str] = {}
        for name, value in self.request.query_params.multi_items():
            if name in query and name in _PARAMETERS:
                raise _bad_query(f"{name} must not occur twice.")
            query[name] = value
        return query


_Handler = Callable[[EndpointCall], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A path with its methods.

    Attributes:
        path: the path; `{account_id}` stands for any account.
        handlers: the handlers by method.
    """

    path: str
    handlers: Mapping[str, _Handler]

    @property
    def methods(self) -> list[str]:
        """The methods that the path takes."""
        return [*self.handlers, "HEAD"] if "GET" in self.handlers else [*self.handlers]


class Endpoints:
    """All endpoints of the interfaces.

    Args:
        accounts: number of accounts of each correspondent.
        clock: the time of the service.
    """

    def __init__(self, accounts: int, clock: Clock) -> None:
        self._accounts = AccountIndex(accounts)
        self._clock = clock
        paths: dict[Interface, dict[str, dict[str, _Handler]]] = {
            Interface.TRADING: {
                TRADING_ACCOUNT_PATH: {"GET": self._account},
                "/v2/practice/orders": {"POST": self._order},
            },
            Interface.MARKET_DATA: {"/v2/practice/quotes": {"GET": self._quotes}},
            Interface.BROKER: {
                BROKER_ACCOUNTS_PATH: {"GET": self._account_list},
                f"/v1/practice/accounts/{_ID}/positions": {"GET": self._positions},
                f"/v1/practice/accounts/{_ID}/orders": {"GET": self._past_orders},
                "/v1/practice/orders": {"POST": self._order},
            },
        }
        self._endpoints = {
            interface: {path: Endpoint(path, handlers) for path, handlers in of_interface.items()}
            for interface, of_interface in paths.items()
        }

    def find(self, interface: Interface, path: str) -> tuple[Endpoint | None, str]:
        """Return the endpoint of a path, or None, and the account that the path names."""
        endpoints = self._endpoints[interface]
        endpoint = endpoints.get(path)
        if endpoint is not None:
            return endpoint, ""
        parts = path.split("/")
        if len(parts) < 3:
            return None, ""
        account_id, parts[-2] = parts[-2], _ID
        return endpoints.get("/".join(parts)), account_id

    async def answer(self, request: Request, interface: Interface, holder: Holder) -> Response:
        """Return the response to a holder's request.

        Raises:
            RequestRefusedError: if the path, method or account does not exist, or the request is malformed.
        """
        endpoint, account_id = self.find(interface, request.scope["path"])
        if endpoint is None:
            known = ", ".join(
                f"{method} {path}" for path, other in self._endpoints[interface].items() for method in other.handlers
            )
            raise RequestRefusedError(404, "not_found", f"This path does not exist. This address has {known}.")
        handler = endpoint.handlers.get(method_of(request))
        if handler is None:
            raise not_allowed(endpoint.methods)
        try:
            return await handler(EndpointCall(request, holder, account_id, self._clock.now()))
        except PageRefusedError as error:
            raise _bad_query(str(error)) from None

    async def _account(self, call: EndpointCall) -> Response:
        return JSONResponse(payloads.account(call.holder.name, 0, call.at))

    async def _account_list(self, call: EndpointCall) -> Response:
        query, holder = call.query, call.holder.name
        status, limit = query.get("status"), None
        if status is not None and status not in payloads.STATUSES:
            raise _bad_query(f"status must be one of {', '.join(payloads.STATUSES)}.")
        if "limit" in query:
            limit = whole_number(query["limit"])
            if not limit:
                raise _bad_query("limit must be a positive whole number.")
        numbers = self._accounts.numbers(holder, status)[:limit]
        name = f"{holder}/accounts/{status}/{limit}"
        page = choose_page(query, name, len(numbers), default_size=LARGEST_PAGE)
        accounts = [payloads.account(holder, number, call.at) for number in numbers[page.start : page.end]]
        headers = {}
        if page.next_token is not None:
            request = call.request
            url = f"http://{request.headers['host']}{request.scope['path']}"
            headers["Link"] = next_link(url, request.scope["query_string"], page.next_token)
        return JSONResponse(accounts, headers=headers)

    async def _positions(self, call: EndpointCall) -> Response:
        return JSONResponse(payloads.positions(call.holder.name, self._number(call), call.at))

    async def _past_orders(self, call: EndpointCall) -> Response:
        number, holder = self._number(call), call.holder.name
        length = payloads.order_count(holder, number)
        page = choose_page(call.query, f"{holder}/{number}/orders", length, default_size=_ORDERS_OF_A_PAGE)
        orders = [payloads.past_order(holder, number, place) for place in range(page.start, page.end)]
        return JSONResponse({"orders": orders, "next_page_token": page.next_token, "made_up": True})

    def _number(self, call: EndpointCall) -> int:
        number = self._accounts.number_of(call.holder.name, call.account_id)
        if number is None:
            raise RequestRefusedError(404, "not_found", "These credentials do not have this account.")
        return number

    async def _quotes(self, call: EndpointCall) -> Response:
        text = call.query.get("symbols")
        symbols = payloads.SYMBOLS if text is None else tuple(text.split(","))
        if len(symbols) > payloads.MOST_SYMBOLS or not all(payloads.SYMBOL.match(symbol) for symbol in symbols):
            raise _bad_query(
                f"symbols must be up to {payloads.MOST_SYMBOLS} of one to six capital letters, with commas."
            )
        return JSONResponse(payloads.quotes(symbols, call.at))

    async def _order(self, call: EndpointCall) -> Response:
        request = call.request
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise RequestRefusedError(415, "unsupported_media_type", "An order must be sent as application/json.")
        body = await read_body(request, _LARGEST_BODY)
        try:
            fields = json.loads(body)
        except (ValueError, RecursionError):
            raise RequestRefusedError(400, "malformed", "The body is not JSON.") from None
        try:
            order = payloads.order(call.holder.name, fields, call.at)
        except ValueError as error:
            raise RequestRefusedError(422, "invalid_order", str(error)) from None
        return JSONResponse(order, status_code=201)


async def read_body(request: Request, limit: int) -> bytes:
    """Return the body of a request.

    Raises:
        RequestRefusedError: with 413 if it has more than `limit` bytes.
    """
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise RequestRefusedError(
                413, "too_large", f"The body has more than {limit} bytes.", [("Connection", "close")]
            )
    return bytes(body)


def method_of(request: Request) -> str:
    """Return the method, with GET for HEAD (RFC 9110 section 9.3.2); the server leaves out the body."""
    return "GET" if request.method == "HEAD" else request.method


def not_allowed(methods: list[str]) -> RequestRefusedError:
    """Return the refusal of a method, which names those that the path takes."""
    allow = ", ".join(methods)
    return RequestRefusedError(405, "method_not_allowed", f"This path takes {allow}.", [("Allow", allow)])


def _bad_query(message: str) -> RequestRefusedError:
    return RequestRefusedError(400, "bad_query", message)
