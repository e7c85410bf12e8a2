"""The records of a JSON value, or of many, as a table."""

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
    """Return a table of the records in a response, or in all pages of a list: one row each, numbered from 0.

        quotes = tabulate(response, records="quotes", key="symbol")
        positions = tabulate(response, records="positions")
        positions = tabulate(accounts, records="positions")  # from a column of the table of accounts
        table = positions.merge(tabulate(response), on=["id", "account_number"])

    Rows
        - A list gives a row for each member. An empty list gives a table without rows and columns.
        - An object with one collection, and otherwise only members about paging, status or included resources
          (`next_page_token`, `total`, `links`, `meta`, `included`), gives the rows of the collection: `{"accounts":
          [...], "next_page_token": null}`. A collection is a list of objects, or an object whose keys are data,
          `{"ALFA": [...], "BRVO": [...]}`, which become the column `key`. If it is empty, there are no rows.
        - Arrays of equal length in an object, one of which contains times, become columns, as in `{"timestamp": [...],
          "equity": [...]}`, after columns for the other values of the object.
        - If an object's only member is an object, that object is used: `{"data": {"user": {"repos": [...]}}}`.
        - Any other object is one row with all its members. Its lists are JSON text, and a warning names them.
        - `records` is the dotted path of a list, or of an object of records, of lists, or of arrays of equal length. A
          list inside records, such as the `positions` of many accounts, gives a row for each member of each list; its
          first columns are the keys of the records around it (`id`, `account_number`, ...). Two keys called `id` become
          `<list>.id` or `parent.id`.

    Columns
        They are in order of first appearance, with those of a nested object together, and named by their dotted paths.
        If names are equal, the second gets ` (2)`, the third ` (3)` and so on. A list inside a record becomes JSON
        text. A record that is not an object is in the column `value`.

    Types
        Null and absent values are both missing values.

        - JSON numbers without a fraction are Int64. Numbers with a fraction, or beyond int64, depend on `numbers`:
          "float" gives float64, which is exact to the cent for amounts below 1e13, and warns if a number has more than
          15 significant digits; "decimal" gives Arrow's decimal128, exact to 38 digits. With "text" every number, even
          an integer, is text as the service wrote it.
        - Text becomes numbers in the same way if every string of a column is a valid JSON number, which "007" is not.
          It stays text in a column whose name suggests a code or label, such as a name that ends in id, number, code,
          symbol, zip, phone, version, prefix, hash, name, type or last4.
        - RFC 3339 instants are datetime64[us, UTC]. Dates (2026-05-12) and local times, whose instants are unknown
          (2026-05-12 09:30:00, with a space or a T), are datetime64[us] without a zone. Empty text in a column of
          numbers or times is missing.
        - Booleans are boolean, other text is str. Columns without any values, and columns of mixed types, are object.

        These types are inferred from one response, so another page of the same list may get different types. With
        `schema`, the table has exactly the columns of the schema, in its order and with its types, and missing values
        where the response has none. Fields that are not in the schema are left out, with a warning. `tk.schema` makes
        the schema of a table, and its help shows how to write pages as one dataset.

    Args:
        data: a response, JSON as bytes or text, a parsed value, or a table if `records` names its column; or pages:
            `tk.pages(...)`, a list of responses, or any iterator over responses. The rows of pages are joined as they
            arrive, and types are inferred from all of them. A warning is given if the last one names a further page.
        numbers: "float", "decimal" or "text".
        dtypes: maps columns to dtypes of pandas, NumPy or Arrow, which take precedence over the rules above. The rules
            for what fits are those of `schema`. Names that are not columns are ignored.
        records: dotted path of the list or object that has the records; for a table, the path begins with the name of a
            column of JSON text. `tabulate([value])` makes one row from any object.
        key: name of the column for the keys of an object of records. Pass it also if an object has records under keys
            that do not look like data.
        schema: a pyarrow.Schema, or a table (DataFrame, pyarrow.Table) that has the schema. It takes precedence over
            the rules above and over `numbers`. Anything fits text. Text fits numbers, dates and times if it would
            become one by the rules above (so "007" is not a number); empty text becomes missing, except in columns of
            text. A number fits a type that can keep all its digits, or becomes the nearest float.

    Raises:
        ServiceError: if a response has an error status.
        TabulationError: if the data is not JSON (NaN, for example), if there is no list at `records`, if a value does
            not fit its column, or if a column is in both `dtypes` and `schema`.
        ConfigurationError: if `numbers` is none of the three values, or if `records` or `key` is not text.
    """
    if data is None:
        raise TabulationError(
            "The data is None, which is not a table.", "Pass a response, JSON or a parsed value.", about="data"
        )
    builder = TableBuilder(numbers=numbers, records=records, key=key, schema=schema, dtypes=dtypes)
    if isinstance(data, pd.DataFrame) and records is not None:
        data = _records_in(data, records, numbers_as_text=builder.numbers_as_text)
    pages = _pages_in(data)
    return table_of(builder, _with_warning([data] if pages is None else pages), are_pages=pages is not None)


def rows_of(response: Any) -> list[Any]:
    """Return the records of a response, or those of its only list; an empty list if there are none."""
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
    """Yield the responses; then warn if the last one names a further page."""
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
    """Return a record for each row of a table: the columns that tell rows apart, and the parsed column at `path`."""
    column = path if path in table.columns else path.partition(".")[0]
    if column not in table.columns:
        what = f"The table has no column at {excerpt(path)!r}."
        raise TabulationError(what, "Name a column of JSON text with records=, or pass the response.", about="records")
    keys = [name for name in table.columns if isinstance(name, str) and name != column and is_key(name)]
    chosen = table[[*keys, column]].astype(object)
    records = chosen.where(chosen.notna(), None).to_dict("records")
    return [record | {column: value_of(record[column], numbers_as_text=numbers_as_text)} for record in records]
