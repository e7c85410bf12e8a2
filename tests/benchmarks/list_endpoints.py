"""Count how `tabulate` reads list endpoints of real services: the right rows, a hint, or a wrong table without a word.

    python -m tests.benchmarks.list_endpoints                  # the endpoints in tests/benchmarks/corpus/list_endpoints
    python -m tests.benchmarks.list_endpoints --file more.json # others, in the same form

The shapes are those of public documentation, and all values are invented. An entry of a file has these members:

- `service`, `endpoint`, `body`, and `headers` as pairs.
- `records`: dotted path of the right records, a number for a member of a list, `edges.node` for the nodes of a
  connection, "" for the body itself. Several paths mean that nobody can know which one is meant; then only a warning
  or error that names all of them is right.
- `kind`: "keyed" (the members of an object are records, or lists of records, and their keys belong to them),
  "parallel" (the members are lists of equal length, one for each column) or "arrays" (each record is a list).
- `alternative`: another path that is as right as `records`.
- `leading`: columns that identify the records and stand before them.
- `more`: what says that there is a next page; null if nothing does.
- `codes`: columns of digits that stay text.

Right rows are those of pandas.json_normalize, apart from leading columns and types. A text of digits may become a
number of the same value unless it begins with zero, an instant a timestamp, and a list is JSON text.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import httpx
import pandas as pd

import toolkit as tk
from tests.benchmarks.measuring import Table

FOLDER = Path(__file__).parent / "corpus" / "list_endpoints"
RIGHT, HINT, WRONG = "rows", "hint", "WRONG"


@dataclass(frozen=True)
class Endpoint:
    """A list endpoint with what its table should be; the attributes are the members of an entry, see above."""

    service: str
    endpoint: str
    body: Any
    records: tuple[str, ...]
    kind: str = ""
    alternative: str | None = None
    leading: tuple[str, ...] = ()
    more: str | None = None
    codes: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, entry: dict[str, Any]) -> Endpoint:
        """Return the endpoint of an entry."""
        records = entry["records"]
        lists = {name: tuple(entry.get(name, ())) for name in ("leading", "codes")}
        headers = tuple((name, value) for name, value in entry.get("headers", ()))
        paths = (records,) if isinstance(records, str) else tuple(records)
        return cls(**entry | lists | {"headers": headers, "records": paths})

    @property
    def answer(self) -> httpx.Response:
        """The answer of the service."""
        request = httpx.Request("GET", "https://api.service.example/v1/things")
        return httpx.Response(200, json=self.body, headers=list(self.headers), request=request)


@dataclass(frozen=True)
class Outcome:
    """What `tabulate` makes of an endpoint.

    Attributes:
        verdict: RIGHT, HINT or WRONG.
        detail: why it is wrong, or what else differs.
        is_warned: whether a warning says that there is a next page, or there is no table that could lack it.
        lost_codes: columns of codes that are no longer text.
        has_leading: whether the columns that identify the records stand first.
    """

    verdict: str
    detail: str
    is_warned: bool
    lost_codes: tuple[str, ...] = ()
    has_leading: bool = True


def endpoints(path: Path) -> list[Endpoint]:
    """Return the endpoints of a file, or of the files of a folder."""
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    return [Endpoint.of(entry) for file in files for entry in json.loads(file.read_text("utf-8"))]


def values_at(body: Any, path: str) -> Iterator[Any]:
    """Yield the value at a path; one for each member where the path leads through a list."""
    if not path:
        yield body
        return
    key, _, rest = path.partition(".")
    if isinstance(body, list) and key.isdecimal():
        yield from values_at(body[int(key)], rest)
    elif isinstance(body, list):
        for member in body:
            yield from values_at(member, path)
    elif key in body:
        yield from values_at(body[key], rest)


def expected_table(endpoint: Endpoint, path: str) -> tuple[pd.DataFrame, list[str]]:
    """Return the table of the records at a path, and the key of each row if they are listed by a key."""
    values = list(values_at(endpoint.body, path))
    if endpoint.kind == "parallel":
        lists = {key: member for key, member in values[0].items() if isinstance(member, list)}
        return pd.DataFrame(lists).astype(object), []
    if endpoint.kind == "arrays":
        return pd.DataFrame(values[0]).astype(object), []
    if endpoint.kind == "keyed":
        members = {key: value for key, value in values[0].items() if is_records(value)}
        rows = [(key, row) for key, value in members.items() for row in (value if isinstance(value, list) else [value])]
        return pd.json_normalize([row for _, row in rows]), [key for key, _ in rows]
    records = [record for value in values for record in (value if isinstance(value, list) else [value])]
    return pd.json_normalize(records), []


def is_records(value: Any) -> bool:
    """Check whether a value is a record or a list of records."""
    return isinstance(value, dict) or (isinstance(value, list) and all(isinstance(item, dict) for item in value))


def difference(table: pd.DataFrame, expected: pd.DataFrame, keys: list[str]) -> str:
    """Return the first difference between a table and the expected one, as text; "" if there is none."""
    if len(table) != len(expected):
        return f"{len(table)} rows instead of {len(expected)}"
    columns = list(expected.columns)
    if all(isinstance(name, int) for name in columns):
        table = table.set_axis(range(len(table.columns)), axis="columns")
    missing = [name for name in columns if name not in table and has_content(expected[name])]
    if missing:
        return f"no column {missing[0]!r}"
    for name in columns:
        for row, (got, wanted) in enumerate(zip(table.get(name, []), expected[name], strict=False)):
            if not is_same(got, wanted):
                return f"row {row} of {name!r} is {got!r} instead of {wanted!r}"
    if keys and not any([str(value) for value in table[name]] == keys for name in leading_of(table, expected)):
        return "no column with the keys"
    return ""


def has_content(column: pd.Series[Any]) -> bool:
    """Check whether a column has any value; an empty object is none."""
    return any(not is_missing(value) and value != {} for value in column)


def leading_of(table: pd.DataFrame, expected: pd.DataFrame) -> list[str]:
    """Return the columns before the first of the expected ones."""
    names = list(table.columns)
    firsts = [names.index(name) for name in expected.columns if name in names]
    return names[: min(firsts, default=0)]


def is_missing(value: Any) -> bool:
    """Check whether a cell is empty."""
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value))


def is_same(got: Any, wanted: Any) -> bool:
    """Check whether a cell holds the value of the JSON, apart from its type."""
    if is_missing(got):
        return is_missing(wanted) or wanted in ({}, "")
    if is_missing(wanted):
        return False
    if isinstance(wanted, (list, dict)):
        return isinstance(got, str) and bool(json.loads(got) == wanted)
    if isinstance(wanted, bool) or isinstance(got, bool):
        return bool(got == wanted)
    if isinstance(got, str):
        return bool(got == str(wanted)) if isinstance(wanted, str) else False
    if isinstance(got, pd.Timestamp):
        return is_same_instant(got, wanted)
    if isinstance(wanted, str):
        return is_same_number(got, wanted)
    return math.isclose(got, wanted, rel_tol=1e-15)


def is_same_instant(got: pd.Timestamp, wanted: Any) -> bool:
    """Check whether a timestamp, which has microseconds, is the instant or the local time of a text."""
    if not isinstance(wanted, str):
        return False
    try:
        instant = pd.Timestamp(wanted)
    except ValueError:
        return False
    return bool((instant.tz is None) == (got.tz is None) and instant.floor("us") == got)


def is_same_number(got: Any, wanted: str) -> bool:
    """Check whether a number is that of a text which does not begin with zeros."""
    digits = wanted.lstrip("-")
    if digits[:1] == "0" and digits[1:2].isdigit():
        return False
    try:
        return math.isclose(float(got), float(Decimal(wanted)), rel_tol=1e-15)
    except InvalidOperation:
        return False


def outcome(endpoint: Endpoint) -> Outcome:
    """Tabulate the answer of an endpoint, and judge the result."""
    text, table = "", None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            table = tk.tabulate(endpoint.answer)
        except tk.TabulationError as error:
            text = f"{error} {error.next_step}"
    messages = [str(warning.message) for warning in caught]
    is_warned = table is None or any(re.search(r"\bpages?\b", message) for message in messages)
    text += " ".join(messages)
    if table is not None and len(endpoint.records) == 1:
        detail = wrong_detail(endpoint, table)
        if not detail:
            return right_outcome(endpoint, table, is_warned=is_warned)
    else:
        detail = f"{len(table)} rows, one path of several" if table is not None else "an error without the path"
    if names_all(text, endpoint):
        return Outcome(HINT, "", is_warned)
    return Outcome(WRONG, detail, is_warned)


def wrong_detail(endpoint: Endpoint, table: pd.DataFrame) -> str:
    """Return how the table differs from the right ones; "" if it is one of them."""
    paths = [*endpoint.records] + ([endpoint.alternative] if endpoint.alternative is not None else [])
    details = [difference(table, *expected_table(endpoint, path)) for path in paths]
    return "" if "" in details else details[0]


def right_outcome(endpoint: Endpoint, table: pd.DataFrame, *, is_warned: bool) -> Outcome:
    """Return the outcome for a table with the right rows."""
    lost = tuple(name for name in endpoint.codes if name in table and not pd.api.types.is_string_dtype(table[name]))
    has_leading = tuple(table.columns[: len(endpoint.leading)]) == endpoint.leading
    expected = expected_table(endpoint, endpoint.records[0])[0]
    notes = [f"{name!r} is {table[name].dtype}" for name in lost]
    if not has_leading:
        notes.append(f"leading columns {leading_of(table, expected)} instead of {list(endpoint.leading)}")
    return Outcome(RIGHT, "; ".join(notes), is_warned, lost, has_leading)


def names_all(text: str, endpoint: Endpoint) -> bool:
    """Check whether a text names each path in quotes, or a member of a list by its index."""

    def names(path: str) -> bool:
        return any(form in text for form in (f"'{path}'", f'"{path}"', *([f"[{path}]"] if path.isdecimal() else [])))

    if endpoint.alternative is not None and names(endpoint.alternative):
        return True
    return all(path and names(path) for path in endpoint.records)


def main() -> None:
    """Print a line for each endpoint, and the totals."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--file", type=Path, default=FOLDER, help="a file or folder of endpoints")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    several = endpoints(arguments.file)[:: 10 if arguments.quick else 1]
    table = Table(f"{len(several)} list endpoints", "table", "next page", label_width=80)
    verdicts: Counter[str] = Counter()
    pages: Counter[tuple[bool, bool]] = Counter()
    lost = leading = with_leading = 0
    for endpoint in several:
        result = outcome(endpoint)
        verdicts[result.verdict] += 1
        pages[endpoint.more is not None, result.is_warned] += endpoint.more is not None or result.verdict == RIGHT
        lost += len(result.lost_codes)
        with_leading += bool(endpoint.leading)
        leading += bool(endpoint.leading) and result.verdict == RIGHT and result.has_leading
        page = {(True, True): "warned", (True, False): "SILENT", (False, True): "FALSE"}
        table.print_row(
            f"{endpoint.service}: {endpoint.endpoint}"[:78],
            result.verdict,
            page.get((endpoint.more is not None, result.is_warned), "-"),
        )
        for note in filter(None, (result.detail, None if result.is_warned else endpoint.more)):
            print(f"    {note}"[:140])
    print()
    for label, count in (
        ("right rows without records=", verdicts[RIGHT]),
        ("a hint with the right records=", verdicts[HINT]),
        ("wrong, and nothing says so", verdicts[WRONG]),
        (f"with their {with_leading} leading columns", leading),
        ("codes that are not text any more", lost),
        ("a next page, and a warning", pages[True, True]),
        ("a next page, and no warning", pages[True, False]),
        ("a warning without a next page", pages[False, True]),
    ):
        table.print_row(label, str(count))


if __name__ == "__main__":
    main()
