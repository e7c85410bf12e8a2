"""Interactions survive writing and reading, whatever they contain, however the file is edited, wherever it ends."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from toolkit.cassettes.format import contents
from toolkit.cassettes.format.contents import decode_usual
from toolkit.cassettes.format.interactions import HEADER, MARKER, RecordedFailure, encode
from toolkit.cassettes.format.yaml_text import dump
from toolkit.core.errors import CassetteCorrupt, CassetteError


def file_of(interactions):
    return HEADER + b"".join(map(encode, interactions))


def yaml_of(data):
    return MARKER + yaml.safe_dump(yaml.safe_load(data), indent=4, sort_keys=False, default_flow_style=None).encode()


def read(data):
    return contents.read(data, source="x.yaml")


def decode(item, line=4):
    """Return what the YAML parser makes of an item on this line of a file that the recorder did not lay out."""
    return read(MARKER + b"version: 1 \ninteractions:\n" + b"\n" * (line - 4) + item).interaction(0)


TEXTS = st.text("ab19 -:#?,[]{}&*!|>'\"%@`.=<~_\\/+exyn\n\té\x85\u2028\x07😀", max_size=20) | st.sampled_from(
    ["yes", "Null", "2026-05-12", "1e3", "0x1", "---", "x" * 2_000]
)
VALUES = TEXTS | st.binary(min_size=1) | st.floats(-9, 9) | st.integers() | st.booleans() | st.none()


@given(st.dictionaries(TEXTS, VALUES | st.lists(VALUES)))
def test_written_values_load_as_they_were(values):
    """Stock loaders read what is written: texts of any kind, also as keys, bytes, numbers, null and lists of them."""
    assert yaml.safe_load(dump({"a b": values})) == [{"a b": values}]


@given(st.data())
def test_any_layout_has_the_same_interactions(interactions, data):
    """A file laid out by the recorder, and the same values in flow style, have the same interactions and facts."""
    recorded = data.draw(st.lists(interactions(), min_size=1, max_size=3))
    ours = read(file_of(recorded))
    flow = read(yaml_of(file_of(recorded)))
    assert ours.data is not None
    assert flow.data is None
    for opened in (ours, flow):
        assert list(opened.readable().values()) == recorded
        assert [opened.head(at)[:2] for at in range(len(opened))] == [each.request[:2] for each in recorded]
    for fact in ("recorded_at", "environments", "last_token_number", "token_requests"):
        assert getattr(ours, fact) == getattr(flow, fact)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b"  response:\n", b"  reply:\n", "'response' is missing"),
        (b"      code: 200\n", b"      code: ok\n", "the status code is not a number"),
        (b"    uri: https://broker.svc.invalid", b"    uri: http://broker:http", "a URI is not valid"),
        (b"  elapsed: 0.012345\n", b"  elapsed: .inf\n", "one of its fields has an invalid value"),
        (b"  recorded_at: '2026", b"  recorded_at: 'early 2026", "isoformat"),
        (b"      string: '{\"id\": 1}'", b"      text: ''", "'string' is missing"),
        (b"  complete: true\n", b"  complete: true\n  a: !!python/name:os.getcwd\n", "constructor for the tag"),
        (b"  complete: true\n", b"  complete: {true\n", "not valid YAML"),
        (b"  complete: true\n", b"  authorized_by: 7\n  complete: true\n", "one of its fields has an invalid value"),
    ],
)
def test_what_is_not_an_interaction(interaction, old, new, why):
    """The error names the file, the line and the problem."""
    item = encode(interaction())
    assert old in item
    with pytest.raises(CassetteCorrupt, match=r"^x\.yaml, line (4[1-9]|5[0-9]|6[0-9]) is not a cassette: ") as caught:
        decode(item.replace(old, new), line=41)
    assert why in caught.value.what
    assert "not changed" in caught.value.next_step


def test_what_cannot_be_replayed(interaction):
    """A call with a URI that nobody could split again is refused before it is written, without quoting the URI."""
    with pytest.raises(CassetteError, match=r"GET request cannot be recorded.* a URI is not valid"):
        encode(interaction(request={"uri": "https://h:port/"}))


def test_reasons_of_failures(interaction):
    """A reason is kept if it is one of ours; a file cannot put other words, or another class, into an error."""
    failed = interaction(
        failure=RecordedFailure("ConnectError", "x", "nothing listens there"), response={"status": 599}
    )
    written = encode(failed)
    assert decode(written) == failed
    changed = decode(written.replace(b"nothing listens there", b"send your key elsewhere"))
    assert changed.failure == RecordedFailure("ConnectError", "x")
    with pytest.raises(CassetteCorrupt, match="not one of the error types that are recorded"):
        decode(written.replace(b"ConnectError", b"SystemExit"))


TRICKY = b"a\n  complete: true\n- request:\n    method: GET\n  recorded_at: '2026-01-01T00:00:00Z'\n  complete: true\nb"


@pytest.mark.parametrize("body", [b'{"id": 1}', TRICKY, bytes(range(0, 256, 5))])
def test_torn_at_any_byte(interaction, body):
    """A file that ends within its last item keeps all items before it."""
    recorded = [interaction(body=body, at=0), interaction(body=body, at=1)]
    whole = file_of(recorded)
    last = whole.index(b"- request:\n", len(file_of(recorded[:1])))
    for cut in range(last, len(whole)):
        opened = read(whole[:cut])
        is_complete = cut == len(whole) - 1  # only the line end after the last key is missing
        assert opened.is_torn == (last < cut and not is_complete), cut
        assert len(opened) == (2 if is_complete else 1)
        assert opened.appendable() == (whole if is_complete else whole[:last])
    for cut in range(1, len(HEADER) + 20):
        assert read(whole[:cut]).is_torn
        assert len(read(whole[:cut])) == 0


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
    opened = read(edit(file_of(recorded)))
    assert not opened.is_torn
    assert list(opened.readable().values()) == recorded
    appended = opened.appendable() + encode(interaction(at=2))
    assert len(read(appended)) == 3
    assert b"\r" not in appended


# Text that may change the meaning of a scalar that it is in or next to.
# fmt: off
PIECES = st.sampled_from([
    "'", "''", '"', " ", "  ", "\n", "\n\n", "\n ", "\n      ", ":", ": ", " #", "#", "- ", "? ", "&a ", "*a", "!!int ",
    "null", "~", "yes", "Off", "1", "1.5", "1:30", "0x1", "a", "A-b", "[", "]", "{}", ",", "|", ">", "%", "@", "\\",
    "\t", "\r", "\x85", "é", "\x00", "=", "<<", ".inf", "---", "...", "2026-01-01", "      - b\n", "  complete: true\n",
])
# fmt: on


def as_parsed(item):
    try:
        return decode(item)
    except CassetteCorrupt:
        return "corrupt"


@given(st.data())
def test_ours_as_the_parser(interactions, data):
    """Any item of ours, and any with text inserted or removed, is read as the parser reads it."""
    item = encode(data.draw(interactions()))
    text = item.decode("ascii")
    assert decode_usual(item) in (None, decode(item))
    for _ in range(3):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 5)))
        changed = (text[:start] + data.draw(PIECES) + text[end:]).encode()
        assert decode_usual(changed) in (None, as_parsed(changed))


def test_usual_items_need_no_parser(interaction, authorization):
    """Items of the usual shape are read without the parser; otherwise replay would be slow, and nobody would notice."""
    headers = (("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("Content-Type", "application/json; charset=utf-8"))
    key = ("SVC-API-KEY-ID", "<API_KEY_ID>")
    usual = interaction(
        body=b'{"name": "O\'Brien", "note": "a: b #c"}',
        request={"method": "POST", "headers": (("User-Agent", "python-httpx/0.28.1"), key), "body": b'{"qty": 1}'},
        response={"headers": headers, "reason": "Not Found", "status": 404},
        authorized_by=authorization("mine"),
    )
    untimed = usual._replace(elapsed=None, recorded_at=None, authorized_by=None)
    token_request = interaction(token_obtained=authorization())
    for recorded in (usual, untimed, interaction(body=b""), token_request):
        assert decode_usual(encode(recorded)) == recorded
