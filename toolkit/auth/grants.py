"""Grants: the headers that authorize a request, and the copy of the request that they go on.

The request that the client keeps and the cassette records stays as the caller made it, without credentials.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from toolkit.auth.credentials import Credentials
from toolkit.auth.tokens.token import Token
from toolkit.core.ledger import Authorization

Headers = tuple[tuple[str, str], ...]
RawHeaders = list[tuple[bytes, bytes]]
_SHOW_CREDENTIALS: Final = frozenset({"request", "auth"})  # keys of httpcore's events


@dataclass(frozen=True, slots=True)
class Grant:
    """The headers that authorize a request.

    Attributes:
        headers: name and value of each header for the copy that is sent.
        authorization: what the ledger and recordings note about it.
        token: the access token in the headers, None for a key pair.
    """

    headers: Headers = field(repr=False)
    authorization: Authorization
    token: Token | None = None
    _last_merged: list[tuple[RawHeaders, httpx.Headers]] = field(default_factory=list, init=False, repr=False)

    def merged_with(self, raw: RawHeaders) -> httpx.Headers:
        """Return the headers of a request together with those of this grant, in a new object.

        Most calls of a client carry the same headers, so the last result is kept: normalising all headers again
        would be a third of what a call costs.
        """
        for last_raw, merged in self._last_merged:
            if last_raw is raw or last_raw == raw:
                return httpx.Headers(merged)
        added = [(name.encode("ascii"), value.encode("ascii")) for name, value in self.headers]
        merged = httpx.Headers([*raw, *added])
        self._last_merged[:] = [(raw, merged)]
        return httpx.Headers(merged)


class AuthorizedRequest(httpx.Request):
    """A copy of a request with the headers of a grant; stream and extensions (timeouts) are the request's own.

    `copy.copy` would drop both.

    Args:
        request: the request as the caller made it.
        grant: what authorizes it.
        raw: the request's raw headers, from a caller who has just read them.
    """

    # Speed: httpx's constructor is not called, because it normalises all headers again (6.4 microseconds against 2.4,
    # measured). So this sets the attributes that a transport reads, and nothing else works on it.
    def __init__(self, request: httpx.Request, grant: Grant, raw: RawHeaders | None = None) -> None:
        self.method = request.method
        self.url = request.url
        self.headers = grant.merged_with(request.headers.raw if raw is None else raw)
        self.stream = request.stream
        self.extensions = dict(request.extensions)
        if "trace" in self.extensions:
            self.extensions["trace"] = _trace_without_requests(self.extensions["trace"])


def _trace_without_requests(trace: Callable[[str, dict[str, Any]], Any]) -> Callable[[str, dict[str, Any]], Any]:
    """Return a trace extension (httpcore's) that does not see requests, whose headers hold credentials."""

    def traced(event: str, info: dict[str, Any]) -> Any:  # for async clients the result is awaited by httpcore
        return trace(event, {name: value for name, value in info.items() if name not in _SHOW_CREDENTIALS})

    return traced


def authorization(credentials: Credentials, token: Token | None = None, number: int | None = None) -> Authorization:
    """Return how a call was authorized, for the ledger and recordings."""
    return Authorization(
        kind=credentials.kind,
        environment=credentials.environment,
        profile=credentials.name,
        token=number,
        issued_at=token.issued_at if token else None,
        expires_at=token.expires_at if token else None,
    )
