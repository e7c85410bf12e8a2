"""The members of a JSON answer that are about paging: where a next page is, and whether there is one.

Members are looked for in the answer itself, in objects that are named for paging (`links`, `meta`, `pageInfo`, ...) and
those inside them, and in objects that hold a list. Lists are not searched, except for `{"rel": "next", "href": ...}`.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

# Names are compared in lower case, without a prefix (`hydra:`, `@odata.`) and without signs between their words.
_SIGNS: Final = re.compile(r"[\W_]+")
_LONGEST_NAME: Final = 60
_PAGING_OBJECTS: Final = frozenset(
    "link links paging pagination pager page pages pageinfo paginginfo paginationinfo pagemetadata meta metadata "
    "responsemetadata searchmetadata additionaldata resultinfo listinfo cursor cursors view".split()
)
_NEXT: Final = frozenset(
    "next nextpage nexturl nexturi nextlink nexthref nextpageurl nextpageuri nextpagelink nextpagehref "
    "nextrecordsurl nextresultsurl".split()
)
_ADDRESSES: Final = ("href", "url", "link", "uri")  # keys of the URL in an object that is a link
_RELATIONS: Final = ("rel", "relation")
_PARAMETERS: Final = {"nextPageToken": "pageToken", "next_page_token": "page_token"}
_CURSORS: Final = frozenset(
    "cursor nextcursor nextcursorstr cursornext aftercursor endcursor pagecursor nextpagecursor nexttoken "
    "nextpagetoken pagetoken pagingtoken paginationtoken nextpaginationtoken continuationtoken nextcontinuationtoken "
    "continuation continue nextmarker nextkey nextpagekey nextpageid nextpagenumber nextoffset nextstart nextid "
    "nextafter startingafter after scrollid lastevaluatedkey".split()
)
# Names that a single record may have: they count in an answer that has a list or an object beside them.
_BARE: Final = frozenset("next cursor after continue continuation".split())
_MORE: Final = frozenset(
    "hasmore more moreresults hasmoreresults hasmoreitems hasmorepages hasmoredata hasnext hasnextpage "
    "istruncated moreavailable moreitemsincollection exceededtransferlimit".split()
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
_COUNTS: Final = {"page": _PAGE, "pages": _PAGES, "total": _TOTAL, "offset": _OFFSET, "size": _SIZE}

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
        records: number of members of the longest list, or None if there is no list.
    """

    urls: list[tuple[str, str]] = field(default_factory=list)
    tokens: list[tuple[str, str, str]] = field(default_factory=list)
    cursors: list[str] = field(default_factory=list)
    more: list[str] = field(default_factory=list)
    ends: bool = False
    has_empty_cursor: bool = False
    counts: dict[str, int] = field(default_factory=dict)
    records: int | None = None

    def part_of_all(self, *, is_first: bool = True) -> str:
        """Return words such as "page 1 of 5" if the counts tell that this is not the last page, or "".

        A total alone tells that of the first page only: how many records came before a later one is not known.
        """
        if self.records is None:
            return ""
        page, pages, total = (self.counts.get(name) for name in ("page", "pages", "total"))
        if page is not None and pages is not None:
            return f"page {page} of {pages}" if page < pages else ""
        if total is None or not (is_first or page is not None or "offset" in self.counts):
            return ""
        before = self.counts.get("offset", 0)
        if page is not None:
            before = max(before, (page - 1) * self.counts.get("size", self.records))
        return f"{self.records:,} of {total:,} records" if before + self.records < total else ""


def paging_members(value: Any) -> PagingMembers:
    """Return what the members of a parsed answer say about the page after it."""
    members = PagingMembers()
    if isinstance(value, list) and [type(member) for member in value] == [dict, list]:
        value = {"page": value[0], "items": value[1]}
    waiting: deque[tuple[Any, tuple[str, ...]]] = deque([(value, ())])
    for _ in range(_MOST_OBJECTS):
        if not waiting:
            break
        record, path = waiting.popleft()
        if not isinstance(record, dict):
            continue
        is_map = len(record) > _MOST_MEMBERS
        is_about_paging = not path or any(_plain(key) in _PAGING_OBJECTS for key in path)
        if is_about_paging or (not is_map and _holds_list(record)):
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
    name = _plain(path[-1])
    if isinstance(member, list):
        _note_list(members, path, name, member)
    elif isinstance(member, bool):
        if name in _LAST or name in _MORE or name in _NEXT:
            if member is (name in _LAST):
                members.ends = True
            else:
                members.more.append(".".join(path))
    elif name in _NEXT or name in _CURSORS:
        if name not in _BARE or len(path) > 1 or any(isinstance(other, (list, dict)) for other in record.values()):
            (_note_next if name in _NEXT else _note_cursor)(members, path, member, record)
    elif isinstance(member, int):
        _note_count(members, name, member, record)
    elif name == "offset" and isinstance(member, str) and member and not member.isdecimal():
        members.cursors.append(".".join(path))
    elif name == "total" and isinstance(member, dict):
        _note_count(members, name, member.get("value"), record)


def _note_list(members: PagingMembers, path: tuple[str, ...], name: str, items: list[Any]) -> None:
    members.records = max(members.records or 0, len(items))
    if name in ("link", "links"):
        for item in items[:_MOST_MEMBERS]:
            if isinstance(item, dict) and any(item.get(key) == "next" for key in _RELATIONS):
                _note_next(members, path, item, {})


def _note_next(members: PagingMembers, path: tuple[str, ...], member: Any, _: dict[str, Any]) -> None:
    """Note a member for the next page: a URL, an object with a URL, or a cursor."""
    place = ".".join(path)
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
    elif isinstance(member, dict) and _plain(path[-1]) not in _PAGING_OBJECTS:
        scalar = next((key for key, value in member.items() if isinstance(value, (str, int)) and value), None)
        members.cursors.append(".".join(path if scalar is None else (*path, scalar)))
    elif path[-1] in _PARAMETERS and isinstance(member, str):
        members.tokens.append((".".join(path), _PARAMETERS[path[-1]], member))
    elif isinstance(member, (str, int)) and not (path[-1] == "after" and record.get("before")):
        # `before` and `after` side by side are the ends of this page, whether there is another or not.
        members.cursors.append(".".join(path))


def _note_count(members: PagingMembers, name: str, count: Any, record: dict[str, Any]) -> None:
    if not isinstance(count, int) or isinstance(count, bool):
        return
    for kind, names in _COUNTS.items():
        # A record may have a total of its own, such as the quantity of an order.
        if name in names and not (name in ("total", "count") and "id" in record):
            members.counts[kind] = max(count, members.counts.get(kind, count))
    if len(record) <= _MOST_MEMBERS and (name.startswith("total") or name.endswith("count")):
        lists = (_plain(key) for key, member in record.items() if isinstance(member, list))
        if any(name in (f"total{key}", f"{key}count", f"total{key}count") for key in lists):
            members.counts["total"] = max(count, members.counts.get("total", count))
    if name == "number":  # counted from 0
        members.counts.setdefault("page", count + 1)


def _is_address(text: str) -> bool:
    return text.startswith(("http://", "https://", "/")) or "?" in text


def _plain(name: str) -> str:
    return _without_signs(name) if len(name) <= _LONGEST_NAME else ""


@lru_cache(maxsize=2048)  # the answers of a service have the same names
def _without_signs(name: str) -> str:
    return _SIGNS.sub("", name[max(name.rfind(":"), name.rfind(".")) + 1 :]).lower()
