from __future__ import annotations

import json
import traceback

import httpx
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import ServiceError, TabulationError
from toolkit.tables.json_body import Body, body_of

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


def test_bodies():
    """A response, bytes and text give the same body; anything else is a parsed value."""
    response = httpx.Response(200, json=[1], headers={"content-type": "application/json; charset=utf-8"})
    assert body_of(response) == Body(b"[1]", "application/json; charset=utf-8")
    assert body_of(b"[1]") == body_of("[1]") == body_of("\ufeff[1]") == body_of(bytearray(b"[1]")) == Body(b"[1]")
    assert body_of([1]) is None


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


@pytest.mark.parametrize("text", ["hello", b"hello", ""])
def test_text_that_is_not_json(text):
    """The error about a text does not mention a proxy."""
    with pytest.raises(TabulationError, match="This text is not JSON") as caught:
        body_of(text).parse()
    assert "proxy" not in caught.value.next_step


def test_a_table_is_refused():
    """The error says that it is already a table."""
    with pytest.raises(TabulationError, match="already a table"):
        body_of(pd.DataFrame({"id": [1]}))


def test_page_instead_of_json():
    """The error shows the content type and the first characters, shortened and safe to print."""
    page = httpx.Response(200, html="<html>\x1b[31m" + "x" * 1000)
    body = body_of(page)
    with pytest.raises(TabulationError, match=r"not JSON.*'text/html; charset=utf-8'.*'<html>") as caught:
        body.parse()
    assert len(str(caught.value)) < 300
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}'])
def test_nan_and_infinities(text):
    """NaN and infinities are refused, because JSON does not have them."""
    with pytest.raises(TabulationError, match="is not a JSON number"):
        Body(text.encode()).parse()


def test_name_twice():
    """An object with a name twice is refused, because it would lose a value."""
    with pytest.raises(TabulationError, match="name 'a' appears twice"):
        Body(b'[{"a": 1, "b": 2, "a": 3}]').parse()


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"a":' * 100_000])
def test_too_deep(body):
    """Hostile depth raises TabulationError instead of crashing."""
    with pytest.raises(TabulationError, match=r"too deeply|not JSON"):
        Body(body).parse()


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
