"""A table that grows answer by answer is the table of all records at once."""

from __future__ import annotations

import json
import warnings

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolkit.core.errors import TabulationError
from toolkit.tables import tabulate
from toolkit.tables.building import TableBuilder

keys = st.sampled_from(["id", "account_number", "cash", "key", "opened", "deep.cash"])
scalars = st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats(-1e20, 1e20)
scalars |= st.sampled_from(["", "007", "12.50", "2026-05-12", "2026-05-12T10:00:00Z", "text"])
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=2))
records = st.dictionaries(keys, values, max_size=4)
pages = st.lists(st.lists(records, max_size=3), max_size=4)
kinds = st.sampled_from(["float", "decimal", "text"])


def table_of(pages, **options):
    """Return the table of these pages, joined one by one, as services send them."""
    builder = TableBuilder(**options)
    counts = [builder.add(json.dumps(page).encode()) for page in pages]
    assert builder.count == sum(counts)
    return builder.finish()


def same(left, right):
    """Check that two tables are equal, or that both ways end with the same error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = []
        for make in (left, right):
            try:
                outcomes.append(make())
            except TabulationError as error:
                # A number that was read as text is not called an integer.
                outcomes.append(str(error).replace("an integer", "a number"))
    if isinstance(outcomes[0], str):
        assert outcomes[0] == outcomes[1]
    else:
        pd.testing.assert_frame_equal(*outcomes)


@given(pages, kinds)
def test_pages_joined_are_the_table_of_all_records(pages, numbers):
    """Names, their order, types and values are those of one list of all records."""
    whole = [record for page in pages for record in page]
    same(lambda: table_of(pages, numbers=numbers), lambda: tabulate(json.dumps(whole), numbers=numbers))


holders = st.fixed_dictionaries({}, optional={"id": scalars, "lots": st.lists(records, max_size=3)})


@given(st.lists(st.lists(holders, max_size=3), max_size=4))
def test_identities_of_the_records_around(pages):
    """Rows of lists inside records carry the same identities, whichever pages they come from."""
    pages = [page for page in pages if any("lots" in record for record in page)]
    whole = [record for page in pages for record in page]
    same(lambda: table_of(pages, records="lots"), lambda: tabulate(json.dumps(whole), records="lots"))


@given(pages, records)
def test_an_answer_that_cannot_be_added_leaves_no_trace(pages, record):
    """A failed answer adds no row and no column, and the next ones are added as before."""
    wrong = [record | {"new": 1}, {"cash": {"deep": {"er": object()}, "list": [object()]}}]

    def make():
        builder = TableBuilder()
        for page in pages:
            count = builder.count
            with pytest.raises(TabulationError):
                builder.add(wrong)
            assert builder.count == count
            builder.add(page)
        return builder.finish()

    same(make, lambda: tabulate([record for page in pages for record in page]))


@given(pages, st.sampled_from([pa.string(), pa.float64(), pa.timestamp("us")]))
@example([[{"id": None, "cash": 0}]], pa.timestamp("us"))
def test_answers_with_a_schema(pages, kind):
    """With a schema the table is that of `tabulate`."""
    wanted = pa.schema([("cash", kind), ("later", pa.int64()), ("key", pa.string())])

    same(
        lambda: table_of(pages, schema=wanted),
        lambda: tabulate(json.dumps([record for page in pages for record in page]), schema=wanted),
    )


@pytest.mark.parametrize("path", [None, "items"])
def test_an_empty_page_without_its_list(path):
    """A page whose empty list was left out has no rows, the first one too; any other object has one."""
    pages = [
        {"kind": "drive#fileList", "nextPageToken": "a"},
        {"kind": "drive#fileList", "nextPageToken": "b", "items": [{"id": 1}, {"id": 2}]},
        {"kind": "drive#fileList"},
        {"kind": "drive#fileList", "items": None},
        {},
    ]
    builder = TableBuilder(records=path)
    assert [builder.add(page) for page in pages] == [0, 2, 0, 0, 0]
    assert builder.finish()["id"].tolist() == [1, 2]
    assert [TableBuilder().add(record) for record in ({"kind": "drive#fileList"}, {})] == [1, 1]
    if path is None:
        assert builder.add({"message": "late"}) == 1
    else:
        with pytest.raises(TabulationError):
            builder.add({"message": "late"})


LATE = [{"n": "7"}, {"n": 1.5, "new": True}, {"n": 2**70}, {"n": True}, {"n": None}, {"n": {"deep": 1}}, {"n": []}]


@pytest.mark.parametrize("late", LATE)
def test_a_long_list(late):
    """A record after thousands of others counts as much as the first; an error in it leaves no row."""
    whole = [{"n": number, "on": "2026-05-12" if number % 2 else None} for number in range(2_500)] + [late]
    builder = TableBuilder()
    with pytest.raises(TabulationError):
        builder.add(json.dumps(whole)[:-1])
    assert builder.count == 0
    assert builder.add(json.dumps(whole)) == len(whole)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table, short = builder.finish(), tabulate(whole[-3:])
    assert table.dtypes.to_dict() == short.dtypes.to_dict()
    pd.testing.assert_frame_equal(table[-3:].reset_index(drop=True), short)
    assert table["n"].tolist()[:2_500] == list(range(2_500))
    assert table["on"].notna().sum() == 1_250
