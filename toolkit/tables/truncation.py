"""The warning about a table that is only one page of a list."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from toolkit.core.user_code import warn
from toolkit.tables.arrow_reader import WORTHWHILE
from toolkit.tables.brackets import find_brackets, lists_within
from toolkit.tables.flatten import MAX_DEPTH
from toolkit.tables.json_body import is_response
from toolkit.transport.next_page import next_page

_LONG: Final = 16 * 1024  # bytes of a list that holds records rather than links to pages


def warn_of_more(data: Any) -> None:
    """Warn if the data is a response that says that there is more, and say how to get it."""
    if not is_response(data) or not hasattr(data, "headers"):
        return
    following = next_page(data, content=without_records(bytes(data.content)))
    if following is None:
        return
    how = following.advice or "tk.tabulate(tk.pages(client, path)) reads all pages."
    warn(f"This table is one page of a list: {following.words}. {how}")


def without_records(content: bytes) -> bytes:
    """Return a large body with as many empty records in the place of each long list's own, so that it is read quickly.

    The body stays as it is if it is not one object, or not JSON.
    """
    if len(content) < WORTHWHILE or content.lstrip()[:1] != b"{":
        return content
    brackets = find_brackets(content, MAX_DEPTH)
    if brackets is None:
        return content
    parts, copied = [], 0
    for begin, end in lists_within(content, brackets, 0, len(brackets.positions) - 1):
        if end - begin < _LONG:
            continue
        first, last = np.searchsorted(brackets.positions, [begin, end - 1]).tolist()
        inside = slice(first + 1, last)
        is_record = brackets.is_opening[inside] & (brackets.depth[inside] == brackets.depth[first] + 1)
        parts += [content[copied:begin], b"[", b",".join([b"{}"] * int(is_record.sum())), b"]"]
        copied = end
    return b"".join([*parts, content[copied:]])
