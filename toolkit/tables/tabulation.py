"""The records of a JSON value as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import pandas as pd
import pyarrow as pa
from pandas.api import types

from toolkit.core.arguments import as_choice, as_mapping
from toolkit.core.errors import ConfigurationError, TabulationError
from toolkit.core.escaping import excerpt
from toolkit.core.user_code import warn
from toolkit.tables.arrow_text import Numbers
from toolkit.tables.frames import table_of
from toolkit.tables.json_body import response_body
from toolkit.tables.schema_columns import wanted_schema
from toolkit.tables.source import RowSource


def tabulate(
    data: Any,
    *,
    numbers: Numbers = "float",
    dtypes: Mapping[str, Any] | None = None,
    records: str | None = None,
    key: str | None = None,
    schema: Any = None,
) -> pd.DataFrame:
    """Return a table of the records in an answer, or in all pages of a list: a row for each, numbered from 0.

        quotes = tabulate(response, records="quotes", key="symbol")
        positions = tabulate(response, records="positions")
        table = positions.merge(tabulate(response), on=["id", "account_number"])
        positions = tabulate(accounts, records="positions")  # from a column of the table of accounts

    Rows
        - A list gives a row for each member. An empty list gives a table without columns.
        - An object around a list of records, at any depth, gives a row for each record:
          `{"data": {"items": [...], "total": 9}}`. Paging, totals and other plain values beside the list are left out;
          a symbol or another key, a name and a currency become the first columns. Of GraphQL's edges, the rows are
          the nodes.
        - Records under keys, `{"bars": {"ALFA": [...], "BRVO": [...]}}`, have their key in the first column.
        - Arrays of equal length are columns in an object, `{"timestamp": [...], "equity": [...]}`, after the plain
          values beside them. In a list, `[["2026-05-12", 1.5], ...]`, they are rows.
        - Of several lists of records, the one called data, items, results or the like has the rows, or else the one
          that is less deep; a warning names the others. If that does not decide, an error names all of them.
        - An object with an id or number of its own is one row, unless it looks like a page. Its lists become JSON
          text, and a warning says how to open them.
        - `records` names another list by its dotted path. A list inside records, such as the `positions` of many
          accounts, gives a row for each member of each list; its first columns are the keys of the records around it
          (`id`, `account_number`, ...). Two keys called `id` become `<list>.id` or `parent.id`, and `<list>.<list>.id`
          for a list inside a list of the same name.

    Columns
        They come in order of first appearance. A member of a nested object is named by its dotted path. Of equal names
        the second gets ` (2)`, the third ` (3)` and so on. A list inside a record becomes JSON text. A record that is
        not an object is in the column `value`.

    Types
        Null and absent are both missing values.

        - JSON numbers without a fraction are Int64. Numbers with a fraction, or beyond int64, depend on `numbers`:
          "float" gives float64, which is exact for cents below 1e13, and warns if a number has more than 15 significant
          digits; "decimal" gives Arrow's decimal128, exact to 38 digits. With "text" every number, even an integer, is
          text as the service wrote it.
        - Text becomes numbers in the same way if every text of a column reads as a JSON number, as "007" does not.
          Text stays text in a column with the name of a code, such as one that ends in id, number, code, symbol, zip,
          phone, version, prefix, hash or last4.
        - RFC 3339 instants are datetime64[us, UTC]. Dates (2026-05-12) and local times, whose instants are unknown
          (2026-05-12 09:30:00, with a space or a T), are datetime64[us] without a zone. Beside them, empty text is
          missing.
        - Booleans are boolean, other text is str. Columns without any value, and of mixed types, are object.

        These types are inferred from one answer, so another page of the same list may give others. With `schema` the
        table has exactly the columns of the schema, in its order and with its types, and missing values where the
        answer has none. Fields that the schema lacks are left out with a warning. `tk.schema` makes the schema of a
        table and shows how to write pages as one dataset.

    Files
        Parquet keeps every type. Excel has no time zones, and treats text that begins with = as a formula:

            table.to_parquet("table.parquet")
            instants = table.select_dtypes("datetimetz").apply(lambda column: column.dt.tz_localize(None))
            table.assign(**instants).to_excel("table.xlsx")

    Args:
        data: a response, JSON as bytes or text, a parsed value, or a table if `records` names its column; or pages:
            `tk.pages(...)`, a list of responses, or any iterator over responses. Their rows are joined while they
            arrive, and have the types of all together. If they name a page that is not among them, a warning says so.
        numbers: "float", "decimal" or "text".
        dtypes: maps columns to dtypes of pandas, NumPy or Arrow, which take precedence over the rules above. Text is
            read as that dtype. A value that would lose its fraction or a digit is refused, except that a fraction
            becomes the nearest float. Names that are not columns are ignored.
        records: dotted path of the list or object that holds the records, or in a table the name of a column of JSON
            text. `tabulate([value])` makes one row of any object.
        key: name of the column for the keys that records stand under. Name it, too, if an object holds records under
            keys that do not look like data.
        schema: a pyarrow.Schema, or a table (DataFrame, pyarrow.Table) that has the schema. It takes precedence over
            the rules above and over `numbers`. Anything fits text. Text fits numbers, dates and times if it would
            become one by the rules above (so "007" is not a number); empty text is missing except in columns of text.

    Raises:
        ServiceError: if a response has an error status.
        TabulationError: if the data is not JSON (such as NaN) or has a name twice in one object, if there is no list
            at `records` or there are several to choose from, if a value does not fit its column, or if a column is in
            both `dtypes` and `schema`.
        ValueError: if `numbers` is anything else.
    """
    source = RowSource(data, records, key)
    table = _table(source, numbers, {} if dtypes is None else dtypes, schema, hints_at_lists=True)
    source.unread.warn()
    return table


def account_table(responses: Sequence[Any], *, is_one_account: bool) -> pd.DataFrame:
    """Return the table of answers of accounts, as `tabulate` does, without hints at lists and at pages to come.

    If the answer is one account, that is one row with all its fields, whatever lists and objects it holds.
    """
    data: Any = responses
    if is_one_account:
        value = response_body(responses[0]).parse()
        data = value if isinstance(value, list) else [value]
    return _table(RowSource(data), "float", {}, None, hints_at_lists=False)


def _table(
    source: RowSource, numbers: Numbers, dtypes: Mapping[str, Any], schema: Any, *, hints_at_lists: bool
) -> pd.DataFrame:
    as_choice(numbers, get_args(Numbers), about="numbers")
    dtypes = as_mapping(dtypes, about="dtypes", example='{"account_number": "str"}')
    requested = {name: _dtype(name, dtype) for name, dtype in dtypes.items()}
    wanted = wanted_schema(schema, requested)
    exact = _names_of_exact(requested, wanted) if numbers == "float" else []
    try:
        columns, count = source.read(numbers, exact)
    except RecursionError:
        raise TabulationError("The value is nested too deeply.", "Tabulate a part of it.", about="data") from None
    table = table_of(columns, count, numbers=numbers, requested=requested, schema=wanted)
    if source.provenance is not None:
        table.attrs["source"] = source.provenance
    if source.hint and (hints_at_lists or not source.is_record):
        warn(source.hint)
    return table


def _dtype(name: str, dtype: Any) -> Any:
    try:
        return types.pandas_dtype(dtype)
    except (TypeError, ValueError):
        reason = "is not a type that pandas knows"
    raise ConfigurationError(
        f"The dtype of the column {excerpt(str(name))} {reason}.",
        'For example dtypes={"account_number": "str", "cash": "float64"}.',
        about="dtypes",
    )


def _names_of_exact(requested: Mapping[str, Any], schema: Any | None) -> list[str]:
    """Return the names of columns that shall have another type than floats."""
    names = [name for name, dtype in requested.items() if dtype.kind != "f"]
    return names if schema is None else [field.name for field in schema if not pa.types.is_floating(field.type)]
