"""Items read without a parser have the values that the parser reads; other items are left to the parser."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolkit.cassettes.format.contents import decode_usual
from toolkit.cassettes.format.decoding import decode
from toolkit.cassettes.format.interactions import encode
from toolkit.core.errors import CassetteCorrupt

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
        return decode(item, source="")
    except CassetteCorrupt:
        return "corrupt"


@given(st.data())
def test_ours_as_the_parser(interactions, data):
    """Any item of ours, and any with text inserted or removed, is read as the parser reads it."""
    item = encode(data.draw(interactions()))
    text = item.decode("ascii")
    assert decode_usual(item) in (None, decode(item, source=""))
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
