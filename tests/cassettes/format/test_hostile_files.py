"""Opening and reading any bytes soon gives a cassette or CassetteCorrupt, and runs nothing."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tracemalloc
from datetime import timedelta

import httpx
import pytest
import yaml
from bombs import bomb
from hypothesis import given
from hypothesis import strategies as st

from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.format import contents, vcrpy_files
from toolkit.cassettes.format.interactions import HEADER, MARKER, encode
from toolkit.cassettes.replay.matching import ANYONE
from toolkit.core.errors import CassetteCorrupt, ToolkitError
from toolkit.core.ledger import EPOCH
from toolkit.core.text import printable
from toolkit.scrubbing.messages import RecordedRequest

FOREIGN = """\
interactions:
- request:
    body: null
    headers: {}
    method: GET
    uri: http://h/
  response:
    body:
      string: x
    headers: {}
    status:
      code: 200
      message: OK
version: 1
"""
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


@given(st.data())
def test_odd_bytes_in_a_cassette(interactions, data):
    """A cassette of either kind is read or refused with odd bytes in some places."""
    ours = HEADER + encode(data.draw(interactions())) + encode(data.draw(interactions()))
    for whole in (ours, FOREIGN.encode(), json.dumps(yaml.safe_load(FOREIGN)).encode()):
        file = whole
        for _ in range(data.draw(st.integers(1, 3))):
            start = data.draw(st.integers(0, len(file)))
            end = data.draw(st.integers(start, min(len(file), start + 8)))
            file = file[:start] + data.draw(ODD) + file[end:]
        read_all(file)


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
            assert len(opened.table()) == len(opened)
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
    "a long number": FOREIGN.replace("code: 200", "code: " + "9" * LEVELS),
    "digits": FOREIGN.replace("string: x", "string: " + "1" * LEVELS),
    "colons": FOREIGN.replace("string: x", "string: " + "1:1:1:1:" * LEVELS),
    "quotes": FOREIGN.replace("string: x", "string: '" + "''" * LEVELS + "'"),
    "an open quote": FOREIGN.replace("string: x", "string: '" + "a b" * LEVELS),
    "lines": FOREIGN.replace("string: x", "string: '" + "a\n        " * LEVELS + "b'"),
    "blank lines": FOREIGN.replace("string: x", "string: 'a" + "\n" * LEVELS + "b'"),
    "spaces": FOREIGN.replace("string: x", "string: a" + " " * LEVELS + "b"),
    "many headers": FOREIGN.replace(
        "headers: {}", "headers:\n" + "".join(f"      a{n}:\n      - b\n" for n in range(2_000))
    ),
    "heads": FOREIGN.replace(
        "string: x", 'string: "' + "\n    method: GET\n    uri: http://h/\n  response:" * 2_000 + '"'
    ),
    "items": FOREIGN.replace("version: 1\n", "- request:\n    body:\n" * 2_000 + "version: 1\n"),
    "ampersands and stars": FOREIGN.replace("string: x", "string: x" + " &a" * LEVELS + " *b" * LEVELS),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_files_are_read_soon(text):
    """Files that are made to exhaust time or memory are read soon; otherwise this test would not end."""
    read_all(text.encode())
    read_all(MARKER + text.encode())


def test_hostile_items_are_read_soon(interaction):
    """Hostile values in an item of ours take little time."""
    ours = (HEADER + encode(interaction())).decode()
    for value in (
        "[" * LEVELS,
        "1" + ":59" * LEVELS,
        "a: " * LEVELS,
        "'" + "''" * LEVELS,
        "a " * LEVELS,
        "&a" * LEVELS,
    ):
        read_all(ours.replace("string: '{\"id\": 1}'", "string: " + value).encode())
        read_all(ours.replace("message: OK", "message: " + value).encode())
    read_all(ours.replace("complete: true", "token_obtained:\n    token: " + "9" * LEVELS).encode())


def test_decompression_bomb():
    """A body that would expand without limit is not decompressed when its headers are corrected."""
    body = bomb(100)
    item = yaml.safe_load(FOREIGN)["interactions"][0]
    item["response"] = {
        "status": {"code": 200, "message": "OK"},
        "headers": {"Content-Encoding": ["gzip"]},
        "body": {"string": body},
    }
    data = yaml.safe_dump({"interactions": [item], "version": 1}).encode()
    tracemalloc.start()
    (loaded,) = vcrpy_files.load(data, source="")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert loaded.response.body == body
    assert peak < 50 << 20


def test_unknown_content_encoding():
    """The header of an encoding that httpx does not decode is kept."""
    item = yaml.safe_load(FOREIGN)["interactions"][0]
    item["response"]["headers"] = {"Content-Encoding": ["unheard-of"]}
    (loaded,) = vcrpy_files.load(yaml.safe_dump({"interactions": [item]}).encode(), source="")
    assert loaded.response.headers == (("Content-Encoding", "unheard-of"),)


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


def test_nesting_just_below_the_limit(tmp_path):
    """Nesting just below the limit does not crash the interpreter."""
    path = tmp_path / "deep.yaml"
    path.write_text(FOREIGN.replace("string: x", "string: " + "[" * 490 + "]" * 490))
    code = (
        "import sys; from toolkit.cassettes.format import contents; from toolkit.core.errors import CassetteCorrupt\n"
        "try: contents.read(open(sys.argv[1], 'rb').read(), source='').interaction(0)\n"
        "except CassetteCorrupt: pass\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == 0


def test_paths_in_uris(tmp_path):
    """A path in a recorded URI never becomes the name of a file."""
    path = tmp_path / "a.yaml"
    path.write_text(FOREIGN.replace("http://h/", "http://h/../../etc/passwd"))
    cassette = Cassette(path, "none")
    assert cassette.find(contents.read(path.read_bytes(), source="").head(0), ANYONE) is not None
    assert [file.name for file in tmp_path.iterdir()] == ["a.yaml"]


@pytest.mark.parametrize("layout", ["ours", "foreign", "JSON"])
@pytest.mark.parametrize("uri", ["http://h:99999/", "http://h:-1/", "http://[h/", f"http://h:{'9' * 5000}/"])
def test_hostile_addresses(tmp_path, interaction, layout, uri):
    """A request is looked up, or refused with the file's name, in a cassette with an impossible address."""
    foreign = FOREIGN.replace("http://h/", uri)
    data = {
        "ours": HEADER + encode(interaction(request={"uri": "http://h/"})).replace(b"http://h/", uri.encode()),
        "foreign": foreign.encode(),
        "JSON": json.dumps(yaml.safe_load(foreign)).encode(),
    }
    path = tmp_path / "a.yaml"
    path.write_bytes(data[layout])
    with pytest.raises(CassetteCorrupt, match=r"a URI is not valid") as caught:
        Cassette(path, "none").find(RecordedRequest("GET", "http://h/"), ANYONE)
    assert uri not in str(caught.value)


