from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import TabulationError
from toolkit.tables.row_choice import Rows, choose_rows

ACCOUNTS = [
    {"id": "a", "account_number": "01", "cash": "5", "positions": [{"symbol": "X", "id": 1}, {"symbol": "Y", "id": 2}]},
    {"id": "b", "positions": []},
    {"id": "c"},
    {"id": "d", "positions": None},
    {"id": "e", "account_number": "05", "positions": [{"symbol": "Z", "id": 3}]},
]


def test_lists_of_the_same_name():
    """A list inside a list of the same name has a name of its own, and each level keeps its identity."""
    value = [{"id": 1, "kids": [{"id": 2, "kids": [{"id": 3, "kids": [{"id": 4, "kids": [{"n": 5}]}]}]}]}]
    assert choose_rows(value, "kids.kids") == Rows(
        value[0]["kids"][0]["kids"], {("parent", "id"): [1], ("kids", "id"): [2]}
    )
    assert choose_rows(value, "kids.kids.kids.kids") == Rows(
        [{"n": 5}],
        {("parent", "id"): [1], ("kids", "id"): [2], ("kids.kids", "id"): [3], ("kids.kids.kids", "id"): [4]},
    )
    assert choose_rows({"kids": value}, "kids.kids.kids").carried == {("kids", "id"): [1], ("kids.kids", "id"): [2]}


def test_a_list_named_parent():
    """A list named parent is not confused with the default name of a list."""
    value = [{"id": 1, "parent": [{"id": 2, "kids": [{"id": 3}]}]}]
    assert choose_rows(value, "parent.kids").carried == {("parent", "id"): [1], ("parent.parent", "id"): [2]}
    assert choose_rows({"parent": value}, "parent.parent").carried == {("parent", "id"): [1]}


@given(st.lists(st.sampled_from(["a", "b", "parent", "a.b"]), min_size=1, max_size=6))
def test_every_level_is_carried(keys):
    """A row carries the identity of each record around it, outermost first, whatever the names of the lists."""
    value = [{"id": len(keys)}]
    for number in reversed(range(len(keys))):
        value = [{"id": number, "x": 0, keys[number]: value}]
    rows = choose_rows(value, ".".join(keys))
    assert list(rows.carried.values()) == [[number] for number in range(len(keys))]
    assert rows.records == [{"id": len(keys)}]


def test_parents_that_identify_themselves_differently():
    """A key that only some parents have is missing in the rows of the others."""
    value = [{"id": 1, "lots": [{}, {}]}, {"number": 2, "lots": [{}]}, {"id": 3, "lots": [{}]}]
    assert choose_rows(value, "lots").carried == {
        ("parent", "id"): [1, 1, None, 3],
        ("parent", "number"): [None, None, 2, None],
    }


def test_keys_with_dots():
    """A key that contains dots is found under its own name."""
    assert choose_rows({"a.b": [1], "a": {"c": [2]}}, "a.b").records == [1]
    assert choose_rows({"a.b": [1], "a": {"c": [2]}}, "a.c").records == [2]


def test_one_object_at_the_path():
    """An object at the path is a single record."""
    assert choose_rows({"data": {"account": {"cash": 1}}}, "data.account").records == [{"cash": 1}]


def test_nothing_at_the_path():
    """A path without a list is refused, and the error names the existing lists."""
    with pytest.raises(TabulationError, match="path 'orders' does not lead to a list of records") as caught:
        choose_rows(ACCOUNTS, "orders")
    assert "'positions'" in caught.value.next_step
    assert caught.value.about == "records"
    with pytest.raises(TabulationError, match="path 'cash' does not lead to a list of records"):
        choose_rows(ACCOUNTS, "cash")


@pytest.mark.parametrize(
    ("record", "advice"),
    [
        ({"id": 1, "legs": [{"n": 1}]}, "The records are at 'orders'. Inside them: 'legs'."),
        ({"id": 1}, "The records are at 'orders'. The records contain no lists; leave out records=."),
    ],
)
def test_nothing_at_the_path_of_an_envelope(record, advice):
    """Where the records of an envelope are is said, beside the lists inside them."""
    with pytest.raises(TabulationError, match="path 'items' does not lead to a list of records") as caught:
        choose_rows({"orders": [record, record], "total": 2}, "items")
    assert caught.value.next_step == advice


@given(st.lists(st.lists(st.integers(), max_size=3), min_size=1))
def test_child_rows_of_many_lists(lists):
    """There is a row for each member of all lists, and each carried column has a value for each row."""
    rows = choose_rows([{"id": number, "lots": lots} for number, lots in enumerate(lists)], "lots")
    assert rows.records == [lot for lots in lists for lot in lots]
    assert rows.carried[("parent", "id")] == [number for number, lots in enumerate(lists) for _ in lots]
