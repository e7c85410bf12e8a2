from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.tables import brackets as module
from toolkit.tables.brackets import find_brackets, lists_within

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


def outermost_lists(value):
    """Yield the lists in an object that are not inside another list, in their order."""
    for member in value.values():
        if isinstance(member, list):
            yield member
        elif isinstance(member, dict):
            yield from outermost_lists(member)


@given(NESTED, st.sampled_from([None, 1]), st.integers(1, 40))
def test_find_brackets(value, indent, chunk):
    """All brackets and the depth of the value are found, wherever the text is cut into chunks."""
    content = json.dumps(value, indent=indent, ensure_ascii=False).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CHUNK", chunk)
        brackets = find_brackets(content, 64)
    assert brackets.depth.max() == depth_of(value)
    assert brackets.is_opening.sum() * 2 == len(brackets.positions)
    assert {content[position] for position in brackets.positions} <= set(b"[]{}")
    assert find_brackets(content, depth_of(value) - 1) is None


@given(st.dictionaries(TEXTS, NESTED | TEXTS, max_size=4))
def test_lists_within(value):
    """The outermost lists of an object are found, without the lists inside them."""
    content = json.dumps(value).encode()
    brackets = find_brackets(content, 64)
    spans = lists_within(content, brackets, 0, len(brackets.positions) - 1)
    assert [json.loads(content[begin:end]) for begin, end in spans] == list(outermost_lists(value))


@pytest.mark.parametrize(
    "content",
    [b"", b"1", b"[", b"]", b'"[]"', b'["]', b"[]]", b"[][]", b"[[]", b"x[]", b"[]x", b"[]{}", b'[]"', b"][", b"\\"],
)
def test_brackets_of_other_texts(content):
    """A text that is not one list or object gives None."""
    assert find_brackets(content, 64) is None
