"""JSON answers, calls and tokens as pandas tables, and charts of them.

`tabulation` makes a table of an answer or of pages. `building` reads the JSON and spreads records over the columns of a
table that grows answer by answer: `rows` finds the records, `columns` says what names mean, infers types and converts
from one type to another, and `schema` gives the types that the user asks for. `comparison` tells what differs between
two tables, `display` shows tables and makes those of calls and tokens, and `charts` draws them.

The four functions below are imported when they are first used, because pandas takes half a second to import.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolkit.tables.comparison import compare
    from toolkit.tables.display import calls_table, tokens_table
    from toolkit.tables.tabulation import tabulate

_MODULES = {
    "calls_table": "display",
    "compare": "comparison",
    "tabulate": "tabulation",
    "tokens_table": "display",
}

__all__ = ["calls_table", "compare", "tabulate", "tokens_table"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
