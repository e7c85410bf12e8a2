"""The practice service as an ASGI application.

The port of a request tells which address it was sent to, so the application also runs in memory, with
`httpx.ASGITransport`.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Mapping
from email.utils import format_datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from toolkit.core.document import TOKEN_PATH, Environment, Interface
from toolkit.practice_service.authentication import Authenticator, RequestRefusedError
from toolkit.practice_service.endpoints import Endpoints, not_allowed, read_body

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from toolkit.core.ledger import Clock
    from toolkit.practice_service.service import World

_FORM_TYPE: Final = "application/x-www-form-urlencoded"
_LARGEST_FORM: Final = 64 * 1024  # bytes
_MOST_FIELDS: Final = 20
_NO_STORE: Final = {"Cache-Control": "no-store", "Pragma": "no-cache"}  # RFC 6749 section 5.1
# The address of each interface of each environment.
_ADDRESSES: Final[Mapping[str, tuple[Interface, Environment]]] = {
    name: (interface, environment)
    for environment in Environment
    for interface, name in environment.rules.addresses.items()
}


class ConnectionDroppedError(Exception):
    """Tells a caller in memory that a fault closed the connection."""


class PracticeApp:
    """The ASGI application.

    Args:
        world: options, counts and state.
        addresses: names of addresses by port.
    """

    def __init__(self, world: World, addresses: Mapping[int, str]) -> None:
        self._world = world
        self._addresses = addresses
        self._authenticator = Authenticator(world.holders, world.tokens, world.clock)
        self._endpoints = Endpoints(world.accounts, world.clock)
        self._rate_limit = RateLimit(world.rate_limit, world.clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self._respond(Request(scope, receive))
        except ClientDisconnect:
            return
        if response is None:
            await _drop(receive, send)
            return
        # The Date header follows the clock of the service, so that callers can tell how far their own clock is off.
        response.headers["Date"] = format_datetime(self._world.clock.now(), usegmt=True)
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response | None:
        """Return the response to a request, after its delay, or None if a fault closes the connection."""
        world, stats, path = self._world, self._world.stats, request.scope["path"]
        port: int = (request.scope.get("server") or ("", 0))[1] or 0
        host = request.headers.get("host", "").lower()
        if port not in self._addresses or host not in {f"127.0.0.1:{port}", f"localhost:{port}"}:
            # A web page could make its own host name resolve to this machine (DNS rebinding).
            message = "This Host does not belong to the practice service."
            return self._refused(RequestRefusedError(421, "misdirected", message))
        name = self._addresses[port]
        interface, environment = _ADDRESSES[name]
        is_token = interface is Interface.AUTH and path == TOKEN_PATH
        known_path = TOKEN_PATH if is_token else self._endpoints.path_of(interface, request)
        method = "GET" if request.method == "HEAD" else request.method
        endpoint = f"{name} {method} {known_path}" if known_path else f"{name} other"
        stats.token_requests += is_token
        stats.calls += not is_token
        stats.by_endpoint[endpoint] += 1
        fault = world.faults.take("token" if is_token else "interfaces")
        if fault is None:
            try:
                if interface is Interface.AUTH:
                    response = await self._token(request, environment, f"http://{host}")
                else:
                    response = await self._call(request, name, interface)
            except RequestRefusedError as refusal:
                response = self._refused(refusal, is_token=is_token)
        # The delay comes last: a token that arrives late is then older than it seems, as on a slow network.
        await asyncio.sleep(world.delay + is_token * world.token_delay)
        if fault is not None:
            stats.faulted += 1
            if fault.dropped:
                return None
            headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
            response = Response(fault.content, fault.status, headers, media_type=fault.content_type)
        stats.by_status.setdefault(endpoint, Counter())[response.status_code] += 1
        return response

    async def _token(self, request: Request, environment: Environment, address: str) -> Response:
        if request.scope["path"] != TOKEN_PATH:
            raise RequestRefusedError(404, "not_found", f"This address only has POST {TOKEN_PATH}.")
        if request.method != "POST":
            raise not_allowed(["POST"])
        if request.scope["query_string"]:
            message = "The URL of the token endpoint must not have a query; put the fields into the body."
            raise RequestRefusedError(400, "invalid_request", message)
        fields = _form_fields(request.headers.get("content-type", ""), await read_body(request, _LARGEST_FORM))
        caller = self._authenticator.client(fields, request.headers, environment, address)
        self._world.stats.by_credentials[f"{caller.name} · {caller.sent}"] += 1
        return JSONResponse(self._world.tokens.issue(caller.name, caller.holder), headers=_NO_STORE)

    async def _call(self, request: Request, name: str, interface: Interface) -> Response:
        # Authentication comes first: strangers do not learn which paths exist.
        caller = self._authenticator.caller(request.headers, name)
        self._world.stats.by_credentials[f"{caller.name} · {caller.sent}"] += 1
        seconds = self._rate_limit.seconds_to_wait(caller.holder.name)
        if seconds:
            self._world.stats.rate_limited += 1
            message = f"These credentials may call {self._world.rate_limit} times a second."
            raise RequestRefusedError(429, "rate_limited", message, ("Retry-After", str(seconds)))
        request.state.holder = caller.holder.name
        return await self._endpoints.answer(request, interface)

    def _refused(self, refusal: RequestRefusedError, *, is_token: bool = False) -> Response:
        self._world.stats.refused += 1
        content = {"error": refusal.error, "error_description" if is_token else "message": refusal.message}
        response = JSONResponse(content, refusal.status, _NO_STORE if is_token else None)
        for name, value in refusal.headers:
            response.headers.append(name, value)
        return response


class RateLimit:
    """Lets each holder call a number of times a second, after a token bucket: a second's worth may come at once."""

    def __init__(self, rate: float | None, clock: Clock) -> None:
        self._rate = rate
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}  # by holder: calls left, and when that was, in seconds

    def seconds_to_wait(self, holder: str) -> int:
        """Return 0 and count a call, or if it exceeds the limit, whole seconds after which the next may pass."""
        if self._rate is None:
            return 0
        capacity, now = max(1.0, self._rate), self._clock.monotonic()
        left, at = self._buckets.get(holder, (capacity, now))
        left = min(capacity, left + (now - at) * self._rate)
        # A millionth of a call absorbs rounding: a bucket that needs one second is full after one second.
        passes = left >= 1 - 1e-6
        self._buckets[holder] = left - passes, now
        return 0 if passes else math.ceil((1 - 1e-6 - left) / self._rate)


async def _drop(receive: Receive, send: Send) -> None:
    """Close the connection without a response; uvicorn answers 500 for an application that returns too soon."""
    connection = getattr(getattr(send, "__self__", None), "transport", None)
    if connection is None:
        raise ConnectionDroppedError
    connection.abort()
    while (await receive())["type"] != "http.disconnect":
        pass


def _form_fields(content_type: str, body: bytes) -> dict[str, str]:
    """Return a form without empty fields, which count as omitted (RFC 6749 section 3.2)."""
    if content_type.partition(";")[0].strip().lower() != _FORM_TYPE:
        message = f"The body must be a form, with Content-Type {_FORM_TYPE}."
        raise RequestRefusedError(400, "invalid_request", message)
    try:
        text = body.decode("utf-8")
        pairs = parse_qsl(text, strict_parsing=bool(text), errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError:  # its message quotes the field
        raise RequestRefusedError(400, "invalid_request", "The body is not a well-formed form.") from None
    if len(dict(pairs)) != len(pairs):
        raise RequestRefusedError(400, "invalid_request", "A form field must not occur twice.")
    return dict(pairs)
