"""What is read without a parser is what the parser reads, or is left to it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from vcr.request import Request
from vcr.serialize import serialize
from vcr.serializers import yamlserializer

from toolkit.cassettes.format import fast_items
from toolkit.cassettes.format.interactions import decode, encode
from toolkit.core.errors import CassetteCorrupt

# What may stand in a scalar or around it and change what is meant.
PIECES = st.sampled_from(
    [
        *(
            "'",
            "''",
            '"',
            " ",
            "  ",
            "\n",
            "\n\n",
            "\n ",
            "\n      ",
            ":",
            ": ",
            " #",
            "#",
            "- ",
            "? ",
            "&a ",
            "*a",
            "!!int ",
        ),
        *(
            "null",
            "~",
            "yes",
            "Off",
            "1",
            "1.5",
            "1:30",
            "0x1",
            "a",
            "A-b",
            "[",
            "]",
            "{}",
            ",",
            "|",
            ">",
            "%",
            "@",
            "\\",
        ),
        *(
            "\t",
            "\r",
            "\x85",
            "é",
            "\x00",
            "=",
            "<<",
            ".inf",
            "---",
            "...",
            "2026-01-01",
            "      - b\n",
            "  complete: true\n",
        ),
    ]
)


def as_parsed(item):
    try:
        return decode(item, source="")
    except CassetteCorrupt:
        return "corrupt"


@given(st.data())
def test_as_the_parser(interactions, data):
    """Of any interaction of ours, and of any with something put into it or taken out, the parser reads the same."""
    item = encode(data.draw(interactions()))
    text = item.decode("ascii")
    assert fast_items.decode(item) in (None, decode(item, source=""))
    for _ in range(3):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 5)))
        changed = (text[:start] + data.draw(PIECES) + text[end:]).encode()
        assert fast_items.decode(changed) in (None, as_parsed(changed))


@given(st.lists(st.tuples(PIECES, PIECES), min_size=5, max_size=5), st.data())
def test_scalars_as_the_parser(interaction, pieces, data):
    """Whatever stands in the place of a scalar, the parser reads the same there."""
    lines = encode(interaction(request={"headers": (("A", "b"),)})).decode().splitlines(keepends=True)
    for first, second in pieces:
        at = data.draw(st.integers(0, len(lines) - 1))
        head = re.match(r" *(?:- )?(?:[A-Za-z_-]+:)? ?", lines[at])[0]
        changed = "".join([*lines[:at], head + first + second + "\n", *lines[at + 1 :]]).encode()
        assert fast_items.decode(changed) in (None, as_parsed(changed))


def test_most_are_plain(interaction, authorization):
    """What most recordings look like is read here: else replay would be slow, and nothing would say so."""
    headers = (("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("Content-Type", "application/json; charset=utf-8"))
    usual = interaction(
        body=b'{"name": "O\'Brien", "note": "a: b #c"}',
        request={"method": "POST", "headers": (("User-Agent", "python-httpx/0.28.1"),), "body": b'{"qty": 1}'},
        response={"headers": headers, "reason": "Not Found", "status": 404},
        authorized_by=authorization("mine"),
    )
    for one in (usual, replace(usual, elapsed=None, recorded_at=None, authorized_by=None), interaction(body=b"")):
        assert fast_items.decode(encode(one)) == one
    token_request = interaction(token_obtained=authorization())
    assert fast_items.decode(encode(token_request)) == token_request


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("A:\n      - b\n", "A:\n      - b\n      A:\n      - c\n"),
        ("method: GET", "method: Off"),
        ("- b\n", "- yes\n"),
        ("- b\n", "- b: c\n"),
        ("- b\n", "- b:\n"),
        ("- b\n", "- b #c\n"),
        ("message: OK", "message: OK: so"),
        ("message: OK", "message: OK #so"),
        ("message: OK", "message: OK\n        so"),
        ("elapsed: 0.012345", "elapsed: 99999999999999999999.0"),
        ("2026-05-12T09:30:00.000000Z", "2026-05-32T09:30:00.000000Z"),
        ("https://broker", "https://[broker"),
        ("code: 200", "code: 099"),
        ("  complete", "  # noted\n  complete"),
        ("  complete: true\n", "  complete: true\n\n"),
    ],
    ids=[
        *("a key twice", "a method that is none", "a value that is none", "a mapping", "an empty mapping", "a comment"),
        *("a mapping for text", "a comment behind text", "two lines", "seconds", "day", "uri", "code", "note", "end"),
    ],
)
def test_left_to_the_parser(interaction, old, new):
    """What means something else than it says is the parser's to read, or to refuse."""
    text = encode(interaction(request={"headers": (("A", "b"),)})).decode()
    assert old in text
    assert fast_items.decode(text.replace(old, new, 1).encode()) is None


def foreign_item(text):
    return text.removeprefix("interactions:\n").removesuffix("version: 1\n").encode()


def written_by_vcrpy(one):
    headers = {}
    for name, value in one.response.headers:
        headers.setdefault(name, []).append(value)
    response = {
        "status": {"code": one.response.status, "message": one.response.reason or None},
        "headers": headers,
        "body": {"string": one.response.body},
    }
    sent = Request(one.request.method, one.request.uri, one.request.body or None, dict(one.request.headers))
    return foreign_item(serialize({"requests": [sent], "responses": [response]}, yamlserializer))


@given(st.data())
def test_foreign_as_the_parser(interactions, data):
    """Of any item that stock vcrpy writes, and of any with something put into it, its loader reads the same."""
    item = written_by_vcrpy(data.draw(interactions()))
    text = item.decode()
    for _ in range(4):
        changed = text.encode()
        try:
            (value,) = yamlserializer.deserialize(changed.decode())
        except (yaml.YAMLError, ValueError, TypeError):
            value = "corrupt"
        assert fast_items.foreign_fields(changed) in (None, value)
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 5)))
        text = text[:start] + data.draw(PIECES) + text[end:]


def test_most_foreign_ones_are_plain(interaction):
    """What most recordings of vcrpy look like is read here, long text that is folded included."""
    body = b'{"note": "%s", "name": "O\'Brien said: \'\'so\'\'"}' % (b"it's so; " * 60)
    fields = fast_items.foreign_fields(written_by_vcrpy(interaction(body=body, request={"body": body})))
    assert fields["response"]["body"]["string"] == fields["request"]["body"] == body.decode()
    assert fast_items.foreign_fields(written_by_vcrpy(interaction()))["request"]["body"] is None
