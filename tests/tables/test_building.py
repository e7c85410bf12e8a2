"""JSON is read strictly, and a table that grows answer by answer is the table of all records at once."""

from __future__ import annotations

import json
import traceback
import tracemalloc

import httpx
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolkit.core.errors import ServiceError, TabulationError
from toolkit.tables import building
from toolkit.tables.building import TableBuilder, value_of
from toolkit.tables.tabulation import tabulate

KEYS = st.sampled_from(["id", "account_number", "cash", "key", "opened", "deep.cash"])
SCALARS = st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats(-1e20, 1e20)
SCALARS |= st.sampled_from(["", "007", "12.50", "2026-05-12", "2026-05-12T10:00:00Z", "text"])
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2))
RECORDS = st.dictionaries(KEYS, VALUES, max_size=4)
PAGES = st.lists(st.lists(RECORDS, max_size=3), max_size=4)
SCHEMAS = st.sampled_from([pa.string(), pa.float64(), pa.timestamp("us")]).map(
    lambda kind: pa.schema([("cash", kind), ("later", pa.int64()), ("key", pa.string())])
)
OPTIONS = st.sampled_from(["float", "decimal", "text"]).map(lambda numbers: {"numbers": numbers})
OPTIONS |= SCHEMAS.map(lambda schema: {"schema": schema})


def table_of(pages, **options):
    """Return the table of these pages, joined one by one, as services send them."""
    builder = TableBuilder(**options)
    counts = [builder.add(json.dumps(page).encode()) for page in pages]
    assert builder.count == sum(counts)
    return builder.finish()


def outcome(make, *arguments, **options):
    """Return a table, or the text of the error."""
    try:
        return make(*arguments, **options)
    except TabulationError as error:
        return str(error)


def same(pages, **options):
    """Check that joined pages, a list in small blocks and in one are the same table, or end with the same error."""
    whole = json.dumps([record for page in pages for record in page])
    outcomes = [outcome(table_of, pages, **options), outcome(tabulate, whole, **options)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building, "_BLOCK", 2)
        same_outcome(outcome(tabulate, whole, **options), outcomes[0])
    same_outcome(*outcomes)


def same_outcome(*outcomes):
    if isinstance(outcomes[0], str):
        assert outcomes[0] == outcomes[1]
    else:
        pd.testing.assert_frame_equal(*outcomes)


@pytest.mark.filterwarnings("ignore")
@given(PAGES, OPTIONS)
@example([[{"id": None, "cash": 0}]], {"schema": pa.schema([("cash", pa.timestamp("us"))])})
@example([[[1, 2], [3, 4], [5, 6]]], {})
def test_pages_joined_are_the_table_of_all_records(pages, options):
    """Names, their order, types and values are those of one list of all records."""
    same(pages, **options)


@pytest.mark.parametrize("status", [400, 401, 429, 503])
def test_error_status(status):
    """An answer with an error status raises ServiceError, which has the status and does not show the body."""
    with pytest.raises(ServiceError) as caught:
        tabulate(httpx.Response(status, json={"message": "canary"}))
    assert caught.value.status == status
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("content", [b'{"a": 1, "note": "far away: canary"', b'{"a": "\xff canary"}'])
def test_an_error_does_not_lead_to_the_body(content):
    """Neither the chain of an error nor the variables in its traceback show what stands further on in the body."""
    response = httpx.Response(200, content=b" " * 1000 + content)
    with pytest.raises(TabulationError) as caught:
        tabulate(response)
    assert caught.value.__context__ is None
    frames = traceback.walk_tb(caught.value.__traceback__.tb_next)
    assert "canary" not in repr([frame.f_locals for frame, _ in frames])


@pytest.mark.parametrize("body", [b'"\xff"', b"[1", b"{]", b'[{"a": 1},]', b"[{}", b"[{}] x", b"NaN", b"[-Infinity]"])
def test_malformed(body):
    """Malformed JSON always raises the same kind of error; NaN and infinities are malformed."""
    with pytest.raises(TabulationError, match=r"not JSON|JSON does not allow"):
        tabulate(body)


PIECES = ["", "-", "0", "E999", "NaN", "\\ud800", "\ud800", "\n", "]"]
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16"]


@given(st.lists(RECORDS, max_size=3), st.integers(0, 40), st.sampled_from(PIECES), st.sampled_from(ENCODINGS))
@example([{"a": 1}], 7, "E999", "utf-8")
def test_json_is_read_as_the_standard_library_reads_it(records, at, piece, encoding):
    """Values and the places of errors are those of `json`, in each of its encodings, except that NaN is refused."""
    text = json.dumps(records)
    body = (text[:at] + piece + text[at:]).encode(encoding, "surrogatepass")
    try:
        expected = json.loads(body, parse_constant=int)
    except ValueError as error:
        place = f"line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else "NaN"
        with pytest.raises(TabulationError, match=place):
            tabulate(body)
    else:
        assert repr(value_of(body)) == repr(expected)


@pytest.mark.parametrize("number", ["-0", "1E400", "0.10"])
def test_numbers_as_text_keep_every_digit(number):
    """With numbers as text, a number is what the service wrote, whatever its value."""
    assert tabulate(f'[{{"a": {number}}}]', numbers="text")["a"][0] == number


def test_a_long_list_is_not_in_memory_at_once():
    """Of a long list only a block of records is in memory beside its text and the columns."""
    record = {f"note_{number}": "text of some length" for number in range(10)}
    body = json.dumps([record | {"id": number} for number in range(5_000)]).encode()
    tracemalloc.start()
    try:
        tabulate(body)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * len(body)
