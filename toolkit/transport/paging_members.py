"""The members of a JSON answer that are about paging: where a next page is, and whether there is one.

Members are looked for in the answer itself, in objects that are named for paging (`links`, `meta`, `pageInfo`, ...),
and in objects that hold a list. Lists are not searched, except for `{"rel": "next", "href": ...}`.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Final

# Names are compared in lower case and without signs between their words.
_SIGNS: Final = re.compile(r"[\W_]+")
_PAGING_OBJECTS: Final = frozenset(
    "link links paging pagination pager page pages pageinfo paginginfo paginationinfo pagemetadata meta metadata "
    "responsemetadata searchmetadata additionaldata resultinfo listinfo cursor cursors".split()
)
_NEXT: Final = frozenset(
    "next nextpage nexturl nexturi nextlink nexthref nextpageurl nextpageuri nextpagelink nextpagehref "
    "nextrecordsurl nextresultsurl odatanextlink".split()
)
_ADDRESSES: Final = ("href", "url", "link", "uri")  # keys of the URL in an object that is a link
_RELATIONS: Final = ("rel", "relation")
_PARAMETERS: Final = {"nextPageToken": "pageToken", "next_page_token": "page_token"}
_CURSORS: Final = frozenset(
    "cursor nextcursor nextcursorstr cursornext aftercursor endcursor pagecursor nextpagecursor nexttoken "
    "nextpagetoken pagetoken pagingtoken paginationtoken nextpaginationtoken continuationtoken nextcontinuationtoken "
    "continuation continue nextmarker nextkey nextpagekey nextpageid nextpagenumber nextoffset nextstart nextid "
    "nextafter startingafter after scrollid".split()
)
_MORE: Final = frozenset(
    "hasmore more moreresults hasmoreresults hasmoreitems hasmorepages hasmoredata hasnext hasnextpage "
    "istruncated moreavailable moreitemsincollection".split()
)
_LAST: Final = frozenset("islast islastpage lastpage last endoflist".split())
_PAGE: Final = frozenset("page currentpage pagenumber pageno".split())
_PAGES: Final = frozenset("pages totalpages pagecount pagestotal lastpage numpages numberofpages".split())
_TOTAL: Final = frozenset(
    "total count totalcount totalresults totalitems totalrecords totalelements totalsize totalentries totalhits "
    "recordstotal numfound".split()
)
_OFFSET: Final = frozenset("offset skip start startat startindex".split())
_SIZE: Final = frozenset("limit perpage pagesize size maxresults".split())

_DEPTH: Final = 5
_MOST_OBJECTS: Final = 200
_MOST_MEMBERS: Final = 100  # an object with more members maps keys to data


@dataclass(slots=True)
class PagingMembers:
    """What the members of an answer say about the page after it. Paths are dotted.

    Attributes:
        urls: paths and URLs of next pages.
        tokens: paths, parameters and values of the page tokens that have a known parameter.
        cursors: paths of other cursors.
        more: paths of members that say that there is more.
        ends: whether a member says that this is the last page (`has_more` is false).
        has_empty_cursor: whether a member for the next page is there, and empty.
        counts: page, number of pages, number of all records, number of those before this page, and page size.
        records: number of records in the longest list, or None if there is no list of objects.
    """

    urls: list[tuple[str, str]] = field(default_factory=list)
    tokens: list[tuple[str, str, str]] = field(default_factory=list)
    cursors: list[str] = field(default_factory=list)
    more: list[str] = field(default_factory=list)
    ends: bool = False
    has_empty_cursor: bool = False
    counts: dict[str, int] = field(default_factory=dict)
    records: int | None = None

    def part_of_all(self) -> str:
        """Return words such as "page 1 of 5" if the counts tell that this is not the last page, or ""."""
        if self.records is None:
            return ""
        page, pages, total = (self.counts.get(name) for name in ("page", "pages", "total"))
        if page is not None and pages is not None:
            return f"page {page} of {pages}" if page < pages else ""
        if total is None:
            return ""
        before = self.counts.get("offset", 0)
        if page is not None:
            before = max(before, (page - 1) * self.counts.get("size", self.records))
        return f"{self.records:,} of {total:,} records" if before + self.records < total else ""


def paging_members(value: Any) -> PagingMembers:
    """Return what the members of a parsed answer say about the page after it."""
    members = PagingMembers()
    waiting: deque[tuple[Any, tuple[str, ...]]] = deque([(value, ())])
    for _ in range(_MOST_OBJECTS):
        if not waiting:
            break
        record, path = waiting.popleft()
        if not isinstance(record, dict):
            continue
        is_map = len(record) > _MOST_MEMBERS
        if not path or _plain(path[-1]) in _PAGING_OBJECTS or (not is_map and _holds_list(record)):
            for key, member in record.items():
                _note(members, (*path, key), member, record)
        if len(path) < _DEPTH:
            waiting.extend(
                (member, (*path, key))
                for key, member in record.items()
                if isinstance(member, dict) and (not is_map or _plain(key) in _PAGING_OBJECTS)
            )
    return members


def _holds_list(record: dict[str, Any]) -> bool:
    return any(isinstance(member, list) for member in record.values())


def _note(members: PagingMembers, path: tuple[str, ...], member: Any, record: dict[str, Any]) -> None:
    """Note what a member says; `record` is the object that it belongs to."""
    name, place = _plain(path[-1]), ".".join(path)
    if isinstance(member, list):
        _note_list(members, name, place, member)
    elif isinstance(member, bool):
        if name in _MORE | _NEXT or name in _LAST:
            if member is (name in _LAST):
                members.ends = True
            else:
                members.more.append(place)
    elif name in _NEXT:
        _note_next(members, place, member)
    elif name in _CURSORS:
        _note_cursor(members, path, member, record)
    elif isinstance(member, int):
        _note_count(members, name, member, record)
    elif name == "total" and isinstance(member, dict):
        _note_count(members, name, member.get("value"), record)


def _note_list(members: PagingMembers, name: str, place: str, items: list[Any]) -> None:
    if not items or isinstance(items[0], (dict, list)):
        members.records = max(members.records or 0, len(items))
    if name in ("link", "links"):
        for item in items[:_MOST_MEMBERS]:
            if isinstance(item, dict) and any(item.get(key) == "next" for key in _RELATIONS):
                _note_next(members, place, item)


def _note_next(members: PagingMembers, place: str, member: Any) -> None:
    """Note a member for the next page: a URL, an object with a URL, or a cursor."""
    if isinstance(member, dict):
        address = next((key for key in _ADDRESSES if isinstance(member.get(key), str)), None)
        scalar = next((key for key, value in member.items() if isinstance(value, (str, int)) and value), None)
        if address is not None and member[address]:
            members.urls.append((f"{place}.{address}", member[address]))
        elif scalar is not None:
            members.cursors.append(f"{place}.{scalar}")
    elif not member:
        members.has_empty_cursor = True
    elif isinstance(member, str) and _is_address(member):
        members.urls.append((place, member))
    else:
        members.cursors.append(place)


def _note_cursor(members: PagingMembers, path: tuple[str, ...], member: Any, record: dict[str, Any]) -> None:
    if not member:
        members.has_empty_cursor = True
    elif path[-1] in _PARAMETERS and isinstance(member, str):
        members.tokens.append((".".join(path), _PARAMETERS[path[-1]], member))
    elif isinstance(member, (str, int)) and not (path[-1] == "after" and record.get("before")):
        # `before` and `after` side by side are the ends of this page, whether there is another or not.
        members.cursors.append(".".join(path))


def _note_count(members: PagingMembers, name: str, count: Any, record: dict[str, Any]) -> None:
    if not isinstance(count, int) or isinstance(count, bool):
        return
    kinds = {"page": _PAGE, "pages": _PAGES, "total": _TOTAL, "offset": _OFFSET, "size": _SIZE}
    for kind, names in kinds.items():
        # A record may have a total of its own, such as the quantity of an order.
        if name in names and not (name in ("total", "count") and "id" in record):
            members.counts[kind] = max(count, members.counts.get(kind, count))
    if name == "number":  # counted from 0
        members.counts.setdefault("page", count + 1)


def _is_address(text: str) -> bool:
    return text.startswith(("http://", "https://", "/")) or "?" in text


def _plain(name: str) -> str:
    return _SIGNS.sub("", name).lower()
