"""Pages of a list: which part of it a request asks for, and where the next part begins.

The service document does not describe paging. This is the practice service's own: the query parameters `page_size`
and `page_token`, and a `Link` header (RFC 8288) or a member that leads to the next page. A page token says where its
page begins. It belongs to one list of one holder, and carries a check, so that callers cannot make one up.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlencode

if TYPE_CHECKING:
    from collections.abc import Mapping

LARGEST_PAGE: Final = 100
PAGE_SIZE: Final = "page_size"
PAGE_TOKEN: Final = "page_token"  # noqa: S105 - a name
_PLACE_BYTES: Final = 4
_CHECK_BYTES: Final = 5


class PageRefusedError(ValueError):
    """A page that cannot be served; the message says why and does not quote the request."""


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list.

    Attributes:
        start: place of its first item, from 0.
        end: place after its last item.
        next_token: page token of the next page, or None if this is the last.
    """

    start: int
    end: int
    next_token: str | None


def choose_page(query: Mapping[str, str], list_name: str, length: int, *, default_size: int) -> Page:
    """Return the page that a query asks for.

    Args:
        query: query parameters; `page_size` and `page_token` count.
        list_name: what the page tokens belong to: the list with its holder and filters.
        length: number of items of the list.
        default_size: number of items of a page without `page_size`.

    Raises:
        PageRefusedError: if `page_size` is not a number from 1 to 100, or `page_token` does not belong to the list.
    """
    size, start = default_size, 0
    if PAGE_SIZE in query:
        size = whole_number(query[PAGE_SIZE]) or 0
        if not 0 < size <= LARGEST_PAGE:
            raise PageRefusedError(f"{PAGE_SIZE} must be a whole number from 1 to {LARGEST_PAGE}.")
    if PAGE_TOKEN in query:
        start = _place(query[PAGE_TOKEN], list_name)
    end = min(start + size, length)
    return Page(min(start, length), end, _token(end, list_name) if end < length else None)


def next_link(url: str, query: bytes, page_token: str) -> str:
    """Return the value of a Link header to the next page (RFC 8288 section 3).

    Args:
        url: absolute URL of the list, without a query.
        query: raw query of this page's request; its other parameters are kept.
        page_token: page token of the next page.
    """
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    kept = [(name, value) for name, value in pairs if name != PAGE_TOKEN]
    return f'<{url}?{urlencode([*kept, (PAGE_TOKEN, page_token)])}>; rel="next"'


def whole_number(text: str) -> int | None:
    """Return the number that up to nine ASCII digits say, or None for other text."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else None


def _token(place: int, list_name: str) -> str:
    number = place.to_bytes(_PLACE_BYTES, "big")
    return base64.urlsafe_b64encode(number + _check(number, list_name)).decode()


def _place(token: str, list_name: str) -> int:
    try:
        content = base64.b64decode(token, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        content = b""
    number = content[:_PLACE_BYTES]
    if len(content) != _PLACE_BYTES + _CHECK_BYTES or content[_PLACE_BYTES:] != _check(number, list_name):
        raise PageRefusedError(f"{PAGE_TOKEN} is not a page token of this list.")
    return int.from_bytes(number, "big")


def _check(number: bytes, list_name: str) -> bytes:
    return hashlib.sha256(number + list_name.encode()).digest()[:_CHECK_BYTES]
