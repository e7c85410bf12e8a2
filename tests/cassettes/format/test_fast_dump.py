"""Interactions written without libyaml have the same bytes as with it; other values are left to it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.cassettes.format import fast_dump, yaml_text

# fmt: off
WORDS = [
    "yes", "Off", "null", "~", "", " ", "1", "1.5", "1_000", "0x1f", "0b1", "1e3", ".inf", "+1", ".5", "1:30", "=",
    "2026-05-12", "2026-05-12T09:30:00Z", "---", "--- a", "...", "...a", "- a", "-a", "-", "? b", "?b", "?", ":", ":a",
    "a: b", "a:", "a #b", "a#b", "a:b", "[a]", "{}", "a, b", "*a", "&a b", "!a", "%a", "@a", "`a", "|", ">", "'", "<<",
    "it's", '"a"', "a ", "a\nb", "a\n\nb\n", "\na", "a\n", "a\n\n", "a\n ", " a\nb", "a\n  b", "a \nb", "---\na\n---\n",
    "é", "\t", "a" * 200,
]
# fmt: on
TEXTS = st.sampled_from(WORDS) | st.text("ab1 :#-?.'\"\n~|>{}[],&*!%@`<=/\\", max_size=12) | st.text(max_size=6)
VALUES = st.recursive(
    TEXTS | st.integers() | st.booleans() | st.floats(),
    lambda inner: st.dictionaries(TEXTS, inner, max_size=3) | st.lists(TEXTS, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("word", WORDS)
def test_each_word(word):
    """Texts that YAML gives a meaning of its own keep theirs: as a value, as a name, and in a list."""
    for fields in ({"a": word}, {word: "a"}, {"a": [word]}, {"a": {"b": word, "c": 1}}):
        assert fast_dump.dump(fields) in (None, yaml_text.dump([fields]))


@given(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4))
def test_the_same_bytes(fields):
    """Whatever the names and values, they are written as libyaml writes them, or not at all."""
    assert fast_dump.dump(fields) in (None, yaml_text.dump([fields]))


@pytest.mark.parametrize("text", ["a:b#c-d?", '{"a": [1, "it\'s"]}', "12 May", "2026-05-12", "a\n\nb\n", "a\nb"])
def test_usual_texts_are_written(text):
    """Texts of answers do not need libyaml, on one line and on several."""
    fields = {"a": {"headers": {"X-A": ["1", ""]}, "empty": {}, "none": []}, "b": text, "c": 2.5e-05, "d": True}
    assert fast_dump.dump(fields) == yaml_text.dump([fields])


@pytest.mark.parametrize("value", ["é", "a\tb", "a\n ", b"a", [b"a"], None, ["a\nb"]])
def test_other_values_are_left(value):
    """Bytes, other characters and text that is not a block are written by libyaml."""
    assert fast_dump.dump({"a": value}) is None
