"""Cookies: the parts of Cookie and Set-Cookie headers that are values, and so credentials (RFC 6265 section 4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from toolkit.core.secret import SHORTEST_SECRET

_ATTRIBUTES: Final = frozenset(
    {"expires", "max-age", "domain", "path", "secure", "httponly", "samesite", "partitioned", "priority", "version"}
)
_SEPARATOR: Final = re.compile(r"(\s*;\s*|\s*,\s*(?=[!#$%&'*+.^_`|~0-9A-Za-z-]+=))")
# Values that may be long but are not credentials: dates, instants, other numbers, and words such as a region, a time
# zone or a choice. Replaced wherever they occur, they would be missing in data, or break its JSON.
_ORDINARY: Final = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ][0-9:.]+Z?)?|-?\d{1,15}(?:\.\d{1,15})?"
    r"|[A-Z]?[a-z]{1,10}(?:[/_-](?:[A-Z]?[a-z]{1,10}|[A-Z]{2,3}|\d{1,2})){0,3}|[a-z]{11}"
)


def cookie_values(header: str, value: str) -> Iterator[str]:
    """Yield the cookie values of a header that are long and unusual enough to be searched for everywhere."""
    found: list[str] = []

    def note(cookie: str) -> str:
        found.append(cookie)
        return cookie

    replace_cookies(header, value, note)
    for cookie in found:
        if len(cookie) >= SHORTEST_SECRET and not _ORDINARY.fullmatch(cookie):
            yield cookie


def replace_cookies(header: str, value: str, stand_in: Callable[[str], str]) -> str:
    """Return a header's value with a stand-in for each cookie's value; names, quotes and attributes stay.

    Args:
        header: the name of the header in small letters.
        value: the value of the header.
        stand_in: returns what to write instead of a cookie's value.
    """
    is_setting = header.startswith("set-")
    parts = _SEPARATOR.split(value)
    is_first = True
    for number in range(0, len(parts), 2):
        if number:
            is_first = "," in parts[number - 1]
        name, sign, cookie = parts[number].partition("=")
        if is_setting and not is_first and name.strip().lower() in _ATTRIBUTES:
            continue
        if not sign:
            name, cookie = "", name
            if not is_first and is_setting:
                continue
        quote = '"' if len(cookie) > 1 and cookie[0] == cookie[-1] == '"' else ""
        inner = cookie[1:-1] if quote else cookie
        if inner:
            parts[number] = f"{name}{sign}{quote}{stand_in(inner)}{quote}"
    return "".join(parts)
