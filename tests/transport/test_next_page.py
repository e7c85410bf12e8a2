"""What answers of real services say about the page after them: followed, reported, or the end."""

from __future__ import annotations

import json

import httpx
import pytest

from toolkit.core.errors import UnsafeAddress
from toolkit.transport.next_page import check_origin, next_page

BASE = "https://api.example.com/v1/items?limit=2"
INTERNATIONAL = "https://xn--/"  # a host that cannot be decoded
ROWS = [{"id": 1}, {"id": 2}]


def answer(body=ROWS, **headers):
    """Return an answer to a GET of the first page."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return httpx.Response(200, headers=headers, content=content, request=httpx.Request("GET", BASE))


def followed(response, **options):
    """Return the URL of the next page, or None if there is none that is followed."""
    following = next_page(response, **options)
    return None if following is None or following.url is None else str(following.url)


@pytest.mark.parametrize(
    ("header", "target"),
    [
        ('<https://api.example.com/v1/items?page=2>; rel="next"', "?page=2"),
        ('<?page=2>; rel=next, <?page=9>; rel="last"', "?page=2"),
        ('<?page=1>; rel="prev first", <?page=3>;rel="NEXT start"', "?page=3"),
        ('<?page=9>; rel=last, garbage, <?a=1,2>; rel="next"', "?a=1,2"),
        ('<?page=2>; rel="nextish"', None),
        ("<?page=2", None),
        ("", None),
    ],
)
def test_link_headers(header, target):
    """The first link with the relation next is followed, as RFC 8288 reads it."""
    expected = target and f"https://api.example.com/v1/items{target}"
    assert followed(answer(link=header)) == expected


FOLLOWED = {
    "Django REST": ({"count": 9, "next": f"{BASE}&page=2", "results": ROWS}, "&page=2"),
    "Laravel": (
        {"data": ROWS, "current_page": 1, "last_page": 5, "next_page_url": f"{BASE}&page=2", "prev_page_url": None},
        "&page=2",
    ),
    "Laravel resources": (
        {"data": ROWS, "links": {"prev": None, "next": f"{BASE}&page=2"}, "meta": {"current_page": 1, "last_page": 5}},
        "&page=2",
    ),
    "JSON:API": ({"data": ROWS, "links": {"next": {"href": f"{BASE}&page=2", "meta": {}}}}, "&page=2"),
    "HAL": ({"_embedded": {"items": ROWS}, "_links": {"next": {"href": "/v1/items?limit=2&page=2"}}}, "&page=2"),
    "OData": ({"value": ROWS, "@odata.nextLink": f"{BASE}&$skiptoken=2"}, "&$skiptoken=2"),
    "Azure": ({"value": ROWS, "nextLink": f"{BASE}&page=2"}, "&page=2"),
    "DigitalOcean": ({"items": ROWS, "links": {"pages": {"next": f"{BASE}&page=2"}}, "meta": {"total": 9}}, "&page=2"),
    "FHIR": ({"entry": ROWS, "link": [{"relation": "next", "url": f"{BASE}&page=2"}]}, "&page=2"),
    "HubSpot": ({"results": ROWS, "paging": {"next": {"after": "2", "link": "?limit=2&after=2"}}}, "&after=2"),
    "Graph": ({"data": ROWS, "paging": {"cursors": {"after": "x"}, "next": f"{BASE}&after=x"}}, "&after=x"),
    "Hydra": ({"hydra:member": ROWS, "hydra:view": {"hydra:next": "/v1/items?limit=2&page=2"}}, "&page=2"),
    "Google": ({"kind": "items", "items": ROWS, "nextPageToken": "a b"}, "&pageToken=a+b"),
    "market data": ({"bars": {"X": ROWS}, "next_page_token": "a="}, "&page_token=a%3D"),
    "a few levels down": ({"response": {"body": {"items": ROWS, "next_page_token": "a"}}}, "&page_token=a"),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_members_that_are_followed(name):
    """URLs of next pages and page tokens are followed, whatever stands beside them."""
    body, query = FOLLOWED[name]
    assert followed(answer(body)) == BASE + query


ENDS = {
    "list": ROWS,
    "Django REST": {"count": 9, "next": None, "results": ROWS},
    "Stripe": {"object": "list", "data": ROWS, "has_more": False},
    "Slack": {"ok": True, "members": ROWS, "response_metadata": {"next_cursor": ""}},
    "GraphQL": {"data": {"items": {"edges": ROWS, "pageInfo": {"hasNextPage": False, "endCursor": "abc"}}}},
    "Zendesk": {"items": ROWS, "meta": {"has_more": False, "after_cursor": "x"}, "links": {"next": f"{BASE}&page=2"}},
    "Graph": {"data": ROWS, "paging": {"cursors": {"before": "w", "after": "x"}}},
    "Twitter 1.1": {"users": ROWS, "next_cursor": 0, "previous_cursor": 5},
    "previous": {"items": ROWS, "previous": f"{BASE}&page=1", "prev_cursor": "x", "next": False},
    "Cloudflare": {"result": ROWS, "result_info": {"page": 3, "per_page": 2, "total_pages": 3, "total_count": 6}},
    "empty": {"nextPageToken": "", "items": ROWS},
    "cursors": {"items": ROWS, "cursor": {"next": None, "prev": "x"}},
    "quota": {"items": ROWS, "offset": "12", "total_cost": 90, "meta": {"results": {"took": 5}}},
    "account": {"id": "a", "status": "ACTIVE", "cash": "1.00", "last_equity": "2.00", "token_count": 5},
    "linked records": {"id": 5, "next": 6, "prev": 4},
    "totals": {"total": 250, "page": 1, "pages": 5, "offset": 0, "items": ROWS},
    "token": {"access_token": "x", "expires_in": 5, "token_type": "Bearer", "refresh_token": "y"},
    "data": {"next_dividend": "2026-05-12", "bars": {"NEXT": ROWS}, "tags": ["more"]},
    "not JSON": b"{next",
    "deep": b'{"next":' + b"[" * 100_000,
    "digits": b'{"next_page_token":' + b"1" * 5000 + b"}",
}


@pytest.mark.parametrize("name", ENDS)
def test_ends(name):
    """Null, empty, false and explicit ends are the end, and so are answers that say nothing of pages."""
    assert next_page(answer(ENDS[name])) is None


def test_a_named_cursor():
    """The caller's member is followed at any path; nothing else is then."""
    body = {"page": {"cursors": {"a": "x&y"}, "next": "/elsewhere"}, "n": 7, "items": ROWS}
    assert followed(answer(body), cursor=("page.cursors.a", "from")) == f"{BASE}&from=x%26y"
    assert followed(answer(body), cursor=("n", "limit")) == "https://api.example.com/v1/items?limit=7"
    for value in (None, "", False, 0):
        assert next_page(answer({"n": value or None, "items": ROWS, "next": "/x"}), cursor=("n", "from")) is None
    assert next_page(answer({"n": "x", "has_more": False}), cursor=("n", "from")) is None
    for body in ({"n": True, "next": "/x"}, {"next": "/x"}):
        following = next_page(answer(body), cursor=("n", "from"))
        assert (following.url, following.advice[:24]) == (None, 'There is no cursor at "n"'[:24])
        assert next_page(answer(body), cursor=("n", "from"), is_first=False) is None


@pytest.mark.parametrize("target", ["https://[::1", "/" + "x" * 70_000, "https://api.example.com:x/", INTERNATIONAL])
def test_a_url_that_cannot_be_read(target):
    """A link that is not a URL, and a token too long for one, is reported, not followed."""
    for response in (
        answer(link=f"<{target}>; rel=next"),
        answer({"next": target, "items": ROWS}),
        answer({"next_page_token": "x" * 70_000}),
    ):
        following = next_page(response)
        assert following is not None
        assert following.url is None


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/v1/items",
        "http://api.example.com/v1/items",
        "https://api.example.com:8443/v1/items",
        "https://name:word@api.example.com/v1/items",
        "//evil.example/v1/items",
        "javascript:alert(1)",
        "https://broker.svc.invalid.evil.example/v1",
        "http://broker.svc.invalid/v1",
    ],
)
def test_another_origin(url):
    """Another origin is refused, and neither path nor query of the link is repeated."""
    first = httpx.URL(BASE)
    following = next_page(answer({"next": f"{url}?QXZ=QXZ", "items": ROWS}))
    assert following is not None
    with pytest.raises(UnsafeAddress) as caught:
        check_origin(following.url, first)
    assert "QXZ" not in str(caught.value)
