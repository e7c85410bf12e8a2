"""Cookies: which part of a Cookie or Set-Cookie header is a value, and so a credential (RFC 6265 section 4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from toolkit.core.secret import SHORTEST_SECRET

_ATTRIBUTES: Final = frozenset(
    {"expires", "max-age", "domain", "path", "secure", "httponly", "samesite", "partitioned", "priority", "version"}
)
_SEPARATOR: Final = re.compile(r"(\s*;\s*|\s*,\s*(?=[!#$%&'*+.^_`|~0-9A-Za-z-]+=))")
# What may be long and is no credential all the same: a date, an instant or another number, words such as those of a
# region, a time zone or a choice. Taken out wherever they occur, they would be missing in data, and JSON be none.
_ORDINARY: Final = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ][0-9:.]+Z?)?|-?\d{1,15}(?:\.\d{1,15})?"
    r"|[A-Z]?[a-z]{1,10}(?:[/_-](?:[A-Z]?[a-z]{1,10}|[A-Z]{2,3}|\d{1,2})){0,3}|[a-z]{11}"
)


def cookie_values(header: str, value: str) -> Iterator[str]:
    """The values of the cookies in a header that are to be looked for elsewhere too."""
    found: list[str] = []

    def note(cookie: str) -> str:
        found.append(cookie)
        return cookie

    with_cookies_replaced(header, value, note)
    for cookie in found:
        if len(cookie) >= SHORTEST_SECRET and not _ORDINARY.fullmatch(cookie):
            yield cookie


def with_cookies_replaced(header: str, value: str, stand_in: Callable[[str], str]) -> str:
    """A header with something else for the value of each cookie; names, quotes and attributes stay.

    Args:
        header: its name in small letters.
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
