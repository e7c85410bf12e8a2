"""Items are found in the bytes of a cassette of ours, whatever stands in them and wherever the file ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.cassettes.format import layout
from toolkit.cassettes.format.interactions import HEADER, MARKER, decode, encode


def file_of(interactions):
    return HEADER + b"".join(map(encode, interactions))


@given(st.data())
def test_every_item_is_found(interactions, data):
    """Splitting finds each interaction whole, whatever text its bodies hold, and its head equals what parsing tells."""
    several = data.draw(st.lists(interactions(), min_size=1, max_size=3))
    found = layout.lay_out(file_of(several))
    assert not found.is_torn
    assert [decode(found.data[item.start : item.end], source="") for item in found.items] == several
    for number, interaction in enumerate(several):
        head = layout.head(found, number)
        assert head in (None, (interaction.request.method, interaction.request.uri))
        if interaction.request.method not in ("ON", "NULL") and "#" not in interaction.request.uri:
            assert head is not None or interaction.request.uri.endswith(":")


@given(st.data())
def test_facts_are_found_without_parsing(interactions, data):
    """Environments, token requests, the last token number and the first instant are those of the interactions."""
    several = data.draw(st.lists(interactions(), min_size=1, max_size=3))
    found = layout.lay_out(file_of(several))
    callers = [one.authorized_by for one in several if one.authorized_by]
    obtained = [one.token_obtained for one in several if one.token_obtained]
    assert layout.environments(found) == list(dict.fromkeys(str(by.environment) for by in callers))
    assert layout.token_requests(found) == [number for number, one in enumerate(several) if one.token_obtained]
    assert layout.last_token_number(found) == max((by.token or 0 for by in callers + obtained), default=0)
    assert layout.first_recorded_at(found) == next((one.recorded_at for one in several if one.recorded_at), None)


TRICKY = b"a\n  complete: true\n- request:\n    method: GET\n  recorded_at: '2026-01-01T00:00:00Z'\n  complete: true\nb"


@pytest.mark.parametrize("body", [b'{"id": 1}', b"a\n  complete: true\nb\n", TRICKY, bytes(range(256))])
def test_torn_anywhere(interaction, body):
    """Cut off at any byte of its last item, a file gives all items before it, and what is left is theirs."""
    several = [interaction(body=body, at=0), interaction(body=body, at=1), interaction(body=body, at=2)]
    whole = file_of(several)
    last = whole.index(b"- request:\n", len(file_of(several[:2])))
    for cut in range(last, len(whole)):
        found = layout.lay_out(whole[:cut])
        # Its last byte ends the line of the key that marks it complete.
        complete = cut == len(whole) - 1
        assert found.is_torn == (last < cut and not complete), cut
        assert len(found.items) == (3 if complete else 2)
        mended = layout.mended(found)
        assert mended == (whole if complete else whole[:last])


def test_torn_at_the_beginning(interaction):
    """Cut off anywhere in its first item or header, a file has no items and begins anew."""
    whole = file_of([interaction(body=TRICKY)])
    for cut in range(1, len(whole) - 1):
        assert layout.is_ours(whole[:cut])
        found = layout.lay_out(whole[:cut])
        assert (found.items, found.is_torn, layout.mended(found)) == ((), True, b""), cut


@pytest.mark.parametrize(
    "edit",
    [
        lambda data: data.removesuffix(b"\n"),
        lambda data: data + b"\n\n",
        lambda data: data + b"# noted by hand\n",
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data.replace(b"  elapsed", b"  # slow\n  elapsed"),
        lambda data: data.replace(b"  complete: true\n- request", b"  complete: true\n# second\n- request"),
    ],
    ids=["no newline", "blank lines", "comment at the end", "Windows lines", "comment inside", "comment between"],
)
def test_edited_by_hand(interaction, edit):
    """What an editor changes around items costs no item, and the next one can be appended."""
    several = [interaction(body=b"a\nb\n", at=0), interaction(at=1)]
    found = layout.lay_out(edit(file_of(several)))
    assert not found.is_torn
    assert [decode(found.data[item.start : item.end], source="") for item in found.items] == several
    appended = layout.mended(found) + encode(interaction(at=2))
    assert len(layout.lay_out(appended).items) == 3
    assert b"\r" not in appended


@pytest.mark.parametrize(
    "edit",
    [
        lambda data: data.replace(b"- request:", b"  - request:"),
        lambda data: data.replace(b"version: 1\n", b"version: 1\nnote: mine\n"),
        lambda data: data.replace(MARKER, MARKER + b"# mine\n"),
        lambda data: data + b"other: 1\n",
        lambda data: data.replace(b"interactions:\n", b"interactions: []\n"),
        lambda data: data.replace(b"- request:", b"- {request: {}}\n- request:", 1),
    ],
    ids=["indented", "another key", "a comment above", "a key below", "flow", "an item of another layout"],
)
def test_laid_out_anew(interaction, edit):
    """A file that a formatter laid out anew is nothing to cut at: it is not taken for a torn one."""
    assert layout.lay_out(edit(file_of([interaction(), interaction(at=1)]))) is None


def test_head_of_what_needs_a_parser(interaction):
    """A quoted method, a comment and a folded URI are left to the parser."""
    data = file_of([interaction()])
    assert layout.head(layout.lay_out(data), 0) == ("GET", "https://broker.svc.invalid/v1/accounts")
    for old, new in [(b"GET", b"'GET'"), (b"accounts\n", b"accounts # all\n"), (b"https://", b"|-\n      https://")]:
        assert layout.head(layout.lay_out(data.replace(old, new, 1)), 0) is None


@pytest.mark.parametrize("data", [b"", b"version: 1\n", b"\x00", b"# a cassette\n" + HEADER])
def test_not_ours(data):
    """What does not begin with our marker, or with part of it, is not ours."""
    assert not layout.is_ours(data)
