"""What a response says about the next page.

The next page is requested only if the response gives it in one of these ways, in this order of precedence:

1. the member that the caller names with `cursor=(member, parameter)`, and in that case nothing else;
2. `Link: rel="next"` (RFC 8288);
3. a member such as `next`, `next_url` or `nextLink` that is a URL;
4. a member `nextPageToken` or `next_page_token`, which becomes the parameter `pageToken` or `page_token`.

`has_more: false` and the like override 1, 3 and 4. A cursor with another name and `has_more: true` are reported but not
followed. Members are looked for in the response, in objects whose names are about paging (`links`, `meta`), and in
objects around the records (`data`, and any that is the only member). Page counts and record counts are ignored, because
a record may have members of these names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import httpx

from toolkit.core.document import ADDRESS_NAMES, symbolic_address
from toolkit.core.errors import UnsafeAddress
from toolkit.core.text import excerpt
from toolkit.transport.failures import origin

Cursor: TypeAlias = tuple[str, str] | Literal["offset", "page"]

# Names are compared in lower case, without a prefix (`hydra:`, `@odata.`) and without separators between words.
_OBJECTS: Final = frozenset(
    "body cursor data link links meta metadata next page pageinfo pages paging pagination response responsemetadata "
    "result resultinfo view".split()
)
_NEXT: Final = frozenset("next nextlink nexthref nextpage nextpagelink nextpageurl nexturi nexturl".split())
_ADDRESSES: Final = ("href", "url", "link")  # keys of the URL in an object that is a link
_PARAMETERS: Final = {"nextPageToken": "pageToken", "next_page_token": "page_token"}
_CURSORS: Final = frozenset(
    "continuationtoken continue cursor lastevaluatedkey nextcontinuationtoken nextcursor nextkey nextmarker nextoffset "
    "nextpage nextpagetoken nexttoken".split()
)
_MORE: Final = frozenset("hasmore hasnext hasnextpage istruncated more".split())

_SHOWN: Final = 60  # characters of a name
_SYMBOLIC_HOSTS: Final = frozenset(httpx.URL(symbolic_address(name)).host for name in ADDRESS_NAMES)
IS_FOLLOWED: Final = "toolkit.is_followed"  # response extension: its next page was requested, or a warning was shown
_BY_HAND: Final = (
    'The page does not say how to request the rest: pass cursor="offset" or cursor="page" to tk.pages, or the '
    "parameters that the service documents."
)
_WITH_CURSOR: Final = (
    "With cursor=({}, PARAMETER), tk.pages and tk.sweep read all pages; "
    "PARAMETER is the query parameter that the service documents."
)
_WITHOUT_CURSOR: Final = "There is no cursor at {}. Without cursor=, tk.pages and tk.sweep can find the next page."
_SIGNS: Final = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class NextPage:
    """What a response says about the next page.

    Attributes:
        url: its URL, or None if the response says that there is more in a way that is not followed.
        words: where the response says this, without any value: `the member "has_more" says that there is more`.
        advice: how to read the other pages if `url` is None.
    """

    url: httpx.URL | None
    words: str
    advice: str = ""


class _Member(NamedTuple):
    """A JSON member about paging; `name` is `key` in lower case, without prefix and punctuation."""

    path: str
    key: str
    name: str
    value: Any


def next_page(
    response: httpx.Response, *, cursor: tuple[str, str] | None = None, is_first: bool = True
) -> NextPage | None:
    """Return what a response says about the next page, or None if it does not say that there is one.

    Args:
        response: a response with its request, and with its body read.
        cursor: dotted path of the member with the cursor, and the name of the parameter to send it as.
        is_first: False for the second and later pages; such a page is the last one if it has no cursor.
    """
    body = _parsed(bytes(response.content))
    members = list(_members(body))
    flags = [member for member in members if member.name in _MORE and isinstance(member.value, bool)]
    is_last = any(not member.value for member in flags)
    if cursor is not None:
        is_there, text = _text_at(body, cursor[0])
        if is_there:
            place = f'the member "{excerpt(cursor[0], _SHOWN)}"'
            return _page(response, place, parameter=(cursor[1], text)) if text and not is_last else None
    following = _named(response, () if is_last else members)
    if following is None:
        return None if is_last else _reported(members, flags)
    if cursor is None:
        return following
    advice = _WITHOUT_CURSOR.format(f'"{excerpt(cursor[0], _SHOWN)}"')
    return NextPage(None, following.words, advice) if is_first else None


def check_origin(url: httpx.URL, first: httpx.URL) -> None:
    """Check that a next page has the same origin as the first page, or a recording's symbolic address.

    Raises:
        UnsafeAddress: if the page is at another origin, or has a user name or password in its URL.
    """
    if url.userinfo:
        raise UnsafeAddress(
            "The next page has a user name or password in its URL.", "It was not requested; report it to the service."
        )
    is_recorded = url.scheme == "https" and url.host in _SYMBOLIC_HOSTS
    if not is_recorded and origin(url) != origin(first):
        raise UnsafeAddress(
            f"The next page is at {excerpt(origin(url))}, not at the origin of the first page, {origin(first)}.",
            "Nothing was sent there. If it is the same service, request the first page from that address.",
        )


def url_of(response: Any) -> httpx.URL:
    """Return the requested URL, or an empty URL if the response does not have a request."""
    try:
        return httpx.URL(str(response.request.url))
    except (AttributeError, RuntimeError, httpx.InvalidURL):
        return httpx.URL()


def _parsed(content: bytes) -> Any:
    """Return the parsed body, or None if it is not a JSON object."""
    try:
        return json.loads(content) if content[:1000].lstrip()[:1] == b"{" else None
    except (ValueError, RecursionError):
        return None  # `tabulate` says what is wrong with it


def _members(record: Any, path: tuple[str, ...] = (), depth: int = 4) -> Iterator[_Member]:
    """Yield the members of an object that are about paging."""
    for key, value in record.items() if isinstance(record, dict) else ():
        name = "" if len(key) > _SHOWN else _SIGNS.sub("", re.split("[:.]", key)[-1]).lower()
        place = f'the member "{excerpt(".".join((*path, key)), _SHOWN)}"'
        if name in _NEXT | _CURSORS | _MORE:
            yield _Member(place, key, name, value)
        if depth and (name in _OBJECTS or len(record) == 1):
            yield from _members(value, (*path, key), depth - 1)
        for item in value if name in ("link", "links") and isinstance(value, list) else ():
            if isinstance(item, dict) and "next" in (item.get("rel"), item.get("relation")):
                yield _Member(place, key, "next", item)


def _named(response: httpx.Response, members: Iterable[_Member]) -> NextPage | None:
    """Return the next page given by the Link header or a member; a URL takes precedence over a token."""
    for link in response.links.values():
        if "next" in link.get("rel", "").lower().split():
            return _page(response, "the Link header", target=link["url"])
    for member in sorted(members, key=lambda member: member.name not in _NEXT):
        value = member.value
        if isinstance(value, dict):
            value = next((value[key] for key in _ADDRESSES if value.get(key)), None)
        if not isinstance(value, str) or not value:
            continue
        if member.name in _NEXT and (value.startswith(("http://", "https://", "/")) or "?" in value):
            return _page(response, member.path, target=value)
        if member.key in _PARAMETERS:
            return _page(response, member.path, parameter=(_PARAMETERS[member.key], value))
    return None


def _reported(members: list[_Member], flags: list[_Member]) -> NextPage | None:
    """Return a NextPage without a URL if a member says that more pages exist, but not how to request them."""
    for member in members:
        is_cursor = isinstance(member.value, str | int) or (isinstance(member.value, dict) and member.name != "cursor")
        if member.name in _CURSORS and member.value and is_cursor:
            advice = _WITH_CURSOR.format(member.path.removeprefix("the member "))
            return NextPage(None, f"{member.path} names a next page", advice)
    for member in flags:
        return NextPage(None, f"{member.path} says that there is more", _BY_HAND)
    return None


def _text_at(body: Any, path: str) -> tuple[bool, str]:
    """Return whether there is a member at a dotted path, and its text, which is "" on the last page."""
    value = body
    for key in [path] if isinstance(body, dict) and path in body else path.split("."):
        if not isinstance(value, dict) or key not in value:
            return False, ""
        value = value[key]
    if value is None or value is False:
        return True, ""
    return (True, str(value)) if isinstance(value, str | int) and value is not True else (False, "")


def _page(
    response: httpx.Response, place: str, *, target: str = "", parameter: tuple[str, str] | None = None
) -> NextPage:
    """Return the next page given at `place`, even if its URL is malformed or too long."""
    try:
        asked = url_of(response)
        url = asked.copy_set_param(*parameter) if parameter else asked.join(target).copy_with(fragment=None)
        _ = url.host  # decodes an internationalized host name
    except (httpx.InvalidURL, UnicodeError):
        return NextPage(None, f"{place} names a next page, but its URL cannot be parsed", _BY_HAND)
    return NextPage(url, f"{place} names a next page")
