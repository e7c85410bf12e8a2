"""The members of an object, which show whether it is an envelope, wrapped around records by a service, or a record.

Names are compared word by word (`column_names.words`), so `nextPageToken` and `next_page_token` are the same. Words
suffice to find records; `transport.paging_members` lists the exact names by which next pages are recognized.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from toolkit.tables.column_names import KeyPath, is_key, words

# Words for paging and for the outcome of a request.
_ENVELOPE_WORDS: Final = frozenset(
    "next previous prev first last page pages paging pagination pageable limit offset cursor total count more links "
    "link meta metadata request response success ok error errors message messages warning warnings self after before "
    "trace correlation scroll".split()
)
# Words that belong to an envelope only beside one of the words above: `next_page_token`, `request_id`, `totalResults`.
_BESIDE_ENVELOPE_WORDS: Final = frozenset(
    "id number token key size url uri href has is per of start end info data items results records elements max".split()
)
_PAGING_WORDS: Final = frozenset("next previous prev page pages paging pagination pageable offset cursor more".split())
# Lists with these names are about the records, and are not the records.
_ASIDE_WORDS: Final = frozenset(
    "link links error errors message messages warning warnings meta metadata paging pagination request "
    "schema facets aggregations".split()
)
# Names that say only that the records are here.
_MAIN_NAMES: Final = frozenset(
    "data items results result records rows values value entries hits docs documents objects elements list nodes "
    "edges node collection content features".split()
)
# Of these, the names that a record does not use for a list of its own, as an order does for its `items`.
_RESULT_NAMES: Final = _MAIN_NAMES - frozenset("items objects elements nodes list content collection features".split())
# Words for the identity of a record, in contrast to a symbol that many records share.
_OWN_KEY_WORDS: Final = frozenset("id uuid guid number no account acct".split())
# Names, beside those of keys, for what all records of an answer share.
_SHARED_NAMES: Final = (["name"], ["instrument"], ["pair"], ["package"])
_SUCCESS: Final = frozenset({"ok", "success", "succeeded"})
_OUTCOMES: Final = frozenset({"200", "0", "1", "true"})
# The last word of a type that is a list: `list`, `PodList`, `hydra:Collection`, but not `playlist`.
_COLLECTION: Final = re.compile(r"(?:^|[^A-Za-z]|(?<=[a-z])(?=[A-Z]))(?i:list|collection|page|bundle|searchset)$")
_LONGEST_TYPE: Final = 100  # characters
_NEUTRAL_NAMES: Final = frozenset("etag url uri href apiversion api_version version".split())
_TIME_WORDS: Final = frozenset(
    "time times timestamp timestamps date dates datetime t day days period periods year years month months".split()
)
# Plain values beside a qualified identity (`order_id`) that make an object a record.
_CONTENT: Final = 3
# Objects beside a list that make an object a record.
_CONTENT_OBJECTS: Final = 3


def is_envelope_name(name: str) -> bool:
    """Check whether a name is about paging or the outcome of a request: next_page_token, hasMore, request_id."""
    parts = set(words(name))
    return bool(parts & _ENVELOPE_WORDS) and parts <= _ENVELOPE_WORDS | _BESIDE_ENVELOPE_WORDS


def is_paging_name(name: str) -> bool:
    """Check whether a name is about paging: next_page_token, has_more, offset."""
    return is_envelope_name(name) and not _PAGING_WORDS.isdisjoint(words(name))


def is_aside(path: KeyPath) -> bool:
    """Check whether a path leads through links, errors, metadata or the like, which are not the records."""
    return any(bool(parts := set(words(name))) and parts <= _ASIDE_WORDS for name in path)


def is_main(name: str) -> bool:
    """Check whether a name says only that the records are here: data, items, results."""
    return words(name)[-1:] == [name.strip("_$@").lower()] and name.strip("_$@").lower() in _MAIN_NAMES


def is_result(name: str) -> bool:
    """Check whether a name says that the records are here, and is not that of a list inside a record."""
    return is_main(name) and name.strip("_$@").lower() in _RESULT_NAMES


def is_collection(name: str, value: Any) -> bool:
    """Check whether a member says that the answer is a list: `"object": "list"`, `"kind": "PodList"`."""
    is_about_type = words(name)[-1:] in (["object"], ["type"], ["kind"])
    return is_about_type and isinstance(value, str) and bool(_COLLECTION.search(value[-_LONGEST_TYPE:]))


def is_outcome(name: str, value: Any) -> bool:
    """Check whether a member describes the answer and nothing else: `"status": "ok"`, `"object": "list"`, an ETag."""
    if isinstance(value, str) and value.lower() in _SUCCESS:
        return True
    if words(name)[-1:] in (["status"], ["code"]):
        return str(value).lower() in _OUTCOMES
    return is_collection(name, value) or (name.lower() in _NEUTRAL_NAMES and not isinstance(value, (dict, list)))


def is_leading(name: str) -> bool:
    """Check whether a plain value with this name beside the records belongs to each of them: a symbol, a currency."""
    is_shared = words(name) in _SHARED_NAMES or words(name)[-1:] == ["currency"]
    return is_shared or (is_key(name) and not is_envelope_name(name))


def is_own_key(name: str) -> bool:
    """Check whether a name is that of a record's own identity, without a qualifier: id, uuid, number."""
    return len(words(name)) == 1 and words(name)[0] in _OWN_KEY_WORDS


