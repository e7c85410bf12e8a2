"""The practice service as an ASGI application: one Starlette application per interface, with delays and faults.

The port identifies the address that a request was sent to. The service document shows three endpoints, and the payload
of one of them. All other endpoints are under `/v1/practice/` and `/v2/practice/`, so that they are not mistaken for the
document's. Paging is not in the document either. A page token is valid only for one list of one holder.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from email.utils import format_datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Match, Route

from toolkit.core.document import BROKER_ACCOUNTS_PATH, TOKEN_PATH, TRADING_ACCOUNT_PATH, Environment, Interface
from toolkit.practice_service import payloads
from toolkit.practice_service.authentication import RequestRefusedError

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

    from toolkit.practice_service.service import Fault, World

_NO_STORE: Final = {"Cache-Control": "no-store", "Pragma": "no-cache"}  # RFC 6749 section 5.1
_FORM_TYPE: Final = "application/x-www-form-urlencoded"
_LARGEST_PAGE: Final = 100
_ORDERS_OF_A_PAGE: Final = 50
_MOST_DAYS: Final = 366
_ROUNDING: Final = 1e-6  # seconds; sums of fractions are not exact
# Makes up the payload for a holder's request at a point in time.
_Payload = Callable[[Request, str, datetime], Any]
_PAGE: Final = "<!DOCTYPE html>\n<title>Fault</title>\n<h1>A fault on purpose</h1>\n"
# The interface of each address.
_INTERFACES: Final[Mapping[str, Interface]] = {
    name: interface for environment in Environment for interface, name in environment.rules.addresses.items()
}


class PracticeApp:
    """The ASGI application; `addresses` maps ports to address names."""

    def __init__(self, world: World, addresses: Mapping[int, str]) -> None:
        self._world = world
        self._clock = world.clock
        self._addresses = addresses
        self._accounts = range(world.accounts)  # accounts of each correspondent
        self._numbers = cache(lambda holder: {payloads.account_id(holder, each): each for each in self._accounts})
        self._full_at: dict[str, float] = {}  # by holder: when a second's worth of calls is available again
        self._routes = self._all_routes()
        self._apps = {
            interface: Starlette(
                routes=routes,
                # A web page could make its own host name resolve to this machine (DNS rebinding).
                middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])],
                exception_handlers={RequestRefusedError: _refused, HTTPException: _refused},
            )
            for interface, routes in self._routes.items()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        world, stats, name = self._world, self._world.stats, self._addresses[scope["server"][1]]
        interface = _INTERFACES[name]
        scope["state"] = {"address": name}
        endpoint = self._endpoint(scope, interface)
        is_token = interface is Interface.AUTH
        stats.token_requests += is_token
        stats.calls += not is_token
        fault = world.faults.take("token" if is_token else "interfaces")
        stats.faulted += fault is not None

        async def send_late(message: Message) -> None:
            # The delay comes last, so that a token that arrives late is older than it seems, as on a slow network.
            if message["type"] == "http.response.start":
                await asyncio.sleep(world.delay + is_token * world.token_delay)
                status = message["status"]
                stats.refused += fault is None and 400 <= status < 500
                stats.by_status.setdefault(f"{name} {endpoint}", Counter())[status] += 1
                # The Date header follows the clock of the service, so callers can see how far off their own clock is.
                MutableHeaders(scope=message)["Date"] = format_datetime(world.clock.now(), usegmt=True)
            await send(message)

        if fault is None:
            await self._apps[interface](scope, receive, send_late)
        elif fault.dropped:
            # If the application just returned without a response, uvicorn would answer with status 500.
            send.__self__.transport.abort()  # type: ignore[attr-defined]
            while (await receive())["type"] != "http.disconnect":
                pass
        else:
            await _failed(fault)(scope, receive, send_late)

    def _endpoint(self, scope: Scope, interface: Interface) -> str:
        """Return the method and path of a request's endpoint, or "other" if there is none."""
        fitting = (route.path for route in self._routes[interface] if route.matches(scope)[0] is Match.FULL)
        path = next(fitting, None)
        return "other" if path is None else f"{'GET' if scope['method'] == 'HEAD' else scope['method']} {path}"

    def _all_routes(self) -> dict[Interface, list[Route]]:
        of_account = "/v1/practice/accounts/{account_id}"
        return {
            Interface.TRADING: [
                self._get(TRADING_ACCOUNT_PATH, lambda _, holder, now: payloads.account(holder, 0, now)),
                Route("/v2/practice/orders", self._order, methods=["POST"]),
            ],
            Interface.MARKET_DATA: [
                self._get("/v2/practice/quotes", lambda request, _, now: payloads.quotes(_symbols(request), now)),
                self._get("/v2/practice/bars", _bars),
            ],
            Interface.BROKER: [
                Route(BROKER_ACCOUNTS_PATH, self._account_list),
                self._get(of_account, self._of_account(payloads.account)),
                self._get(f"{of_account}/positions", self._of_account(payloads.positions)),
                self._get(f"{of_account}/orders", self._past_orders),
                Route("/v1/practice/orders", self._order, methods=["POST"]),
            ],
            Interface.AUTH: [Route(TOKEN_PATH, self._token, methods=["POST"])],
        }

    def _get(self, path: str, payload: _Payload) -> Route:
        """Return a GET route that responds with the holder's payload for the request at the current time."""

        async def answer(request: Request) -> Response:
            return JSONResponse(payload(request, self._holder(request), self._clock.now()))

        return Route(path, answer)

    def _holder(self, request: Request) -> str:
        """Return the name of the calling account or correspondent, which determines the data that is made up for it."""
        caller = self._world.authenticator.caller(request.headers, request.state.address)
        self._world.stats.by_credentials[caller.name] += 1
        holder = caller.name.removesuffix("-secret").removesuffix("-key")
        if seconds := self._seconds_to_wait(holder):
            self._world.stats.rate_limited += 1
            message = f"These credentials may make at most {self._world.rate_limit} calls per second."
            raise RequestRefusedError(429, "rate_limited", message, {"Retry-After": str(seconds)})
        return holder

    def _seconds_to_wait(self, holder: str) -> int:
        """Count a call and return 0; if it exceeds the rate limit, return the seconds until a call is allowed."""
        rate, now = self._world.rate_limit, self._clock.monotonic()
        if rate is None:
            return 0
        full_at = max(self._full_at.get(holder, now), now) + 1 / rate
        wait = full_at - now - max(1.0, rate) / rate
        if wait > _ROUNDING:
            return math.ceil(wait - _ROUNDING)
        self._full_at[holder] = full_at
        return 0

    async def _token(self, request: Request) -> Response:
        environment = next(each for each in Environment if request.state.address in each.rules.addresses.values())
        content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if request.url.query or content_type != _FORM_TYPE:
            message = f"Send a form of type {_FORM_TYPE}, to a URL without a query."
            raise RequestRefusedError(400, "invalid_request", message)
        # Empty fields are dropped, because they count as omitted (RFC 6749 section 3.2).
        fields = parse_qsl((await request.body()).decode("utf-8", "replace"))
        if len(dict(fields)) != len(fields):
            raise RequestRefusedError(400, "invalid_request", "A form field must not occur twice.")
        own_address = f"http://{request.url.netloc}"
        caller = self._world.authenticator.client(dict(fields), request.headers, environment, own_address)
        self._world.stats.by_credentials[caller.name] += 1
        return JSONResponse(self._world.authenticator.issue_token(caller), headers=_NO_STORE)

    async def _account_list(self, request: Request) -> Response:
        query, holder, now = request.query_params, self._holder(request), self._clock.now()
        status, numbers = query.get("status"), list(self._accounts)
        limit = _number(query, "limit", default=len(self._accounts) or 1)
        if status is not None:
            numbers = [number for number in numbers if payloads.account_status(holder, number) == status]
        name = f"{holder}/accounts/{status}/{limit}"
        page, next_token = _page(query, name, numbers[:limit], size=_LARGEST_PAGE)
        url = request.url.include_query_params(page_token=next_token)
        headers = {} if next_token is None else {"Link": f'<{url}>; rel="next"'}
        return JSONResponse([payloads.account(holder, number, now) for number in page], headers=headers)

    def _of_account(self, payload: Callable[[str, int, datetime], Any]) -> _Payload:
        return lambda request, holder, now: payload(holder, self._number_of(request, holder), now)

    def _past_orders(self, request: Request, holder: str, _: datetime) -> Any:
        number = self._number_of(request, holder)
        places = range(payloads.order_count(holder, number))
        page, next_token = _page(request.query_params, f"{holder}/{number}/orders", places, size=_ORDERS_OF_A_PAGE)
        orders = [payloads.past_order(holder, number, place) for place in page]
        return {"orders": orders, "next_page_token": next_token, "made_up": True}

    async def _order(self, request: Request) -> Response:
        holder = self._holder(request)
        try:
            order = payloads.order(holder, await request.json(), self._clock.now())
        except (ValueError, TypeError, KeyError):
            detail = "An order must be a JSON object with symbol, side and quantity."
            raise RequestRefusedError(422, "invalid_order", detail) from None
        return JSONResponse(order, status_code=201)

    def _number_of(self, request: Request, holder: str) -> int:
        number = self._numbers(holder).get(request.path_params["account_id"])
        if number is None:
            raise RequestRefusedError(404, "not_found", "These credentials do not have this account.")
        return number


