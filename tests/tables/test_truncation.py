"""Large bodies are searched for a next page without their records."""

from __future__ import annotations

import json
import warnings

import httpx
import pytest

from toolkit.tables import tabulate
from toolkit.tables.truncation import without_records

RECORDS = [{"id": number, "tags": ["a", {"b": []}], "name": "x" * 20} for number in range(2_000)]


@pytest.mark.parametrize(
    "body",
    [
        {"accounts": RECORDS, "next": "/more", "total": 5_000},
        {"links": [{"rel": "next", "href": "/more"}], "data": {"accounts": RECORDS, "n": 1}},
        {"a": list(range(20_000)), "b": RECORDS, "c": [RECORDS, RECORDS]},
    ],
)
def test_records_become_empty(body):
    """Each long list keeps the number of its records; everything else stays as it is."""

    def emptied(value):
        if isinstance(value, dict):
            return {key: emptied(member) for key, member in value.items()}
        if isinstance(value, list) and len(json.dumps(value)) >= 16 * 1024:
            return [{} for member in value if isinstance(member, (dict, list))]
        return value

    assert json.loads(without_records(json.dumps(body).encode())) == emptied(body)


@pytest.mark.parametrize(
    "body", [b"", b"[" + b"{}," * 50_000 + b"{}]", b'{"a":' + b" " * 70_000 + b"", b"{" * 70_000, b'{"a": [1]}']
)
def test_bodies_that_stay(body):
    """A list, a short body, and what is not JSON stays as it is."""
    assert without_records(body) == body


@pytest.mark.parametrize("following", ["/more", None])
def test_a_large_page(following):
    """A large page gives the same warning as a small one."""
    response = httpx.Response(200, json={"accounts": RECORDS, "next": following})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert len(tabulate(response)) == len(RECORDS)
    assert ["one page of a list" in str(warning.message) for warning in caught] == [True] * (following is not None)