def is_qualified_key(name: str) -> bool:
    """Check whether a name is that of an identity with a qualifier: account_number, list_id."""
    return is_key(name) and not is_envelope_name(name) and words(name)[-1] in _OWN_KEY_WORDS


def is_time(name: str) -> bool:
    """Check whether a name is that of instants or dates."""
    return not _TIME_WORDS.isdisjoint(words(name))


def are_names_of_members(names: Iterable[str]) -> bool:
    """Check whether names in capitals, DATA and LINKS, are those of an envelope, in contrast to symbols.

    A few symbols are words of envelopes too, such as META and NEXT, so one of the names must be a main one.
    """
    lower = {name.lower() for name in names}
    return lower <= _MAIN_NAMES | _ENVELOPE_WORDS and not lower.isdisjoint(_MAIN_NAMES | {"response", "errors"})


def is_record(value: Mapping[str, Any], key: str) -> bool:
    """Check whether an object is a record that has records at one of its keys, in contrast to an envelope.

    A record says who it is: it has an id, uuid or number, or one with a qualifier (`account_number`) beside at least
    three more plain values. A symbol does not make a record, and neither does an id beside paging, `results` or
    `"object": "list"`.
    Without an identity, at least three objects beside the list make a record.
    """
    names = [name for name in value if isinstance(name, str)]
    if is_result(key) or any(is_paging_name(name) or is_collection(name, value[name]) for name in names):
        return False
    plain = [name for name, member in value.items() if isinstance(name, str) and _is_plain(member)]
    if any(is_own_key(name) for name in plain):
        return True
    if any(is_qualified_key(name) for name in plain):
        return sum(not is_key(name) and not is_about_request(name, value[name]) for name in plain) >= _CONTENT
    objects = [name for name, member in value.items() if name != key and isinstance(member, dict) and member]
    return sum(not is_envelope_name(name) for name in objects if isinstance(name, str)) >= _CONTENT_OBJECTS


def is_bare(value: Mapping[str, Any], path: KeyPath) -> bool:
    """Check whether the objects on a path hold nothing of their own beside it, and only wrap what is there."""
    for step in path:
        if any(name != step and not is_about_request(name, member) for name, member in value.items()):
            return False
        value = value[step]
    return True


def is_about_request(name: Any, member: Any, *, nulls: bool = True) -> bool:
    """Check whether a member of an envelope says nothing of its own: paging, an outcome, a key, or nothing at all."""
    if nulls and member in (None, {}, []):
        return True
    return isinstance(name, str) and (
        is_envelope_name(name) or is_outcome(name, member) or (is_key(name) and _is_plain(member))
    )


def _is_plain(member: Any) -> bool:
    return member is not None and not isinstance(member, (dict, list, tuple))
