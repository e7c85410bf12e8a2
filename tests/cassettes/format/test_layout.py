"""Items are found in the bytes of a cassette of ours, whatever they contain and wherever the file ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.cassettes.format import contents
from toolkit.cassettes.format.interactions import HEADER, MARKER, decode, encode


def file_of(interactions):
    return HEADER + b"".join(map(encode, interactions))


def decode_items(laid_out):
    return [decode(laid_out.data[item.start : item.end], source="") for item in laid_out.items]


@given(st.data())
def test_items_heads_and_facts(interactions, data):
    """Each interaction is found complete; the parser would find the same heads and facts."""
    recorded = data.draw(st.lists(interactions(), min_size=1, max_size=3))
    laid_out = contents.lay_out(file_of(recorded))
    assert not laid_out.is_torn
    assert decode_items(laid_out) == recorded
    facts = contents.Unparsed(laid_out, source="")
    for number, interaction in enumerate(recorded):
        assert facts.head(number)[:2] == interaction.request[:2]
    callers = [item.authorized_by for item in recorded if item.authorized_by]
    obtained = [item.token_obtained for item in recorded if item.token_obtained]
    assert facts.environments == list(dict.fromkeys(str(caller.environment) for caller in callers))
    assert facts.token_requests == [number for number, item in enumerate(recorded) if item.token_obtained]
    assert facts.last_token_number == max((by.token or 0 for by in callers + obtained), default=0)
    assert facts.recorded_at == next((e.recorded_at for e in recorded if e.recorded_at), None)


TRICKY = b"a\n  complete: true\n- request:\n    method: GET\n  recorded_at: '2026-01-01T00:00:00Z'\n  complete: true\nb"


@pytest.mark.parametrize("body", [b'{"id": 1}', TRICKY, bytes(range(0, 256, 5))])
def test_torn_at_any_byte(interaction, body):
    """A file that ends within its last item keeps all items before it."""
    recorded = [interaction(body=body, at=0), interaction(body=body, at=1)]
    whole = file_of(recorded)
    last = whole.index(b"- request:\n", len(file_of(recorded[:1])))
    for cut in range(last, len(whole)):
        laid_out = contents.lay_out(whole[:cut])
        is_complete = cut == len(whole) - 1  # only the line end after the last key is missing
        assert laid_out.is_torn == (last < cut and not is_complete), cut
        assert len(laid_out.items) == (2 if is_complete else 1)
        assert laid_out.appendable() == (whole if is_complete else whole[:last])


def test_torn_in_the_first_item(interaction):
    """A file that ends within its header or first item has no items and starts again from nothing."""
    whole = file_of([interaction(body=TRICKY)])
    for cut in range(1, len(whole) - 1):
        assert contents.is_ours(whole[:cut])
        laid_out = contents.lay_out(whole[:cut])
        assert (laid_out.items, laid_out.is_torn, laid_out.appendable()) == ((), True, b""), cut


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
    """Edits around items do not lose an item, and another item can be appended."""
    recorded = [interaction(body=b"a\nb\n", at=0), interaction(at=1)]
    laid_out = contents.lay_out(edit(file_of(recorded)))
    assert not laid_out.is_torn
    assert decode_items(laid_out) == recorded
    appended = laid_out.appendable() + encode(interaction(at=2))
    assert len(contents.lay_out(appended).items) == 3
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
    ids=["indented", "key before", "comment before", "key after", "flow", "flow item"],
)
def test_other_layouts(interaction, edit):
    """A file that a formatter has laid out differently is not mistaken for a torn one."""
    assert contents.lay_out(edit(file_of([interaction(), interaction(at=1)]))) is None


@pytest.mark.parametrize("data", [b"", b"version: 1\n", b"\x00", b"# a cassette\n" + HEADER])
def test_not_ours(data):
    """Data that does not begin with our marker, or with a part of it, is not a cassette of ours."""
    assert not contents.is_ours(data)
