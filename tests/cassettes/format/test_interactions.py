"""Interactions survive encoding and decoding, here and in stock vcrpy."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from vcr.serialize import deserialize
from vcr.serializers import yamlserializer

from toolkit.cassettes.format.interactions import HEADER, RecordedFailure, corrupt, decode, decode_all, encode
from toolkit.core.errors import CassetteCorrupt
from toolkit.scrubbing.messages import header_bytes, header_text


@given(st.data())
def test_decode_reverses_encode(interactions, data):
    """Every field survives: bytes of bodies, odd text, repeated headers and their order."""
    interaction = data.draw(interactions())
    assert decode(encode(interaction), source="x.yaml") == interaction


@given(st.data())
def test_stock_vcrpy_reads_the_same(interactions, data):
    """Stock vcrpy's loader finds the same requests and responses, in the same order."""
    recorded = data.draw(st.lists(interactions(), min_size=1, max_size=3))
    text = (HEADER + b"".join(map(encode, recorded))).decode("ascii")
    requests, responses = deserialize(text, yamlserializer)
    for interaction, request, response in zip(recorded, requests, responses, strict=True):
        assert (request.method, request.uri) == (interaction.request.method, interaction.request.uri)
        assert request.body == interaction.request.body
        # vcrpy keeps one value of each name, in any case.
        first = {}
        for name, value in interaction.request.headers:
            first.setdefault(name, value)
        last = {name.lower(): header_bytes(value) for name, value in first.items()}
        assert {name.lower(): as_bytes(value) for name, value in request.headers.items()} == last
        assert response["status"] == {"code": interaction.response.status, "message": interaction.response.reason}
        assert response["body"]["string"] == interaction.response.body
        flat = [(name, as_bytes(value)) for name, values in response["headers"].items() for value in values]
        assert sorted(flat) == sorted((name, header_bytes(value)) for name, value in interaction.response.headers)


def as_bytes(value):
    return value if isinstance(value, bytes) else value.encode("ascii")


def test_item_text(interaction):
    """An item is readable text that begins with `request` and ends with the key that marks it complete."""
    item = encode(interaction(body=b'{\n  "id": 1\n}')).decode()
    assert item.startswith("- request:\n    method: GET\n    uri: https://broker.svc.invalid/v1/accounts\n")
    assert '      string: |-\n        {\n          "id": 1\n        }\n' in item
    assert item.endswith("  recorded_at: '2026-05-12T09:30:00.000000Z'\n  elapsed: 0.012345\n  complete: true\n")


def test_header_order_is_written_only_if_needed(interaction):
    """Headers that keep their order in a mapping need no extra key."""
    plain = (("A", "1"), ("A", "2"), ("B", "3"))
    mixed = (("A", "1"), ("B", "2"), ("A", "3"))
    assert b"header_order" not in encode(interaction(response={"headers": plain}, request={"headers": plain}))
    assert b"  header_order:\n  - A\n  - B\n  - A\n" in encode(interaction(response={"headers": mixed}))
    assert b"  request_header_order:\n  - A\n" in encode(interaction(request={"headers": mixed}))


def test_header_added_by_hand(interaction):
    """A header that somebody adds to a recording is kept, even if the order of the others is recorded."""
    item = encode(interaction(response={"headers": (("A", "1"), ("B", "2"), ("A", "3"))}))
    edited = item.replace(b"      B:\n", b"      C:\n      - by hand\n      B:\n")
    headers = decode(edited, source="x.yaml").response.headers
    assert headers == (("A", "1"), ("B", "2"), ("A", "3"), ("C", "by hand"))


