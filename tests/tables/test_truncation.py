"""A table that lacks pages of a list says so."""

from __future__ import annotations

import itertools
import warnings

import httpx
import pytest

import toolkit as tk
from toolkit.tables import tabulate


@pytest.mark.parametrize("count", [2, 20_000])
@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"next": None}, []),
        ({"next": "/more"}, ['its member "next" names a next page']),
        ({"total": 90_000}, []),
        ({"has_more": True}, ['its member "has_more" says that there is more']),
    ],
)
@pytest.mark.parametrize("record", [{"id": 1}, "ALFA"])
def test_one_page(record, members, said, count):
    """An answer that names a next page, or holds a part of all records, gives a warning, however long its list is."""
    response = httpx.Response(200, json={"items": [record] * count, **members})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tabulate(response)
    shown = [str(warning.message).partition(": ")[2].partition(". ")[0] for warning in caught if "page" in str(warning)]
    assert shown == said


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
