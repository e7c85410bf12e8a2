"""Shapes of JSON: the same for any values and any number of rows, and each change of a member or type is found."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolkit.cassettes.catalog.comparing import shape_changes, shape_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


def changes(old, new):
    return list(shape_changes(shape_of(old), shape_of(new)))


@given(JSON)
def test_same_shape(value):
    """A value has the shape of itself, and of an array of it any number of times."""
    assert changes(value, value) == []
    assert changes([value], [value, value]) == []


@given(st.dictionaries(st.text(max_size=5), JSON), st.text(max_size=5), JSON)
def test_each_added_member_is_found(value, name, member):
    """A member that only one side has is one change, seen from either side."""
    value.pop(name, None)
    [added] = changes(value, {**value, name: member})
    [removed] = changes({**value, name: member}, value)
    place, before, after = added
    assert before is None
    assert removed == (place, after, None)


def test_changes_by_place():
    """All rows count together; an empty array and null say nothing about what would be there."""
    old = {"rows": [{"id": "a", "cash": 1, "note": None}, {"id": "b", "cash": 2.5, "gone": []}], "more": []}
    new = {"rows": [{"id": "a", "cash": "1.00", "note": "x"}, {"id": "b", "odd name": {}}], "more": [1]}
    assert changes(old, new) == [
        ("$.rows[].cash", "number", "string"),
        ("$.rows[].gone", "array", None),
        ('$.rows[]["odd name"]', None, "object"),
    ]
    assert changes({"a": None}, {"a": None}) == changes([], [1]) == changes(None, {}) == []
    assert changes([1, "x"], [1]) == []
    assert changes([1], [1, "x"]) == [("$[]", "number", "number or string")]
    assert changes({"a": True}, []) == [("$", "object", "array")]
