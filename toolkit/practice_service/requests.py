"""What the practice service sees of a request, and how it refuses one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


class RequestHeaders(Protocol):
    """Header fields by name, in any letter case."""

    def getlist(self, key: str, /) -> list[str]:
        """All values of one name, in order."""
        ...


class RequestRefusedError(Exception):
    """A request that is answered with an error status.

    The texts are the service's own: nothing that the caller sent may go into them.

    Attributes:
        status: HTTP status code of the answer.
        error: error code; at the token endpoint one of RFC 6749 section 5.2.
        message: what is wrong, for the person who reads it; without quotes and backslashes, which
            RFC 6749 section 5.2 keeps out of an `error_description`.
        headers: names and values of further response headers.
    """

    def __init__(self, status: int, error: str, message: str, headers: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(status, error, message)
        self.status = status
        self.error = error
        self.message = message
        self.headers = tuple(headers)
