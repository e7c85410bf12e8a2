"""The practice service as an ASGI application, without sockets.

The port of a request tells which address it was sent to, so the application also runs in memory, with
`httpx.ASGITransport`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from email.utils import format_datetime
from typing import TYPE_CHECKING, Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from toolkit.core.document import TOKEN_PATH, Environment, Interface
from toolkit.practice_service.authentication import Authenticator, RequestRefusedError
from toolkit.practice_service.endpoints import Endpoints, method_of, not_allowed, read_body
from toolkit.practice_service.faults import ConnectionDroppedError, Fault
from toolkit.practice_service.rate_limit import RateLimit
from toolkit.practice_service.token_endpoint import TokenEndpoint

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from toolkit.practice_service.world import World

_LARGEST_FORM: Final = 64 * 1024  # bytes
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
        self._rate_limit = RateLimit(world.options.rate_limit, world.clock)
        self._endpoints = Endpoints(world.options.accounts, world.clock)

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
        endpoint = self._label(request, name)
        self._world.stats.count_request(endpoint, token_request=is_token_request)
        fault = self._world.faults.take("token" if is_token_request else "interfaces")
        # The delay comes last: a token that arrives late is then older than it seems, as on a slow network.
        if fault is None:
            response = await self._answer(request, name, host, is_token_request=is_token_request)
        delay = self._world.options.delay + is_token_request * self._world.options.token_delay
        if delay:
            await asyncio.sleep(delay)
        if fault is not None:
            response = self._fail(fault)
        self._world.stats.count_response(endpoint, response.status_code)
        return response

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
        """Return the address with the method and path of a known endpoint, or "other"."""
        path, method = request.scope["path"], method_of(request)
        if name in _AUTH_ENVIRONMENTS:
            is_known = path == TOKEN_PATH and method == "POST"
        else:
            endpoint, _ = self._endpoints.find(_INTERFACES[name], path)
            is_known = endpoint is not None and method in endpoint.handlers
            path = endpoint.path if endpoint is not None else path
        return f"{name} {method} {path}" if is_known else f"{name} other"

    async def _token(self, request: Request, environment: Environment, address: str) -> Response:
        if request.method != "POST":
            raise not_allowed(["POST"])
        body = await read_body(request, _LARGEST_FORM)
        query = request.scope["query_string"].decode("latin-1")
        fields, caller = self._token_endpoint.respond(environment, address, request.headers, query, body)
        self._world.stats.count_caller(caller)
        return JSONResponse(fields, headers=_NO_STORE)

    async def _call(self, request: Request, name: str) -> Response:
        if name in _AUTH_ENVIRONMENTS:
            raise RequestRefusedError(404, "not_found", f"This address only has POST {TOKEN_PATH}.")
        # Authentication comes first: strangers do not learn which paths exist.
        caller = self._authenticator.caller(request.headers, name)
        self._world.stats.count_caller(caller)
        holder = caller.holder
        seconds = self._rate_limit.seconds_to_wait(holder.name)
        if seconds:
            self._world.stats.count_rate_limited()
            message = f"These credentials may call {self._world.options.rate_limit} times a second."
            raise RequestRefusedError(429, "rate_limited", message, [("Retry-After", str(seconds))])
        return await self._endpoints.answer(request, _INTERFACES[name], holder)

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