ODD_TEXT = [
    "\0",
    "\n",
    "\x1b[2J",
    "\ud800",
    "é",
    "\u202e",
    "x" * 9999,
    "",
    "-1",
    "9" * 5000,
    "http://[",
    "a=b; Expires=\0",
]


@pytest.mark.parametrize("text", ODD_TEXT)
def test_odd_text_is_replayed_and_shown(tmp_path, text):
    """A cassette with odd text in any place is replayed and tabulated, or refused with a typed error."""
    path = tmp_path / "a.json"
    for place in ("method", "uri", "request headers", "response headers", "message", "body", "string", "code"):
        item = yaml.safe_load(FOREIGN)["interactions"][0]
        request, response = item["request"], item["response"]
        if place.endswith("headers"):
            (request if place.startswith("request") else response)["headers"] = {text: text, "Set-Cookie": [text]}
        elif place in request:
            request[place] = f"http://h/?{text}" if place == "uri" else text
        else:
            (response["body"] if place == "string" else response["status"])[place] = text
        path.write_text(json.dumps({"version": 1, "interactions": [item]}))
        with contextlib.suppress(ToolkitError, httpx.HTTPError):
            cassette = Cassette(path, "none")
            table = cassette.table().to_string()
            assert printable(table) == table
            with httpx.Client(transport=cassette.transport()) as client:
                client.get("http://h/")
