"""Opening and reading any bytes soon gives a cassette or CassetteCorrupt, and runs nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stock_recordings import vcrpy_text

from toolkit.cassettes.format import contents
from toolkit.cassettes.format.interactions import HEADER, MARKER, encode
from toolkit.core.errors import CassetteCorrupt
from toolkit.core.ledger import EPOCH

FOREIGN = vcrpy_text("http://h/", answer="x")
# fmt: off
ODD = st.sampled_from([
    b"", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\r", b"\t", b"\x85", b"\xe2\x80\xa8", b"\xed\xa0\x80",
    b"- ", b"? ", b": ", b"[", b"{", b"}", b"&a ", b"*a", b"<<: *a", b"!!int ", b"!!float ", b"!!binary ", b"!!set ",
    b"!!timestamp ", b"!!omap ", b"!!null ", b"!!bool ", b"!!python/tuple ", b"!<x> ", b"%TAG ! x\n---\n", b"...\n",
    b"~", b".nan", b"-.inf", b"1e999", b"1:30:30", b"9" * 5000, b"0x" + b"f" * 5000, b"2026-99-99", b"1.0", b"-1",
    b"'", b'"', b"|\n", b">-\n", b"\\ud800", b"version: 1\n", b"- request:\n", b"  complete: true\n", b"\n",
])
# fmt: on


def read_all(data):
    """Return the facts of a file after reading all of it, or None if it is refused."""
    try:
        opened = contents.read(data, source="x.yaml")
        facts = opened.environments, opened.last_token_number, opened.token_requests, opened.recorded_at
        for number in range(len(opened)):
            opened.head(number)
            opened.interaction(number)
    except CassetteCorrupt as error:
        return None if str(error).startswith("x.yaml") else pytest.fail(f"no file in {error}")
    return facts


@given(st.binary(max_size=200) | st.lists(ODD | st.binary(max_size=4), max_size=8).map(b"".join))
def test_any_bytes(data):
    """Any bytes are read or refused: alone, after our marker, and as the only item."""
    for before in (b"", MARKER, HEADER, HEADER + b"- request:\n", b"interactions:\n- request:\n    body:"):
        read_all(before + data)


VALUES = st.sampled_from(
    ["", "~", "[]", "{}", "7", "-1", "1e9", ".inf", ".nan", "9" * 5000, "0x" + "f" * 5000, "0b1", "'\\0'"]
)


@given(VALUES, st.integers(0, 60))
def test_odd_values_of_fields(interaction, authorization, value, place):
    """A file with a field of another type or an absurd number is refused, or read and tabulated."""
    headers = (("A", "b"), ("C", "d"), ("A", "e"))
    recorded = interaction(authorized_by=authorization(), response={"headers": headers})
    for file in (HEADER + encode(recorded), FOREIGN.encode()):
        lines = file.decode().splitlines()
        at = place % len(lines)
        lines[at] = lines[at].partition(":")[0] + ": " + value
        data = "\n".join(lines).encode() + b"\n"
        if read_all(data) is not None:
            opened = contents.read(data, source="")
            for number in range(len(opened)):
                call = opened.interaction(number)
                assert (call.recorded_at or EPOCH) + (call.elapsed or timedelta(0)) >= EPOCH - timedelta(days=1)


LEVELS = 100_000
BOMB = "a0: &a0 [x, x, x]\n" + "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 40)) + "\n"
HOSTILE = {
    "deep lists": "interactions: " + "[" * LEVELS,
    "deep lists in an item": FOREIGN.replace("string: x", "string: " + "[" * LEVELS),
    "deep JSON": '{"interactions": ' + "[" * LEVELS,
    "aliases": BOMB + "interactions: *a39\n",
    "aliases in an item": FOREIGN.replace(
        "headers: {}", "headers:\n" + "".join(f"      {b}\n" for b in BOMB.splitlines())
    ),
    "a long number of base 60": FOREIGN.replace("code: 200", "code: 1" + ":59" * LEVELS),
    "heads": FOREIGN.replace(
        "string: x", 'string: "' + "\n    method: GET\n    uri: http://h/\n  response:" * 2_000 + '"'
    ),
    "items": FOREIGN.replace("version: 1\n", "- request:\n    body:\n" * 2_000 + "version: 1\n"),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_files_are_read_soon(text):
    """Files that are made to exhaust time or memory are read soon; otherwise this test would not end."""
    read_all(text.encode())
    read_all(MARKER + text.encode())


def test_tags_run_nothing(tmp_path):
    """A tag in a file of either kind runs nothing."""
    made = tmp_path / "made"
    call = f"!!python/object/apply:os.mkdir [{str(made)!r}]"
    for text in (FOREIGN.replace("string: x", f"string: {call}"), f"interactions: {call}\n"):
        for before in (b"", MARKER):
            read_all(before + text.encode())
    with pytest.raises(CassetteCorrupt, match=r"mkdir"):
        contents.read(FOREIGN.replace("string: x", f"string: {call}").encode(), source="").interaction(0)
    assert not made.exists()
