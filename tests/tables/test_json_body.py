from __future__ import annotations

import json
import traceback

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolkit.tables.records import Body, body_of

from toolkit.core.errors import ServiceError, TabulationError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


@given(JSON, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]))
def test_valid_json(value, encoding):
    """Valid JSON is parsed as the standard library does, in every encoding of Unicode."""
    text = json.dumps(value)
    assert Body(text.encode(encoding)).parse() == value


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_error_status(status):
    """An answer with an error status raises ServiceError, which has the status and does not show the body."""
    with pytest.raises(ServiceError) as caught:
        body_of(httpx.Response(status, json={"message": "canary"}))
    assert caught.value.status == status
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("content", [b'{"a": 1, "note": "far away: canary"', b'{"a": "\xff canary"}'])
def test_an_error_does_not_lead_to_the_body(content):
    """Neither the chain of an error nor the variables in its traceback show what stands further on in the body."""
    with pytest.raises(TabulationError) as caught:
        body_of(httpx.Response(200, content=b" " * 1000 + content)).parse()
    assert caught.value.__context__ is None
    frames = traceback.walk_tb(caught.value.__traceback__.tb_next)
    assert "canary" not in repr([frame.f_locals for frame, _ in frames])


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}'])
def test_nan_and_infinities(text):
    """NaN and infinities are refused, because JSON does not have them."""
    with pytest.raises(TabulationError, match="is not a JSON number"):
        Body(text.encode()).parse()


def test_name_twice():
    """An object with a name twice is refused, because it would lose a value."""
    with pytest.raises(TabulationError, match="name 'a' appears twice"):
        Body(b'[{"a": 1, "b": 2, "a": 3}]').parse()


@pytest.mark.parametrize("body", [b'"\xff"', b"[1", b"{]", b"tru", b"'a'", b"[1,]", b"\x00"])
def test_malformed(body):
    """Malformed JSON always raises the same kind of error."""
    with pytest.raises(TabulationError, match="not JSON"):
        Body(body).parse()


@pytest.mark.parametrize(
    ("content", "content_type", "advice"),
    [
        (b"", "", "without a body"),
        (b"a,b\n1,2\n", "text/csv; charset=utf-8", "read_csv"),
        (b'{"id": 1}\n{"id": 2}\n', "application/x-ndjson", "each line is JSON"),
        (b"<html>", "text/html", "login page"),
    ],
)
def test_advice_about_what_is_not_json(content, content_type, advice):
    """Nothing, CSV and lines of JSON are told from a page for people."""
    with pytest.raises(TabulationError) as caught:
        Body(content, content_type).parse()
    assert advice in caught.value.next_step
