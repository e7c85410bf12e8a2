"""What an answer says about the page after it.

The service document does not describe paging, so only unambiguous signals are followed, in this order:

1. the member that the caller names with `cursor=(member, parameter)`, and nothing else then;
2. `Link: rel="next"` (RFC 8288);
3. a member `next`, `next_url`, `nextLink` and the like that is a URL;
4. a member `nextPageToken` or `next_page_token`, which becomes the parameter `pageToken` or `page_token`.

`has_more: false` and the like end 3 and 4. Any other sign that there is more is reported and not followed: a cursor of
another name, `has_more: true`, page 1 of 5, 100 of 250 records. `paging_members` knows the names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from toolkit.core.document import ADDRESS_NAMES, symbolic_address
from toolkit.core.errors import UnsafeAddress
from toolkit.core.escaping import excerpt
from toolkit.transport.family import httpx
from toolkit.transport.link_header import link_target
from toolkit.transport.paging_members import PagingMembers, paging_members
from toolkit.transport.unreachable import origin

Cursor: TypeAlias = tuple[str, str]

_ENVELOPE_IN_A_LIST: Final = re.compile(rb'\[\s*+\{\s*+"page"')  # [{"page": 1, "pages": 8}, [...]]
_BEGINNING: Final = 1000  # bytes, mostly white space, before the first member
_SYMBOLIC_HOSTS: Final = frozenset(httpx.URL(symbolic_address(name)).host for name in ADDRESS_NAMES)
_SHOWN: Final = 60  # characters of a name
IS_FOLLOWED: Final = "toolkit.is_followed"  # extension of a response whose next page was asked for, or warned of
_BY_HAND: Final = "It does not say how to ask for the rest: use the parameters that the service documents for pages."

_WITH_CURSOR: Final = (
    "With cursor=({}, PARAMETER), tk.pages and tk.sweep read all pages; "
    "PARAMETER is the query parameter that the service documents."
)
_WITHOUT_CURSOR: Final = "There is no cursor at {}; without cursor=, tk.pages and tk.sweep read all pages."


@dataclass(frozen=True, slots=True)
class NextPage:
    """What an answer says about the page after it.

    Attributes:
        url: its URL, or None if the answer says that there is more in a way that is not followed.
        words: what says so, without any value: `its member "has_more" says that there is more`.
        advice: how to read on where `url` is None.
    """

    url: httpx.URL | None
    words: str
    advice: str = ""


def next_page(
    response: httpx.Response, *, cursor: Cursor | None = None, is_first: bool = True, content: bytes | None = None
) -> NextPage | None:
    """Return what an answer says about the page after it, or None if it does not say that there is one.

    Args:
        response: an answer with its request, and with its body read.
        cursor: dotted path of the member that holds the cursor, and the name of the parameter to send it as.
        is_first: False for a later page of a list, where a total does not tell how many records came before.
        content: the body; by default that of the response.
    """
    body = _parsed(response.content if content is None else content)
    members = paging_members(body)
    if cursor is not None:
        is_there, text = _text_at(body, cursor[0])
        if text and not members.ends:
            return _with_parameter(response, cursor[1], text, _quoted(cursor[0]))
        if is_first and not is_there:
            following = next_page(response, content=content)
            if following is not None and following.url is not None:
                return NextPage(None, following.words, _WITHOUT_CURSOR.format(_quoted_path(cursor[0])))
        return None if is_there else _not_followed(response, members, is_first)
    target = link_target(response.headers.get("link", ""), "next")
    if target is not None:
        return _at(response, target, "its Link header")
    if not members.ends:
        for path, text in members.urls:
            return _at(response, text, _quoted(path))
        for path, parameter, text in members.tokens:
            return _with_parameter(response, parameter, text, _quoted(path))
    return _not_followed(response, members, is_first)


def check_origin(url: httpx.URL, first: httpx.URL) -> None:
    """Check that a next page is at the origin of the first one, or at the symbol of an address in a recording.

    Raises:
        UnsafeAddress: if it is elsewhere, or has a user name or password in its URL.
    """
    if url.userinfo:
        raise UnsafeAddress(
            "The next page has a user name or password in its URL.", "Nothing was sent there; ask the service why."
        )
    is_recorded = url.scheme == "https" and url.host in _SYMBOLIC_HOSTS
    if not is_recorded and origin(url) != origin(first):
        raise UnsafeAddress(
            f"The next page is at {excerpt(origin(url))}, which is not the origin of the first, {origin(first)}.",
            "Nothing was sent there. If it is the same service, ask for its first page at that address.",
        )


def _parsed(content: bytes) -> Any:
    """Return the parsed body, or None if it is not JSON, or a list, which says nothing about pages."""
    beginning = content[:_BEGINNING].lstrip()
    is_list = beginning[:1] != b"{" and not _ENVELOPE_IN_A_LIST.match(beginning)
    try:
        return None if is_list else json.loads(content)
    except (ValueError, RecursionError):
        return None  # `tabulate` says what is wrong with it


def _text_at(body: Any, path: str) -> tuple[bool, str]:
    """Return whether there is a member at a dotted path, and its text, or "" if it means the end."""
    value = body
    keys = path.split(".")
    while keys and isinstance(value, dict):
        key = ".".join(keys) if ".".join(keys) in value else keys[0]
        if key not in value:
            return False, ""
        value, keys = value[key], keys[key.count(".") + 1 :]
    if value is None or value is False:
        return True, ""
    if keys or isinstance(value, bool) or not isinstance(value, (str, int)):
        return False, ""
    return True, str(value)


def _at(response: httpx.Response, target: str, place: str) -> NextPage:
    return _named(place, lambda: url_of(response).join(target).copy_with(fragment=None))


def _with_parameter(response: httpx.Response, name: str, text: str, place: str) -> NextPage:
    return _named(place, lambda: url_of(response).copy_set_param(name, text))


def _named(place: str, url: Callable[[], httpx.URL]) -> NextPage:
    """Return the next page that is named at a place, also if its URL is malformed or too long."""
    try:
        following = url()
        _ = following.host  # decodes an international name
    except (httpx.InvalidURL, UnicodeError):
        return NextPage(None, f"{place} names a next page, but not in a URL that can be read", _BY_HAND)
    return NextPage(following, _names(place))


def url_of(response: Any) -> httpx.URL:
    """Return the URL that was asked for; an empty one for a response that does not know it."""
    try:
        return httpx.URL(str(response.request.url))
    except (AttributeError, RuntimeError, httpx.InvalidURL):
        return httpx.URL()


def _not_followed(response: httpx.Response, members: PagingMembers, is_first: bool) -> NextPage | None:
    """Return that there is more, if any member says so, in a way that is not followed."""
    if members.ends:
        return None
    for path in members.cursors:
        return NextPage(None, _names(_quoted(path)), _WITH_CURSOR.format(_quoted_path(path)))
    for path in members.more:
        return NextPage(None, f"{_quoted(path)} says that there is more", _BY_HAND)
    if response.headers.get("x-next-page", "").strip():
        return NextPage(None, _names("its header X-Next-Page"), _BY_HAND)
    part = "" if members.has_empty_cursor else members.part_of_all(is_first=is_first)
    return NextPage(None, f"it is {part}", _BY_HAND) if part else None


def _names(place: str) -> str:
    return f"{place} names a next page"


def _quoted(path: str) -> str:
    return f"its member {_quoted_path(path)}"


def _quoted_path(path: str) -> str:
    return f'"{excerpt(path, _SHOWN)}"'