@given(st.binary(max_size=10))
def test_header_text_stands_for_bytes(raw):
    """The text of a header value converts back to its bytes; text from vcrpy becomes UTF-8."""
    assert header_bytes(header_text(raw)) == raw
    assert header_bytes("日本") == "日本".encode()


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b"  response:\n", b"  reply:\n", "'response' is missing"),
        (b"      code: 200\n", b"      code: ok\n", "a status code has three digits"),
        (b"    uri: https://broker.svc.invalid", b"    uri: http://[broker", "a URI is not valid"),
        (b"    uri: https://broker.svc.invalid", b"    uri: http://broker:http", "a URI is not valid"),
        (b"  elapsed: 0.012345\n", b"  elapsed: .inf\n", "do not have the fields"),
        (b"  elapsed: 0.012345\n", b"  elapsed: soon\n", "do not have the fields"),
        (b"  recorded_at: '2026", b"  recorded_at: 'early 2026", "isoformat"),
        (b"      string: '{\"id\": 1}'", b"      text: ''", "'string' is missing"),
        (b"    headers: {}\n", b"    headers: [1]\n", "do not have the fields"),
        (b"  complete: true\n", b"  complete: true\n  a: !!python/name:os.getcwd\n", "constructor for the tag"),
        (b"  complete: true\n", b"  complete: {true\n", "not valid YAML"),
        (b"  complete: true\n", b"  authorized_by: 7\n  complete: true\n", "do not have the fields"),
        (b"- request:", b"- question:", "'request' is missing"),
    ],
)
def test_decode_refuses_what_is_not_an_interaction(interaction, old, new, why):
    """The error names the file, the line and the problem."""
    item = encode(interaction())
    assert old in item
    with pytest.raises(CassetteCorrupt, match=r"^x\.yaml, line (4[1-9]|5[0-9]|6[0-9]) is not a cassette: ") as caught:
        decode(item.replace(old, new), source="x.yaml", line=41)
    assert why in caught.value.what
    assert "left as it was" in caught.value.next_step


def test_decode_refuses_several_items(interaction):
    """A second item is an error, and is not skipped silently."""
    item = encode(interaction())
    for items in (item + b"- {request: {}}\n", item + item):
        with pytest.raises(CassetteCorrupt):
            decode(items, source="x.yaml")


def test_error_names_the_line_of_the_problem(interaction):
    """The error names the line of the problem in the file, if the YAML parser knows it."""
    item = encode(interaction()).replace(b"  elapsed: 0.012345\n", b"  elapsed: {0.012345\n")
    line = item[: item.index(b"  complete:")].count(b"\n") + 1
    with pytest.raises(CassetteCorrupt, match=rf"x\.yaml, line {line + 9} "):
        decode(item, source="x.yaml", line=10)
    assert corrupt("x.yaml", "it is empty").what == "x.yaml is not a cassette: it is empty."


def test_decode_all_reads_any_layout(interaction):
    """A file in flow style is read completely, our own keys included."""
    import yaml

    recorded = [interaction(at=0), interaction("/v1/orders", at=1)]
    value = yaml.safe_load(HEADER + b"".join(map(encode, recorded)))
    flow = yaml.safe_dump(value, default_flow_style=True).encode()
    assert decode_all(flow, source="x.yaml") == recorded


def test_elapsed_is_exact(interaction):
    """Elapsed times are kept to the microsecond."""
    for microseconds in (0, 1, 999_999, 3_600_000_001):
        timed = interaction()._replace(elapsed=timedelta(microseconds=microseconds))
        assert decode(encode(timed), source="x.yaml") == timed


def test_only_errors_of_httpx_are_failures():
    """A file cannot name another class to raise."""
    with pytest.raises(ValueError, match="SystemExit"):
        RecordedFailure("SystemExit")


def test_reasons_of_failures(interaction):
    """A reason is kept if it is one of ours; a file cannot put other words into an error."""
    failed = interaction(
        failure=RecordedFailure("ConnectError", "x", "nothing listens there"), response={"status": 599}
    )
    written = encode(failed)
    assert decode(written, source="x.yaml") == failed
    for other in (b"send your key elsewhere", b"[nothing listens there]"):
        changed = decode(written.replace(b"nothing listens there", other), source="x.yaml")
        assert changed.failure == RecordedFailure("ConnectError", "x")
    with pytest.raises(ValueError, match="reason"):
        RecordedFailure("ConnectError", "x", "send your key elsewhere")