async def _refused(request: Request, refusal: Any) -> Response:
    """Return the response to a request refused by this service, or by Starlette because of its path or method."""
    is_token = request.url.path == TOKEN_PATH
    content = {
        "error": getattr(refusal, "error", "not_found"),
        "error_description" if is_token else "message": refusal.detail,
    }
    response = JSONResponse(content, refusal.status_code, refusal.headers)
    if is_token:
        response.headers.update(_NO_STORE)
    return response


def _failed(fault: Fault) -> Response:
    headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
    if fault.body == "html":
        return HTMLResponse(_PAGE, fault.status, headers)
    if fault.body == "malformed":
        return Response('{"message": "this object breaks o', fault.status, headers, "application/json")
    return JSONResponse({"error": fault.error, "message": "A fault on purpose."}, fault.status, headers)


def _symbols(request: Request) -> Sequence[str]:
    symbols = request.query_params.get("symbols")
    return payloads.SYMBOLS if symbols is None else symbols.split(",")


def _bars(request: Request, _: str, now: datetime) -> Any:
    days = _number(request.query_params, "days", default=30, most=_MOST_DAYS)
    return payloads.bars(_symbols(request), days, now)


def _number(query: Mapping[str, str], name: str, *, default: int, most: int = 10**9) -> int:
    """Return a query parameter as a positive integer."""
    text = query.get(name, str(default))
    if not text.isdecimal() or not 0 < int(text) <= most:
        raise RequestRefusedError(400, "bad_query", f"{name} must be a whole number from 1 to {most}.")
    return int(text)


def _page(query: Mapping[str, str], name: str, items: Sequence[int], *, size: int) -> tuple[Sequence[int], str | None]:
    """Return the requested page of a list, and the token for the next page, or None if this is the last page.

    `name` identifies the list, including its holder and filters; page tokens are valid only for that list.
    """
    size = _number(query, "page_size", default=size, most=_LARGEST_PAGE)
    start, token = 0, query.get("page_token")
    if token is not None:
        place = token.partition("-")[0]
        start = int(place) if place.isdecimal() and token == _token(int(place), name) else len(items)
        if start >= len(items):
            raise RequestRefusedError(400, "bad_query", "page_token is not a page token of this list.")
    end = start + size
    return items[start:end], _token(end, name) if end < len(items) else None


def _token(place: int, name: str) -> str:
    return f"{place}-{hashlib.sha256(f'{place}/{name}'.encode()).hexdigest()[:10]}"
