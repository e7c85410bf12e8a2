"""Large bodies are searched for a next page without their records."""

from __future__ import annotations

import itertools
import json
import warnings

import pytest

import toolkit as tk
from toolkit.tables import tabulate
from toolkit.tables.truncation import without_records
from toolkit.transport.family import httpx

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


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (list, ""),
        (lambda pages: [*pages][::-1], ""),
        (lambda pages: itertools.islice(pages, 3), ""),
        (lambda pages: itertools.islice(pages, 2), "lacks pages of a list"),
        (lambda pages: [next(iter(pages))], "is one page of a list"),
    ],
)
@pytest.mark.parametrize("by_hand", [False, True])
def test_pages_that_are_not_there(read, said, by_hand):
    """A list or an iterator of pages gives a warning if they name a page that is not among them, and only then."""

    def answer(request):
        page = int(request.url.params.get("page_token", "1"))
        return httpx.Response(
            200, json={"items": [{"id": page}], "next_page_token": str(page + 1) if page < 3 else None}
        )

    client = httpx.Client(transport=httpx.MockTransport(answer), base_url="https://svc.example", params={"a": 1})

    def pages():
        for token in (1, 2, 3):
            yield client.get("/v1/items", params={"a": 1, "page_token": token})

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tabulate(read(pages() if by_hand else tk.pages(client, "/v1/items")))
    assert [said in str(warning.message) for warning in caught] == ([True] if said else [])
