"""The warning about a table that is only one page of a list."""

from __future__ import annotations

from typing import Any

from toolkit.core.user_code import warn
from toolkit.tables.json_body import is_response
from toolkit.transport.next_page import next_page


def warn_of_more(data: Any) -> None:
    """Warn if the data is a response that says that there is more, and say how to get it."""
    if not is_response(data) or not hasattr(data, "headers"):
        return
    following = next_page(data)
    if following is None:
        return
    if following.cursor:
        how = (
            f'tk.tabulate(tk.pages(client, path, cursor=("{following.cursor}", PARAMETER))) reads all pages, with the '
        )
        how += "parameter that the service takes the cursor as."
    else:
        how = following.advice or "tk.tabulate(tk.pages(client, path)) reads all pages."
    warn(f"This table is one page of a list: {following.words}. {how}")
