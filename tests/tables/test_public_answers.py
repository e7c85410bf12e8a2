"""Answers of public services: the right rows, or one row with all values and a hint at the lists.

The shapes are those of public documentation, and all values are invented. An entry has these members:

- `service`, `endpoint`, `body`.
- `records`: dotted path of the right records, a number for a member of a list, "" for the body itself, null if it is
  one row. Of several paths each may be meant.
- `kind`: "keyed" (the members of an object are records, or lists of records), "parallel" (an array for each column),
  "arrays" (an array for each row) or "values".
- `rows`: how many there are, if not as many as records.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolkit.tables.rows import choose_rows

ANSWERS = [
    entry
    for path in sorted((Path(__file__).parent / "answers").glob("*.json"))
    for entry in json.loads(path.read_text("utf-8"))
]


def at(value: Any, path: str) -> Iterator[Any]:
    """Yield the value at a path; one for each member where the path leads through a list."""
    key, _, rest = path.partition(".")
    if not path:
        yield value
    elif isinstance(value, list):
        for member in [value[int(key)]] if key.isdecimal() else value:
            yield from at(member, rest if key.isdecimal() else path)
    elif key in value:
        yield from at(value[key], rest)


def records_at(entry: dict[str, Any], path: str) -> list[Any]:
    """Return the right records at a path."""
    values, kind = list(at(entry["body"], path)), entry.get("kind")
    if kind == "keyed":
        members = [member for member in values[0].values() if isinstance(member, (dict, list))]
        return [row for member in members for row in (member if isinstance(member, list) else [member])]
    if kind == "parallel":
        arrays = {name: member for name, member in values[0].items() if isinstance(member, list)}
        return [dict(zip(arrays, row, strict=True)) for row in zip(*arrays.values(), strict=True)]
    if kind == "arrays":
        return [{str(number): cell for number, cell in enumerate(row)} for row in values[0]]
    return [record for value in values for record in (value if isinstance(value, list) else [value] if value else [])]


def is_right(rows: list[Any], records: list[Any]) -> bool:
    """Check whether rows are the records, perhaps with the values beside arrays in each."""
    return rows == records or (
        len(rows) == len(records)
        and all(
            isinstance(row, dict) and record.items() <= row.items() for row, record in zip(rows, records, strict=True)
        )
    )


def outcome(entry: dict[str, Any]) -> str:
    """Return "rows", "hint", "row" if nothing is a list, or "" if the rows are wrong and nothing says so."""
    body = entry["body"]
    paths = entry["records"] if isinstance(entry["records"], list) else [entry["records"]]
    right = [[body] if path is None else records_at(entry, path) for path in paths]
    rows = choose_rows(body)
    if len(paths) == 1 and is_right(rows.records, right[0]):
        return "rows"
    if rows.records != (body if isinstance(body, list) else [body]):
        return ""
    if re.search(r"\[\d\]", rows.hint):
        return "hint"
    named = [choose_rows(body, path).records for path in re.findall("'([^']+)'", rows.hint)]
    if any(is_right(found, records) for found in named for records in right):
        return "hint"
    return "hint" if rows.hint and entry.get("kind") == "keyed" else "row" * ("[{" not in json.dumps(body))


@pytest.mark.parametrize("entry", ANSWERS, ids=lambda entry: f"{entry['service']}: {entry['endpoint']}")
def test_the_right_rows_or_a_hint(entry):
    """No answer becomes a table of other rows, and none loses its lists without a word."""
    assert outcome(entry) in {"rows", "hint", "row"}


def test_how_many_are_right():
    """Of the answers so many have their rows without `records=`."""
    outcomes = [outcome(entry) for entry in ANSWERS]
    assert (len(outcomes), outcomes.count("rows")) == (180, 110)
