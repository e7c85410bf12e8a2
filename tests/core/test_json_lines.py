"""The lines of the values of a JSON document."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.json_lines import lines_of_values

TEXTS = st.text(st.sampled_from('a"\\{}[],:\n\té'), max_size=6)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def values_of(value, path=()):
    yield path, value
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from values_of(child, (*path, key))


@given(DOCUMENTS, st.sampled_from([None, 1]), st.booleans())
def test_lines_of_values(document, indent, ensure_ascii):
    """Each value has the line on which it begins."""
    text = json.dumps(document, indent=indent, ensure_ascii=ensure_ascii)
    lines = lines_of_values(text)
    values = {path: value for path, value in values_of(document) if len(path) <= 12}
    assert lines.keys() == values.keys()
    for path, value in values.items():
        first = json.dumps(value, ensure_ascii=ensure_ascii) if not isinstance(value, dict | list) else "[{"
        line = text.split("\n")[lines[path] - 1]
        assert any(part in line for part in ([first] if first != "[{" else "[{"))
