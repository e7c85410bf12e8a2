"""An index of windows misses no pattern in a text."""

from __future__ import annotations

import hashlib
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.scrubbing import window_index as module
from toolkit.scrubbing.window_index import STEP, WIDE, WIDTH, WindowIndex, group_at

FILLER = b"<td>1234</td>" * 2600  # makes a text large enough for the lookup table
NUMBERS = st.integers(0, (1 << 32) - 1)


def noise(seed, length):
    """Return the same bytes on every run."""
    return hashlib.shake_128(seed).digest(length)


def index_of(owners):
    index = WindowIndex()
    for group, owner in owners.items():
        index.put(group, owner)
    return index


def matches_one_by_one(data, owners):
    """Return the result that `matches_in` should return, from a search group by group."""
    places = range(0, len(data) - WIDTH + 1, WIDTH)
    return [(at, owners[group_at(data, at)]) for at in places if group_at(data, at) in owners]


@pytest.mark.parametrize("width", [WIDTH, WIDE])
@given(st.binary(min_size=11, max_size=30), st.binary(max_size=20), st.binary(max_size=20))
def test_a_pattern_is_found_wherever_it_stands(width, pattern, before, after):
    """A pattern whose windows at four positions in a row are in the index matches at every offset, in every size."""
    index = WindowIndex(width)
    for at in range(STEP):
        index.put(group_at(pattern, at, width), "owner")
    for filler in (b"", FILLER):
        data = filler + before + pattern + after
        start = len(filler) + len(before)
        assert any(start <= at < start + STEP for at, _ in index.matches_in(data))
        assert index.may_match(data)


@given(st.dictionaries(st.binary(min_size=WIDE, max_size=WIDE), st.integers()), st.data())
def test_wide_windows_are_read_at_every_fourth_position(owners, data):
    """Small and large texts, which are searched differently, give the same matches in order."""
    index = WindowIndex(WIDE)
    for window, owner in owners.items():
        index.put(group_at(window, 0, WIDE), owner)
    piece = st.binary(min_size=4, max_size=4) | st.sampled_from([*owners] or [b"nothing."])
    text = b"".join(data.draw(st.lists(piece, max_size=20))) + data.draw(st.binary(max_size=3))
    expected = [
        (at, owners[text[at : at + WIDE]]) for at in range(0, len(text), STEP) if text[at : at + WIDE] in owners
    ]
    for large in (1 << 30, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_LARGE", large)
            assert index.matches_in(text) == expected
            assert index.may_match(text) == bool(expected)


@given(st.dictionaries(NUMBERS, st.text(max_size=3)), st.data())
def test_an_index_returns_each_match_in_order(owners, data):
    """Small and large texts, which are searched differently, give the same matches in order."""
    anything = st.binary(min_size=WIDTH, max_size=WIDTH)
    piece = anything | st.sampled_from([group.to_bytes(WIDTH, module.sys.byteorder) for group in owners] or [b"none"])
    text = b"".join(data.draw(st.lists(piece, max_size=20))) + data.draw(st.binary(max_size=3))
    for large in (1 << 30, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_LARGE", large)
            assert index_of(owners).matches_in(text) == matches_one_by_one(text, owners)


def test_an_index_grows():
    """The lookup table is replaced by a larger one when there are too many groups for it."""
    text, other = noise(b"a text", 200_000), noise(b"another", 36_000)
    owners = {group_at(text, at): at for at in range(0, 100_000, 40)}
    index = index_of(owners)
    assert index.matches_in(text) == matches_one_by_one(text, owners)
    more = {group_at(text, at): at for at in range(1, 100_000, 2)}
    more |= {group_at(other, at): -1 for at in range(0, 36_000, WIDTH)}
    for group, owner in more.items():
        index.put(group, owner)
    assert index.matches_in(text) == matches_one_by_one(text, owners | more)
    assert len(index._table) >= 8 * len(owners | more)


@pytest.mark.parametrize("large", [1 << 30, 0], ids=["small text", "large text"])
def test_a_group_has_one_owner(monkeypatch, large):
    """A new owner of a group replaces the previous owner."""
    monkeypatch.setattr(module, "_LARGE", large)
    index = index_of({group_at(b"abcd", 0): "first"})
    assert index.matches_in(b"abcd") == [(0, "first")]
    index.put(group_at(b"abcd", 0), "last")
    assert index.get(group_at(b"abcd", 0)) == "last"
    assert index.matches_in(b"abcdabcd") == [(0, "last"), (4, "last")]
    assert WindowIndex().matches_in(b"abcd") == []


@pytest.mark.parametrize("searches", [False, True], ids=["added", "searched and added"])
def test_a_group_is_added_while_the_table_is_made(searches):
    """A group can be added while the table is made, by another thread or by the garbage collector."""
    text = noise(b"a text", 1 << 16)
    nested = []

    class Owners(dict):
        def __iter__(self):
            yield from tuple(super().__iter__())
            if not nested:
                nested.append(None)
                if searches:
                    nested.append(index.matches_in(text))
                index.put(group_at(text, 400), "late")

    index = index_of({group_at(text, 40): "early"})
    index._owners = Owners(index._owners)
    thread = threading.Thread(target=index.matches_in, args=(text,), daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    assert nested == [None, *([[(40, "early")]] if searches else [])]
    assert index.matches_in(text) == [(40, "early"), (400, "late")]


def test_groups_are_added_while_threads_search():
    """Every search finds the groups that were added before it began, while tables are replaced."""
    text, other = noise(b"a text", 1 << 16), noise(b"another", 1 << 17)
    index = WindowIndex()
    added, missed, is_over = [], [], threading.Event()

    def search():
        while not is_over.is_set():
            expected = len(added)
            found = {at for at, _ in index.matches_in(text)}
            missed.extend(at for at in added[:expected] if at not in found)

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    for at in range(0, len(text), 2 * WIDTH):
        index.put(group_at(text, at), at)
        added.append(at)
        for offset in range(4):
            index.put(group_at(other, 2 * at + offset), -1)
    is_over.set()
    for thread in threads:
        thread.join()
    assert not missed
