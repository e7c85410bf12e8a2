"""Two recordings of one story are compared: calls in pairs, answers by status, shape, media type and time."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from toolkit.cassettes.catalog.comparing import RecordingChange, compare_interactions
from toolkit.cassettes.format.interactions import NO_ANSWER, RecordedFailure


def compared(old, new):
    """Return place, kind, and what was and is there, of each change."""
    found = compare_interactions(old, new, RecordingChange("", "GET", "https://h/"))
    return [(change.place, change.kind, change.before, change.after) for change in found]


def changes(interaction, old, new):
    return compared(*(interaction(body=json.dumps(value).encode()) for value in (old, new)))


def test_changes_by_place(interaction):
    """A new member and another type are changes, in both directions; other values, empty arrays and null are not."""
    old = [{"id": "a", "cash": 1, "note": None, "tags": []}]
    new = [{"id": "b", "cash": "1", "note": "x", "tags": ["t"], "a b": 1}, {"id": "c", "cash": "2"}]
    assert changes(interaction, old, new) == [
        ("$[].cash", "type", "number", "string"),
        ('$[]["a b"]', "added", None, "number"),
    ]
    assert ('$[]["a b"]', "removed", "number", None) in changes(interaction, new, old)
    [(place, *_)] = changes(interaction, {}, {"\x1b[31m" + "x" * 500: 1})
    assert "\x1b" not in place
    assert len(place) <= 120


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        ((b"{}", "application/json"), (b"<html>", "text/html; charset=x"), ("JSON", "text/html")),
        ((b"{}", "application/json"), (b"", "application/json"), ("JSON", "empty")),
        ((b"a,b", "text/csv"), (b"\x00", ""), ("text/csv", "bytes")),
        ((b"1,2", "text/csv"), (b"3,4", "text/csv"), None),
    ],
)
def test_kinds_of_bodies(interaction, old, new, change):
    """A body that is not JSON is compared by its media type."""
    made = [
        interaction(body=body, response={"headers": (("Content-Type", media_type),)}) for body, media_type in (old, new)
    ]
    expected = [] if change is None else [("body", "type", *change)]
    assert compared(*made) == expected


def test_status_failure_and_time(interaction):
    """A status, a missing answer and a much longer time are changes."""
    old, refused = interaction(), interaction(response={"status": 403})
    assert compared(old, refused) == [("status", "status", "200", "403")]
    failed = old._replace(response=NO_ANSWER, failure=RecordedFailure("ConnectError", "refused"))
    assert compared(old, failed) == [("status", "status", "200", "no answer (ConnectError)")]
    slow = old._replace(elapsed=timedelta(seconds=3))
    assert compared(old, slow) == [("elapsed", "timing", "0.01 s", "3.00 s")]
    assert compared(slow, slow._replace(elapsed=timedelta(seconds=5))) == []
