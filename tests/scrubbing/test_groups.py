"""Groups of four bytes are found wherever they stand at a fourth byte, in a text of any size."""

from __future__ import annotations

import hashlib
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.scrubbing import prefilter as module
from toolkit.scrubbing.prefilter import WIDTH, Groups, group_at


def one_by_one(data, owners):
    """What `found_in` gives, by looking at one group after the other."""
    places = range(0, len(data) - WIDTH + 1, WIDTH)
    return [(at, owners[group_at(data, at)]) for at in places if group_at(data, at) in owners]


def known(owners):
    groups = Groups()
    for group, owner in owners.items():
        groups.put(group, owner)
    return groups


@pytest.fixture(params=[1 << 30, 0], ids=["small", "large"])
def size(request, monkeypatch):
    """Texts are taken for small ones, or for large ones."""
    monkeypatch.setattr(module, "_LARGE", request.param)


def noise(seed, length):
    """The same bytes on every run."""
    return hashlib.shake_128(seed).digest(length)


NUMBERS = st.integers(0, (1 << 32) - 1)


@given(st.dictionaries(NUMBERS, st.text(max_size=3)), st.data())
def test_what_is_looked_for_is_found(owners, data):
    """In order, each time it is there, and nothing else."""
    anything = st.binary(min_size=WIDTH, max_size=WIDTH)
    piece = anything | st.sampled_from([group.to_bytes(WIDTH, module.sys.byteorder) for group in owners] or [b"none"])
    text = b"".join(data.draw(st.lists(piece, max_size=20))) + data.draw(st.binary(max_size=3))
    for large in (1 << 30, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_LARGE", large)
            assert known(owners).found_in(text) == one_by_one(text, owners)


def test_large_texts():
    """A large text, and more groups than the first filter is made for."""
    text, other = noise(b"a text", 200_000), noise(b"another", 36_000)
    owners = {group_at(text, at): at for at in range(0, 100_000, 40)}
    groups = known(owners)
    assert groups.found_in(text) == one_by_one(text, owners)
    more = {group_at(text, at): at for at in range(1, 100_000, 2)}
    more |= {group_at(other, at): -1 for at in range(0, 36_000, WIDTH)}
    for group, owner in more.items():
        groups.put(group, owner)
    assert groups.found_in(text) == one_by_one(text, owners | more)
    assert len(groups._filter) >= 8 * len(owners | more)


@pytest.mark.usefixtures("size")
def test_an_owner_is_replaced():
    """A group has one owner: the last."""
    groups = known({group_at(b"abcd", 0): "first"})
    assert groups.found_in(b"abcd") == [(0, "first")]
    groups.put(group_at(b"abcd", 0), "last")
    assert (groups.get(group_at(b"abcd", 0)), groups.found_in(b"abcdabcd")) == ("last", [(0, "last"), (4, "last")])
    assert Groups().found_in(b"abcd") == []


def test_added_while_a_filter_is_made():
    """What another thread adds when those that are there were listed already is found by the next search."""
    text = noise(b"a text", 1 << 16)
    late = group_at(text, 400)

    class Owners(dict):
        def __iter__(self):
            yield from tuple(super().__iter__())
            groups.put(late, "late")

    groups = known({group_at(text, 40): "early"})
    groups._owners = Owners(groups._owners)
    groups.found_in(text)
    assert groups.found_in(text) == [(40, "early"), (400, "late")]


def test_searched_while_a_filter_is_made():
    """What the garbage collector runs in the midst of it may search as well, on the same thread."""
    text = noise(b"a text", 1 << 16)
    late = group_at(text, 400)
    searched = []

    class Owners(dict):
        def __iter__(self):
            yield from tuple(super().__iter__())
            if not searched:
                searched.append(True)
                searched.append(groups.found_in(text))
                groups.put(late, "late")

    groups = known({group_at(text, 40): "early"})
    groups._owners = Owners(groups._owners)
    thread = threading.Thread(target=groups.found_in, args=(text,), daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    assert searched[1] == [(40, "early")]
    assert groups.found_in(text) == [(40, "early"), (400, "late")]


def test_added_while_others_search():
    """What one thread has added is found by every search that begins afterwards, while filters are made anew."""
    text, other = noise(b"a text", 1 << 16), noise(b"another", 1 << 18)
    groups = Groups()
    added, missed, is_over = [], [], threading.Event()

    def search():
        while not is_over.is_set():
            expected = len(added)
            found = {at for at, _ in groups.found_in(text)}
            missed.extend(at for at in added[:expected] if at not in found)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for at in range(0, len(text), WIDTH):
        groups.put(group_at(text, at), at)
        added.append(at)
        for one in range(4):
            groups.put(group_at(other, 4 * at + one), -1)
    is_over.set()
    for thread in threads:
        thread.join()
    assert not missed
