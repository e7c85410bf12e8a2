"""Two recordings of the same story: calls are paired, and answers compared by status, shape and time."""

from __future__ import annotations

import gzip
import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.cassettes.catalog.comparing import InteractionChange, compare_interactions, pairs
from toolkit.cassettes.format.contents import Parsed
from toolkit.cassettes.format.interactions import NO_ANSWER, RecordedFailure
from toolkit.core.document import Environment


def parsed(*interactions):
    return Parsed(interactions, is_foreign=False)


def test_equal_requests_are_paired_in_order(interaction):
    """Calls are paired by their request and then by order; what is left over stands alone."""
    old = parsed(*(interaction(path) for path in ("/a", "/b", "/a", "/a", "/gone")))
    new = parsed(*(interaction(path) for path in ("/new", "/a", "/b", "/a")))
    assert pairs(old, new) == [(0, 1), (1, 2), (2, 3), (3, None), (4, None), (None, 0)]


def test_requests_differ_by_caller_query_and_body(interaction, authorization):
    """Another profile, environment, query or body makes another request; the order of fields does not."""

    def post(body, **changes):
        request = {"method": "POST", "headers": (("Content-Type", "application/json"),), "body": body}
        return interaction("/orders?b=1&a=2", request=request, **changes)

    mine = post(b'{"qty": 1, "side": "buy"}', authorized_by=authorization())
    same = post(b'{"side":"buy","qty":1}', authorized_by=authorization(token=7))
    same = same._replace(request=same.request._replace(uri="https://broker.svc.invalid/orders?a=2&b=1"))
    assert pairs(parsed(mine), parsed(same)) == [(0, 0)]
    others = [
        mine._replace(authorized_by=authorization("other")),
        mine._replace(authorized_by=authorization(environment=Environment.BROKER_LIVE)),
        mine._replace(request=mine.request._replace(uri="https://broker.svc.invalid/orders?a=2")),
        post(b'{"qty": 2, "side": "buy"}', authorized_by=authorization()),
        mine._replace(authorized_by=None, token_obtained=authorization()),
    ]
    for other in others:
        assert pairs(parsed(mine), parsed(other)) == [(0, None), (None, 0)]


@given(st.data())
def test_each_interaction_is_paired_once(interactions, data):
    """Any recording pairs with itself, and in two any recordings each interaction stands once."""
    old, new = (parsed(*data.draw(st.lists(interactions(), max_size=4))) for _ in range(2))
    assert pairs(old, old) == [(number, number) for number in range(len(old))]
    found = pairs(old, new)
    assert [before for before, _ in found if before is not None] == list(range(len(old)))
    assert sorted(after for _, after in found if after is not None) == list(range(len(new)))
    for interaction in (old.interaction(number) for number in range(len(old))):
        assert compare_interactions(interaction, interaction) == []


def test_values_are_not_changes(interaction):
    """Another balance and more rows are the same story; a new member and another type are not."""
    old = interaction(body=json.dumps([{"id": "a", "cash": 1}]).encode())
    other_values = interaction(body=json.dumps([{"cash": 2.5, "id": "b"}, {"id": "c", "cash": None}]).encode())
    assert compare_interactions(old, other_values) == []
    changed = interaction(body=gzip.compress(b'[{"id": 7, "equity": []}]'))
    changed = changed._replace(
        response=changed.response._replace(headers=(("content-type", "application/json"), ("Content-Encoding", "gzip")))
    )
    assert compare_interactions(old, changed) == [
        InteractionChange("$[].id", "type", "string", "number"),
        InteractionChange("$[].cash", "removed", "number", None),
        InteractionChange("$[].equity", "added", None, "array"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        ((b"{}", "application/json"), (b"<html>", "text/html; charset=x"), ("JSON", "text/html")),
        ((b"{}", "application/json"), (b"", "application/json"), ("JSON", "empty")),
        ((b"a,b", "text/csv"), (b"\x00", ""), ("text/csv", "bytes")),
        ((b'{"a": 1}\n{"a": 2}', "application/x-ndjson"), (b'[{"a": 3}]', "application/json"), None),
        ((b"1,2", "text/csv"), (b"3,4", "text/csv"), None),
    ],
)
def test_kinds_of_bodies(interaction, old, new, change):
    """A body that is not JSON is compared by its media type."""
    made = [
        interaction(body=body, response={"headers": (("Content-Type", media_type),)}) for body, media_type in (old, new)
    ]
    expected = [] if change is None else [InteractionChange("body", "type", *change)]
    assert compare_interactions(*made) == expected


def test_status_failure_headers_and_time(interaction):
    """A status, a missing answer, a link to the next page and a much longer time are changes."""
    old, refused = interaction(), interaction(response={"status": 403})
    assert compare_interactions(old, refused) == [InteractionChange("status", "status", "200", "403")]
    failed = old._replace(response=NO_ANSWER, failure=RecordedFailure("ConnectError", "refused"))
    assert compare_interactions(old, failed) == [
        InteractionChange("status", "status", "200", "no answer (ConnectError)")
    ]
    linked = interaction(response={"headers": (*old.response.headers, ("link", "<x>; rel=next"))})
    assert compare_interactions(old, linked) == [InteractionChange("header Link", "added", None, "present")]
    assert compare_interactions(linked, old) == [InteractionChange("header Link", "removed", "present", None)]
    slow = old._replace(elapsed=timedelta(seconds=3))
    assert compare_interactions(old, slow) == [InteractionChange("elapsed", "timing", "0.01 s", "3.00 s")]
    assert compare_interactions(slow, slow._replace(elapsed=timedelta(seconds=5))) == []
    assert compare_interactions(old._replace(elapsed=None), slow) == []


def test_names_from_a_server_are_safe_to_show(interaction):
    """A member's name is shown without control characters and cut; thousands of changes are cut too."""
    old = interaction(body=b"{}")
    [change] = compare_interactions(old, interaction(body=json.dumps({"\x1b[31m" + "x" * 500: 1}).encode()))
    assert "\x1b" not in change.place
    assert len(change.place) <= 120
    many = interaction(body=json.dumps({f"n{number}": 1 for number in range(5_000)}).encode())
    assert len(compare_interactions(old, many)) == 1_000
