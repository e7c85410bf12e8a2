"""The warning about a table that lacks pages of a list."""

from __future__ import annotations

from typing import Any

from toolkit.core.user_code import warn
from toolkit.tables.json_body import is_response
from toolkit.transport.next_page import IS_FOLLOWED, NextPage, next_page, url_of


class UnreadPages:
    """The pages that answers name and that are not among these answers."""

    def __init__(self) -> None:
        self._answers = 0
        self._last: Any = None
        self._read: set[str] = set()
        self._named: list[NextPage] = []

    def note(self, data: Any) -> None:
        """Note an answer and what it says about the page after it; anything else says nothing."""
        if not is_response(data) or not hasattr(data, "headers"):
            return
        self._answers += 1
        self._read.add(str(url_of(data)))
        self._look_at_last()
        self._last = data  # `tk.pages` marks it when the page after it is asked for

    def _look_at_last(self) -> None:
        if self._last is None or IS_FOLLOWED in getattr(self._last, "extensions", ()):
            return
        following = next_page(self._last)
        if following is not None:
            self._named.append(following)

    def warn(self) -> None:
        """Warn if there are any, and say how to get them."""
        self._look_at_last()
        unread = next((page for page in self._named if page.url is None or str(page.url) not in self._read), None)
        if unread is None:
            return
        table = "is one page" if self._answers == 1 else "lacks pages"
        how = unread.advice or "tk.tabulate(tk.pages(client, path)) reads all pages."
        warn(f"This table {table} of a list: {unread.words}. {how}")
