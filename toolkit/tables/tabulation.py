"""Tables of the records in one or more JSON values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from toolkit.core.errors import TabulationError
from toolkit.core.text import excerpt
from toolkit.core.tracebacks import warn
from toolkit.tables.building import TableBuilder, is_response, table_of, value_of
from toolkit.tables.columns import Numbers, is_key
from toolkit.tables.rows import choose_rows, lists_in
from toolkit.transport.next_page import IS_FOLLOWED, next_page, url_of


def tabulate(
    data: Any,
    *,
    numbers: Numbers = "float",
    dtypes: Mapping[str, Any] | None = None,
    records: str | None = None,
    key: str | None = None,
    schema: Any = None,
) -> pd.DataFrame:
    """Return a table with a row for each record in a response or in all pages of a list, numbered from 0.

        quotes = tabulate(response, records="quotes", key="symbol")
        positions = tabulate(response, records="positions")
        positions = tabulate(accounts, records="positions")  # from a column of the accounts table
        table = positions.merge(tabulate(response), on=["id", "account_number"])

    Rows
        - A list gives a row for each member. An empty list gives a table without rows or columns.
        - An object with one collection, and otherwise only members about paging, status or included resources
          (`next_page_token`, `total`, `links`, `meta`, `included`), gives the collection's rows: `{"accounts": [...],
          "next_page_token": null}`. A collection is a list of objects, or an object whose keys are data, `{"ALFA":
          [...], "BRVO": [...]}`, which become the column `key`. An empty collection gives no rows.
        - Arrays of equal length in an object, one of which contains times, become columns, as in `{"timestamp": [...],
          "equity": [...]}`. Columns for the object's other values come first.
        - If an object's only member is an object, that object is used: `{"data": {"user": {"repos": [...]}}}`.
        - Any other object is one row with all its members. Its lists become JSON text, and a warning names them.
        - `records` is the dotted path of a list, or of an object that contains records, lists or arrays of equal
          length. For a list inside records, such as the `positions` of many accounts, each item of each list is a row,
          and the first columns are the keys of the enclosing records (`id`, `account_number`, ...). Two keys called
          `id` become `<list>.id` or `parent.id`.

    Columns
        Columns are named by their dotted paths. They are in order of first appearance, with the columns of a nested
        object together. If several have the same name, the second gets ` (2)`, the third ` (3)` and so on. A list
        inside a record becomes JSON text. A record that is not an object is in the column `value`.

    Types
        Null and absent values are both missing values.

        - JSON numbers without a fraction are Int64. Numbers with a fraction, or beyond int64, depend on `numbers`:
          "float" gives float64, which is exact to the cent for amounts below 1e13, and warns if a number has more than
          15 significant digits; "decimal" gives Arrow's decimal128, exact to 38 digits. "text" keeps every number, even
          an integer, as the text that the service wrote.
        - Text becomes numbers in the same way if every string in a column is a valid JSON number, which "007" is not.
          It stays text in a column whose name suggests a code or label, such as a name that ends in id, number, code,
          symbol, zip, phone, version, prefix, hash, name, type or last4.
        - RFC 3339 timestamps are datetime64[us, UTC]. Dates (2026-05-12) and local times without a UTC offset
          (2026-05-12 09:30:00, with a space or a T) are datetime64[us] without a time zone. Empty text in a column of
          numbers or times is missing.
        - Booleans are boolean, other text is str. Columns without any values, and columns of mixed types, are object.

        These types are inferred from one response, so another page of the same list may get different types. If
        `schema` is given, the table has exactly the schema's columns, in the same order and with the same types, and
        missing values where the response has no value. Fields that are not in the schema are left out, with a warning.
        `tk.schema` returns the schema of a table, and its help shows how to write pages as one dataset.

    Args:
        data: a response, JSON as bytes or text, a parsed value, or a table if `records` names its column; or pages:
            `tk.pages(...)`, a list of responses, or any iterator over responses. Rows are added as pages arrive, and
            types are inferred from all pages. A warning is issued if the last page says that another one follows.
        numbers: "float", "decimal" or "text".
        dtypes: maps column names to pandas, NumPy or Arrow dtypes, which take precedence over the rules above. Values
            must fit as described for `schema`. Names that are not columns are ignored.
        records: dotted path of the list or object that contains the records; for a table, the path begins with the name
            of a column of JSON text. `tabulate([value])` makes one row from any object.
        key: name of the column for the keys of an object that maps keys to records. It is required if the keys do not
            look like data.
        schema: a pyarrow.Schema, or a table (DataFrame, pyarrow.Table) with the schema to use. It takes precedence over
            the rules above and over `numbers`. Any value fits text. Text fits a number, date or time type if the rules
            above would convert it (so "007" is not a number); empty text becomes missing, except in text columns. A
            number fits a type that can keep all its digits; for a float type, it becomes the nearest float.

    Raises:
        ServiceError: if a response has an error status.
        TabulationError: if the data is not JSON (NaN, for example), if there is no list at `records`, if a value does
            not fit its column, or if a column is in both `dtypes` and `schema`.
        ConfigurationError: if `numbers` is none of the three values, or if `records` or `key` is not text.
    """
    if data is None:
        raise TabulationError(
            "The data is None, so it contains no records.", "Pass a response, JSON or a parsed value.", about="data"
        )
    builder = TableBuilder(numbers=numbers, records=records, key=key, schema=schema, dtypes=dtypes)
    if isinstance(data, pd.DataFrame) and records is not None:
        data = _records_in(data, records, numbers_as_text=builder.numbers_as_text)
    pages = _pages_in(data)
    return table_of(builder, _with_warning([data] if pages is None else pages), are_pages=pages is not None)


def rows_of(response: Any) -> list[Any]:
    """Return the records in a response or in its only list, or an empty list if there are no records."""
    try:
        value = value_of(response)
        rows = choose_rows(value)
        paths = list(lists_in(value)) if rows.records == [value] else []
        if len(paths) == 1:
            rows = choose_rows(value, ".".join(paths[0]))
    except (TabulationError, RecursionError):
        return []
    return [] if rows.records == [value] else rows.records


def _with_warning(answers: Iterable[Any]) -> Iterator[Any]:
    """Yield the responses, then warn if another page follows the last one."""
    last, urls = None, set()
    for answer in answers:
        if is_response(answer) and hasattr(answer, "headers"):
            last = answer
            urls.add(str(url_of(answer)))
        yield answer
    following = None if IS_FOLLOWED in getattr(last, "extensions", ()) or last is None else next_page(last)
    if following is not None and str(following.url) not in urls:
        table = "is one page" if len(urls) == 1 else "is part"
        how = following.advice or "tk.tabulate(tk.pages(client, path)) reads all pages."
        warn(f"This table {table} of a list: {following.words}. {how}")


def _pages_in(data: Any) -> Iterator[Any] | None:
    """Return an iterator over pages, or None if the data is one value: a response, JSON, a table or a parsed value."""
    if isinstance(data, (list, tuple)):
        return iter(data) if data and is_response(data[0]) else None
    if isinstance(data, (str, bytes, bytearray, memoryview, Mapping, pd.DataFrame)) or is_response(data):
        return None
    if hasattr(data, "__aiter__") and not hasattr(data, "__iter__"):
        raise TabulationError(
            "These pages are asynchronous.", "Write tk.tabulate([page async for page in pages]).", about="data"
        )
    return iter(data) if hasattr(data, "__iter__") else None


def _records_in(table: pd.DataFrame, path: str, *, numbers_as_text: bool) -> list[dict[Any, Any]]:
    """Return a record for each table row: the columns that identify rows, and the parsed column at `path`."""
    column = path if path in table.columns else path.partition(".")[0]
    if column not in table.columns:
        what = f"The table has no column at {excerpt(path)!r}."
        raise TabulationError(what, "Use records= to name a column of JSON, or pass the response.", about="records")
    keys = [name for name in table.columns if isinstance(name, str) and name != column and is_key(name)]
    chosen = table[[*keys, column]].astype(object)
    records = chosen.where(chosen.notna(), None).to_dict("records")
    return [record | {column: value_of(record[column], numbers_as_text=numbers_as_text)} for record in records]
