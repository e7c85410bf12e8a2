from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.practice_service.paging import PageRefusedError, choose_page, next_link

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


@given(size=st.one_of(st.integers(max_value=0), st.integers(min_value=101), st.text()).map(str))
def test_page_sizes_out_of_range(size):
    """A page size that is not a number from 1 to 100 is refused."""
    if size.isascii() and size.isdecimal() and 0 < int(size) <= 100:
        return
    with pytest.raises(PageRefusedError, match="page_size"):
        choose_page({"page_size": size}, "list", 300, default_size=100)


def test_tokens_of_another_list():
    """A token belongs to the list that gave it out."""
    token = choose_page({}, "list", 300, default_size=100).next_token
    assert choose_page({"page_token": token}, "list", 300, default_size=100).start == 100
    with pytest.raises(PageRefusedError):
        choose_page({"page_token": token}, "another list", 300, default_size=100)


def test_list_that_became_shorter():
    """A token that points behind the end gives an empty last page."""
    token = choose_page({}, "list", 300, default_size=100).next_token
    page = choose_page({"page_token": token}, "list", 50, default_size=100)
    assert (page.start, page.end, page.next_token) == (50, 50, None)


def test_next_link():
    """The link keeps every other parameter and replaces the page token."""
    link = next_link("http://127.0.0.1:1/v1/accounts", b"page_size=5&page_token=old&status=open&x=%26&empty=", "new")
    assert link == ('<http://127.0.0.1:1/v1/accounts?page_size=5&status=open&x=%26&empty=&page_token=new>; rel="next"')
