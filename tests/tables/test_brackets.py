from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.tables import arrow_reader as module
from toolkit.tables.arrow_reader import find_brackets, lists_within

TEXTS = st.text(st.sampled_from(list('a"\\\\[]{}é')), max_size=5)
NESTED = st.recursive(
    TEXTS | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=10,
).filter(lambda value: isinstance(value, (list, dict)))


def depth_of(value):
    if not isinstance(value, (list, dict)):
        return 0
    return 1 + max(map(depth_of, value.values() if isinstance(value, dict) else value), default=0)


def outer_lists(value):
    """The lists in an object that are in no other list, in their order."""
    for member in value.values():
        if isinstance(member, list):
            yield member
        elif isinstance(member, dict):
            yield from outer_lists(member)


@given(NESTED, st.sampled_from([None, 1]), st.integers(1, 40))
def test_depth_and_pairs(value, indent, size):
    """The depth is that of the value, and each pair is found, wherever the text is cut into pieces."""
    content = json.dumps(value, indent=indent, ensure_ascii=False).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_PIECE", size)
        found = find_brackets(content, 64)
    assert found.depth.max() == depth_of(value)
    assert found.opening.sum() * 2 == len(found.at)
    assert {content[place] for place in found.at} <= set(b"[]{}")
    assert find_brackets(content, depth_of(value) - 1) is None


@given(st.dictionaries(TEXTS, NESTED | TEXTS, max_size=4))
def test_lists_within(value):
    """The lists of an object are found whole, without those inside them."""
    content = json.dumps(value).encode()
    found = find_brackets(content, 64)
    spans = lists_within(content, found, 0, len(found.at) - 1)
    assert [json.loads(content[begin:end]) for begin, end in spans] == list(outer_lists(value))


@pytest.mark.parametrize(
    "content",
    [b"", b"1", b"[", b"]", b'"[]"', b'["]', b"[]]", b"[][]", b"[[]", b"x[]", b"[]x", b"[]{}", b'[]"', b"][", b"\\"],
)
def test_no_single_value(content):
    """What is not one list or object from beginning to end has no brackets to speak of."""
    assert find_brackets(content, 64) is None
