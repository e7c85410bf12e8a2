"""The practice service as an ASGI application, without sockets.

The port of a request tells which address it was sent to, so the application also runs in memory, with
`httpx.ASGITransport`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from toolkit.core.document import BROKER_ACCOUNTS_PATH, TOKEN_PATH, TRADING_ACCOUNT_PATH, Environment, Interface
from toolkit.practice_service import payloads
from toolkit.practice_service.authentication import Authenticator, RequestRefusedError
from toolkit.practice_service.faults import ConnectionDroppedError, Fault
from toolkit.practice_service.holders import Holder
from toolkit.practice_service.token_endpoint import TokenEndpoint

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from toolkit.practice_service.world import World

_Handler = Callable[[Request, Holder], Awaitable[Response]]
_LARGEST_FORM: Final = 64 * 1024  # bytes
_LARGEST_BODY: Final = 1024 * 1024  # bytes
_NO_STORE: Final = {"Cache-Control": "no-store", "Pragma": "no-cache"}  # RFC 6749 section 5.1
_INTERFACES: Final[Mapping[str, Interface]] = {
    name: interface for environment in Environment for interface, name in environment.rules.addresses.items()
}
_AUTH_ENVIRONMENTS: Final[Mapping[str, Environment]] = {
    environment.rules.addresses[Interface.AUTH]: environment
    for environment in Environment
    if Interface.AUTH in environment.rules.addresses
}


class PracticeApp:
    """The ASGI application.

    Args:
        world: options, counts and state.
        addresses: names of addresses by port.

    Raises:
        ConnectionDroppedError: from a call, if a fault makes the server close the connection without a response.
    """

    def __init__(self, world: World, addresses: Mapping[int, str]) -> None:
        self._world = world
        self._addresses = dict(addresses)
        self._authenticator = Authenticator(world.holders, world.tokens)
        self._token_endpoint = TokenEndpoint(world.holders, world.tokens, world.clock)
        self._accounts_of: dict[str, list[dict[str, Any]]] = {}
        self._endpoints: dict[Interface, dict[str, dict[str, _Handler]]] = {
            Interface.TRADING: {
                TRADING_ACCOUNT_PATH: {"GET": self._account},
                "/v2/practice/orders": {"POST": self._order},
            },
            Interface.MARKET_DATA: {"/v2/practice/quotes": {"GET": self._quotes}},
            Interface.BROKER: {
                BROKER_ACCOUNTS_PATH: {"GET": self._accounts},
                "/v1/practice/orders": {"POST": self._order},
            },
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self.respond(Request(scope, receive))
        except ClientDisconnect:
            return
        # The Date header follows the clock of the service, so that callers can tell how far their own clock is off.
        response.headers["Date"] = format_datetime(self._world.clock.now(), usegmt=True)
        await response(scope, receive, send)

    async def respond(self, request: Request) -> Response:
        """Return the response to a request, after its delay.

        Raises:
            ConnectionDroppedError: if a fault closes the connection.
        """
        try:
            name, host = self._address(request)
        except RequestRefusedError as refusal:
            return self._refused(refusal)
        is_token_request = name in _AUTH_ENVIRONMENTS and request.scope["path"] == TOKEN_PATH
        self._world.stats.count_request(name, self._label(request, name), token_request=is_token_request)
        fault = self._world.faults.take("token" if is_token_request else "interfaces")
        # The delay comes last: a token that arrives late is then older than it seems, as on a slow network.
        if fault is None:
            response = await self._answer(request, name, host, is_token_request=is_token_request)
        await asyncio.sleep(self._world.options.delay + is_token_request * self._world.options.token_delay)
        return response if fault is None else self._fail(fault)

    async def _answer(self, request: Request, name: str, host: str, *, is_token_request: bool) -> Response:
        try:
            if is_token_request:
                return await self._token(request, _AUTH_ENVIRONMENTS[name], f"http://{host}")
            return await self._call(request, name)
        except RequestRefusedError as refusal:
            return self._refused(refusal, is_token_request=is_token_request)

    def _address(self, request: Request) -> tuple[str, str]:
        """Return the name of the address, and the host and port as the caller wrote them.

        Foreign Host headers are refused: a web page could make its own host name resolve to this machine (DNS
        rebinding).
        """
        port = (request.scope.get("server") or ("", None))[1]
        hosts = request.headers.getlist("host")
        host = hosts[0].lower() if len(hosts) == 1 else ""
        if port not in self._addresses or host not in (f"127.0.0.1:{port}", f"localhost:{port}"):
            raise RequestRefusedError(421, "misdirected", "This Host does not belong to the practice service.")
        return self._addresses[port], host

    def _label(self, request: Request, name: str) -> str:
        path, method = request.scope["path"], _method(request)
        if name in _AUTH_ENVIRONMENTS:
            is_known = path == TOKEN_PATH and method == "POST"
        else:
            is_known = method in self._endpoints[_INTERFACES[name]].get(path, ())
        return f"{method} {path}" if is_known else "other"

    async def _token(self, request: Request, environment: Environment, address: str) -> Response:
        if request.method != "POST":
            raise _not_allowed(["POST"])
        body = await _read(request, _LARGEST_FORM)
        query = request.scope["query_string"].decode("latin-1")
        fields = self._token_endpoint.respond(environment, address, request.headers, query, body)
        return JSONResponse(fields, headers=_NO_STORE)

    async def _call(self, request: Request, name: str) -> Response:
        if name in _AUTH_ENVIRONMENTS:
            raise RequestRefusedError(404, "not_found", f"This address only has POST {TOKEN_PATH}.")
        # Authentication comes first: strangers do not learn which paths exist.
        holder = self._authenticator.holder(request.headers, name)
        handler = self._handler(request, self._endpoints[_INTERFACES[name]])
        return await handler(request, holder)

    def _handler(self, request: Request, endpoints: Mapping[str, Mapping[str, _Handler]]) -> _Handler:
        methods = endpoints.get(request.scope["path"])
        if methods is None:
            endpoint_list = ", ".join(f"{method} {path}" for path, handlers in endpoints.items() for method in handlers)
            raise RequestRefusedError(404, "not_found", f"There is no such path. This address has {endpoint_list}.")
        handler = methods.get(_method(request))
        if handler is None:
            raise _not_allowed([*methods, "HEAD"] if "GET" in methods else [*methods])
        return handler

    async def _account(self, request: Request, holder: Holder) -> Response:
        del request
        return JSONResponse(payloads.account(holder.name, 0))

    async def _accounts(self, request: Request, holder: Holder) -> Response:
        accounts = self._accounts_of.get(holder.name)
        if accounts is None:
            accounts = [payloads.account(holder.name, number) for number in range(self._world.options.accounts)]
            self._accounts_of[holder.name] = accounts
        limit, status = _single(request, "limit"), _single(request, "status")
        if status is not None:
            if status not in payloads.STATUSES:
                raise _bad_query(f"status must be one of {', '.join(payloads.STATUSES)}.")
            accounts = [account for account in accounts if account["status"] == status]
        if limit is not None:
            if not (limit.isascii() and limit.isdecimal() and 0 < len(limit) <= 9 and int(limit) > 0):
                raise _bad_query("limit must be a positive whole number.")
            accounts = accounts[: int(limit)]
        return JSONResponse(accounts)

    async def _quotes(self, request: Request, holder: Holder) -> Response:
        del holder
        text = _single(request, "symbols")
        symbols = payloads.SYMBOLS if text is None else tuple(text.split(","))
        if len(symbols) > payloads.MOST_SYMBOLS or not all(payloads.SYMBOL.match(symbol) for symbol in symbols):
            raise _bad_query(
                f"symbols must be up to {payloads.MOST_SYMBOLS} of one to six capital letters, with commas."
            )
        return JSONResponse(payloads.quotes(symbols))

    async def _order(self, request: Request, holder: Holder) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise RequestRefusedError(415, "unsupported_media_type", "An order must be sent as application/json.")
        body = await _read(request, _LARGEST_BODY)
        try:
            fields = json.loads(body)
        except (ValueError, RecursionError):
            raise RequestRefusedError(400, "malformed", "The body is not JSON.") from None
        try:
            order = payloads.order(holder.name, fields)
        except ValueError as error:
            raise RequestRefusedError(422, "invalid_order", str(error)) from None
        return JSONResponse(order, status_code=201)

    def _refused(self, refusal: RequestRefusedError, *, is_token_request: bool = False) -> Response:
        self._world.stats.count_refusal()
        message_field = "error_description" if is_token_request else "message"
        content = {"error": refusal.error, message_field: refusal.message}
        response = JSONResponse(content, refusal.status, _NO_STORE if is_token_request else None)
        for name, value in refusal.headers:
            response.headers.append(name, value)
        return response

    def _fail(self, fault: Fault) -> Response:
        self._world.stats.count_fault()
        if fault.dropped:
            raise ConnectionDroppedError
        headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
        return Response(fault.content, fault.status, headers, media_type=fault.content_type)


async def _read(request: Request, limit: int) -> bytes:
    """Return the body, of at most `limit` bytes."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise RequestRefusedError(
                413, "too_large", f"The body has more than {limit} bytes.", [("Connection", "close")]
            )
    return bytes(body)


def _single(request: Request, name: str) -> str | None:
    values = request.query_params.getlist(name)
    if len(values) > 1:
        raise _bad_query(f"{name} must not be given twice.")
    return values[0] if values else None


def _method(request: Request) -> str:
    """Return the method, with GET for HEAD (RFC 9110 section 9.3.2); the server leaves out the body."""
    return "GET" if request.method == "HEAD" else request.method


def _bad_query(message: str) -> RequestRefusedError:
    return RequestRefusedError(400, "bad_query", message)


def _not_allowed(methods: list[str]) -> RequestRefusedError:
    allow = ", ".join(methods)
    return RequestRefusedError(405, "method_not_allowed", f"This path takes {allow}.", [("Allow", allow)])
