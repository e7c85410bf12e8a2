from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.practice_service.paging import PageRefusedError, choose_page

SIZES = st.integers(1, 100)


@given(length=st.integers(0, 600), size=SIZES)
def test_pages_are_the_list(length, size):
    """Following the tokens visits every place once, in order, in pages of the size, and then ends."""
    query, places = {"page_size": str(size)}, []
    while True:
        page = choose_page(query, "list", length, default_size=7)
        places += range(page.start, page.end)
        if page.next_token is None:
            break
        assert page.end - page.start == size
        query["page_token"] = page.next_token
    assert places == list(range(length))


@given(token=st.text(max_size=20))
def test_made_up_tokens(token):
    """A token that the list did not give out is refused, however it looks."""
    with pytest.raises(PageRefusedError, match="page_token"):
        choose_page({"page_token": token}, "list", 300, default_size=100)


def test_list_that_became_shorter():
    """A token that points behind the end gives an empty last page."""
    token = choose_page({}, "list", 300, default_size=100).next_token
    page = choose_page({"page_token": token}, "list", 50, default_size=100)
    assert (page.start, page.end, page.next_token) == (50, 50, None)
