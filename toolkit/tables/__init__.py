"""JSON answers, calls and tokens as pandas tables, and charts of them.

`tabulate` (in `tabulation`) makes a table in this order:

1. `json_body` takes the JSON text out of a response and parses it strictly; `error_statuses` refuses one with an error
   status.
2. `row_choice` finds the records: the value itself, a list in an envelope, or the list that `records` names.
   `envelopes` finds their place by shapes and by what stands beside them (`envelope_members`). Records may also stand
   under keys (`keyed_records`), or in an array for each column (`parallel_arrays`) or row (`arrays_of_rows`).
   `identity` tells which columns identify the records around a row, `row_hints` words hints and errors, and
   `json_columns` opens a column of a table.
3. `flatten` spreads each record over columns, one for each path of keys; `column_names` names them.
4. `columns` infers the Arrow type of each column from its values and its name; `requested_dtypes` applies a dtype that
   the user asked for instead, and `schema_columns` the columns and types of a schema.
5. `arrow_text` converts whole columns of text to numbers and instants, maps Arrow types to pandas dtypes, and
   builds the DataFrame. `frames` puts steps 4 and 5 together.

`source` takes steps 1 to 3 for the data of `tabulate`, with one answer or with pages.
`joining` makes one table of many answers: it takes steps 1 to 3 with each of them, and steps 4 and 5 at the end.
`truncation` warns of a table that is only one page of a list.

`schema` says which columns and types a table has, and which ones several tables fit; `fitting` gives an Arrow table the
types of a schema.

`session_tables` makes the tables of calls and tokens, `comparison` and `differences` tell what differs between two
tables, `display` shows tables to people, and `charts` draws them.

The four functions below are imported when they are first used, because pandas takes half a second to import.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolkit.tables.comparison import compare
    from toolkit.tables.session_tables import calls_table, tokens_table
    from toolkit.tables.tabulation import tabulate

_MODULES = {
    "calls_table": "session_tables",
    "compare": "comparison",
    "tabulate": "tabulation",
    "tokens_table": "session_tables",
}

__all__ = ["calls_table", "compare", "tabulate", "tokens_table"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
