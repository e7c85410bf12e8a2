"""The prefilter misses no secret in a text, and returns few other candidates."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import string
import threading
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit.scrubbing import prefilter as module
from toolkit.scrubbing.encoded_forms import Forms
from toolkit.scrubbing.prefilter import WIDTH, GroupIndex, Prefilter, group_at

# Lists of characters rather than st.text, which likes constants from the code; those are not secret.
PRINTABLE = st.lists(
    st.sampled_from(string.ascii_letters + string.digits + string.punctuation), min_size=8, max_size=50
).map("".join)
WAYS = {
    "as it is": str.encode,
    "URL": lambda text: quote(text, safe="").encode(),
    "URL in a URL, every character": lambda text: "".join(f"%25{byte:02x}" for byte in text.encode()).encode(),
    "JSON": lambda text: json.dumps(json.dumps(text)).encode(),
    "JSON, every character": lambda text: "".join(f"\\u{ord(letter):04x}" for letter in text).encode(),
    "that in a URL": lambda text: quote("".join(f"\\u{ord(letter):04x}" for letter in text), safe="").encode(),
    "that in JSON": lambda text: json.dumps("".join(f"\\u{ord(letter):04x}" for letter in text)).encode(),
    "HTML": lambda text: html.escape(text).encode(),
    "HTML, every character": lambda text: "".join(f"&#{ord(letter)};" for letter in text).encode(),
    "base64": lambda text: base64.b64encode(text.encode()),
    "base64 for URLs": lambda text: base64.urlsafe_b64encode(b"a" + text.encode() + b"??"),
    "base64 of JSON in a URL": lambda text: quote(base64.b64encode(json.dumps(text).encode()), safe="").encode(),
    "hex": lambda text: text.encode().hex().encode(),
    "capital hex": lambda text: text.encode().hex().upper().encode(),
}
FILLER = b"<td>1234</td>" * 2600  # makes a text large enough for the lookup table
NUMBERS = st.integers(0, (1 << 32) - 1)


def noise(seed, length):
    """Return the same bytes on every run."""
    return hashlib.shake_128(seed).digest(length)


def index_of(owners):
    index = GroupIndex()
    for group, owner in owners.items():
        index.put(group, owner)
    return index


def matches_one_by_one(data, owners):
    """Return the result that `matches_in` should return, from a search group by group."""
    places = range(0, len(data) - WIDTH + 1, WIDTH)
    return [(at, owners[group_at(data, at)]) for at in places if group_at(data, at) in owners]


@settings(max_examples=2 * settings().max_examples)
@given(PRINTABLE, st.binary(max_size=9), st.binary(max_size=5))
def test_a_text_with_a_secret_passes(secret, before, after):
    """The secret is a candidate in every form, at every offset and in texts of every size."""
    prefilter, forms = Prefilter(), Forms(secret)
    prefilter.add(7, forms)
    for write in WAYS.values():
        data = before + b"." + write(secret) + b"." + after
        if forms.found_in(data):
            assert 7 in prefilter.candidates(data)
            assert 7 in prefilter.candidates(FILLER + data)


def test_few_other_secrets_are_candidates():
    """Of thousands of secrets, those in a text are candidates, and hardly any others."""
    secrets = [hashlib.sha256(b"obviously fake %d" % number).hexdigest()[:40] for number in range(1500)]
    prefilter = Prefilter()
    for number, secret in enumerate(secrets):
        prefilter.add(number, Forms(secret))
    text = json.dumps({"rows": [{"id": number, "name": f"Account {number}"} for number in range(200)]})
    assert prefilter.candidates(text.encode()) == set()
    assert prefilter.candidates(f"{text} {secrets[41]} {secrets[1499]}".encode()) == {41, 1499}
    assert prefilter.candidates(b"") == set()


@pytest.mark.parametrize("secret", ["!!!!!!!!!!!!", "пароль-и-ещё", "a%41b%42c%43defghijk", "abc-def-ghi"])
def test_a_secret_without_anchor_is_always_a_candidate(secret):
    """A secret without a long run of letters and digits, or changed by undoing escapes, is always a candidate."""
    prefilter = Prefilter()
    prefilter.add(1, Forms(secret))
    assert prefilter.candidates(b"x") == {1}


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
    assert GroupIndex().matches_in(b"abcd") == []


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
    index = GroupIndex()
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
