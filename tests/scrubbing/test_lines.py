"""What is broken into lines is found and replaced as if it were not, and the rest stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.scrubbing.encoded_forms import joined, replaced_across_lines

BREAKS = [b"\n", b"\r\n", b" ", b"\\n", b"\\\\r\\\\n", b"%0A", b"%250d%250a", b"%5Cn", b"%20"]


@pytest.mark.parametrize("line_break", BREAKS)
def test_breaks(line_break):
    """Line breaks of every kind are passed over, and nothing beside what is replaced changes."""
    data = b"a" + line_break + b"bc" + line_break + b"de" + line_break + b"f"
    assert joined(data) == b"abcdef"
    assert replaced_across_lines(data, [(2, 4)], b"X") == b"a" + line_break + b"bXe" + line_break + b"f"


@given(st.lists(st.tuples(st.sampled_from(BREAKS), st.sampled_from([b"", b"q", b"rst"]))), st.data())
def test_spans(pieces, data):
    """Whatever is replaced, what is left is what stood before and after it."""
    text = b"".join(part for pair in pieces for part in pair)
    whole = joined(text)
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    spans = [(start, end)] if end > start else []
    done = joined(replaced_across_lines(text, spans, b"#"))
    assert done == (whole[:start] + b"#" + whole[end:] if spans else whole)


def test_overlapping_spans():
    """Places that overlap are replaced as one."""
    assert replaced_across_lines(b"ab\ncd\nef", [(0, 3), (2, 4), (5, 6)], b"#") == b"#\ne#"
