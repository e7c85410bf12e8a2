"""An interaction of any content comes back from its block item, here and in stock vcrpy."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from vcr.serialize import deserialize
from vcr.serializers import yamlserializer

from toolkit.cassettes.format.interactions import HEADER, corrupt, decode, decode_all, encode
from toolkit.core.errors import CassetteCorrupt
from toolkit.scrubbing.messages import header_bytes, header_text


@given(st.data())
def test_round_trip(interactions, data):
    """Every field of an interaction comes back: bytes of bodies, odd text, repeated headers and their order."""
    interaction = data.draw(interactions())
    assert decode(encode(interaction), source="x.yaml") == interaction


@given(st.data())
def test_stock_vcrpy_reads_the_same(interactions, data):
    """Stock vcrpy's loader finds the same requests and responses, in the same order."""
    several = data.draw(st.lists(interactions(), min_size=1, max_size=3))
    text = (HEADER + b"".join(map(encode, several))).decode("ascii")
    requests, responses = deserialize(text, yamlserializer)
    for interaction, request, response in zip(several, requests, responses, strict=True):
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


def test_layout(interaction):
    """An item is readable text with `request` first and a fixed key last, which is how the bytes are found again."""
    item = encode(interaction(body=b'{\n  "id": 1\n}')).decode()
    assert item.startswith("- request:\n    method: GET\n    uri: https://broker.svc.invalid/v1/accounts\n")
    assert '      string: |-\n        {\n          "id": 1\n        }\n' in item
    assert item.endswith("  recorded_at: '2026-05-12T09:30:00.000000Z'\n  elapsed: 0.012345\n  complete: true\n")


def test_order_of_headers_is_noted_only_when_it_must_be(interaction):
    """Headers that a mapping keeps in order need no further key."""
    plain = (("A", "1"), ("A", "2"), ("B", "3"))
    mixed = (("A", "1"), ("B", "2"), ("A", "3"))
    assert b"header_order" not in encode(interaction(response={"headers": plain}, request={"headers": plain}))
    assert b"  header_order:\n  - A\n  - B\n  - A\n" in encode(interaction(response={"headers": mixed}))
    assert b"  request_header_order:\n  - A\n" in encode(interaction(request={"headers": mixed}))


def test_header_added_by_hand(interaction):
    """A header that someone writes into a recording counts, also where the order of the others is noted."""
    item = encode(interaction(response={"headers": (("A", "1"), ("B", "2"), ("A", "3"))}))
    edited = item.replace(b"      B:\n", b"      C:\n      - by hand\n      B:\n")
    headers = decode(edited, source="x.yaml").response.headers
    assert headers == (("A", "1"), ("B", "2"), ("A", "3"), ("C", "by hand"))


@given(st.binary(max_size=10))
def test_header_bytes(raw):
    """Text of a header stands for its bytes."""
    assert header_bytes(header_text(raw)) == raw


def test_header_bytes_of_vcrpy():
    """vcrpy hands on headers decoded from UTF-8; they become UTF-8 again."""
    assert header_bytes("日本") == "日本".encode()


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b"  response:\n", b"  reply:\n", "misses 'response'"),
        (b"    status:\n      code: 200\n", b"    status:\n      code: ok\n", "invalid literal"),
        (b"    uri: https://broker.svc.invalid", b"    uri: http://[broker", "Invalid IPv6"),
        (b"    uri: https://broker.svc.invalid", b"    uri: http://broker:http", "Port"),
        (b"  elapsed: 0.012345\n", b"  elapsed: .inf\n", "infinity"),
        (b"  elapsed: 0.012345\n", b"  elapsed: soon\n", "seconds"),
        (b"  recorded_at: '2026", b"  recorded_at: 'early 2026", "isoformat"),
        (b"      string: '{\"id\": 1}'", b"      text: ''", "misses 'string'"),
        (b"    headers: {}\n", b"    headers: [1]\n", "items"),
        (
            b"  complete: true\n",
            b"  complete: true\n  a: !!python/object/apply:os.getcwd []\n",
            "constructor for the tag",
        ),
        (b"  complete: true\n", b"  complete: {true\n", "no valid YAML"),
        (b"  complete: true\n", b"  authorized_by: 7\n  complete: true\n", "mapping"),
        (b"- request:", b"- question:", "misses 'request'"),
    ],
)
def test_decode_names_file_and_line(interaction, old, new, why):
    """What is no interaction is refused with file and line, and with what is wrong about it."""
    item = encode(interaction())
    assert old in item
    edited = item.replace(old, new)
    with pytest.raises(CassetteCorrupt, match=r"^x\.yaml, line (4[1-9]|5[0-9]|6[0-9]) is no cassette: ") as caught:
        decode(edited, source="x.yaml", line=41)
    assert why in caught.value.what
    assert "left as it was" in caught.value.next_step


def test_decode_one(interaction):
    """Where something else wrote an interaction behind one of ours, it is not passed over."""
    item = encode(interaction())
    for several in (item + b"- {request: {}}\n", item + item):
        with pytest.raises(CassetteCorrupt):
            decode(several, source="x.yaml")


def test_decode_a_line_beyond_the_first(interaction):
    """The line is that of the problem, where YAML knows it."""
    item = encode(interaction()).replace(b"  elapsed: 0.012345\n", b"  elapsed: {0.012345\n")
    line = item[: item.index(b"  complete:")].count(b"\n") + 1
    with pytest.raises(CassetteCorrupt, match=rf"x\.yaml, line {line + 9} "):
        decode(item, source="x.yaml", line=10)


def test_decode_all(interaction):
    """A whole file is read however it is laid out, our own keys included."""
    import yaml

    several = [interaction(at=0), interaction("/v1/orders", at=1)]
    value = yaml.safe_load(HEADER + b"".join(map(encode, several)))
    flow = yaml.safe_dump(value, default_flow_style=True).encode()
    assert decode_all(flow, lambda top: top["interactions"], source="x.yaml") == several


def test_corrupt_without_a_line():
    """Where no line is known, the file alone is named."""
    assert corrupt("x.yaml", "it is empty").what == "x.yaml is no cassette: it is empty."


def test_elapsed_is_exact(interaction):
    """Elapsed times are kept to the microsecond."""
    from dataclasses import replace

    for microseconds in (0, 1, 999_999, 3_600_000_001):
        timed = replace(interaction(), elapsed=timedelta(microseconds=microseconds))
        assert decode(encode(timed), source="x.yaml") == timed
