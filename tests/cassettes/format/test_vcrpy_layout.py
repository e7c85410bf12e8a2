"""A file in vcrpy's usual layout is split into the interactions that its loader finds; any other is not split."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from vcr.request import Request
from vcr.serialize import serialize
from vcr.serializers import yamlserializer

from toolkit.cassettes.format import contents, vcrpy_files, vcrpy_layout
from toolkit.core.errors import CassetteCorrupt


def written(recorded):
    """Return a file as stock vcrpy writes it."""
    requests, responses = [], []
    for item in recorded:
        headers = {name: [value] for name, value in item.response.headers}
        status = {"code": item.response.status, "message": item.response.reason}
        requests.append(Request(item.request.method, item.request.uri, item.request.body, dict(item.request.headers)))
        responses.append({"status": status, "headers": headers, "body": {"string": item.response.body}})
    return serialize({"requests": requests, "responses": responses}, yamlserializer).encode()


@given(st.data())
def test_items_equal_the_whole_file(interactions, data):
    """Items and heads that are read one by one equal those of the file loaded as a whole."""
    recorded = data.draw(st.lists(interactions(), min_size=1, max_size=3))
    file = written(recorded)
    whole = vcrpy_files.load(file, source="")
    opened = contents.read(file, source="")
    assert isinstance(opened, contents.UnparsedForeign)
    assert opened.is_foreign
    heads = [opened.head(number) for number in range(len(opened))]
    assert [(head.method, head.uri) for head in heads] == [(item.request.method, item.request.uri) for item in whole]
    assert [opened.interaction(number) for number in range(len(opened))] == whole
    assert opened.recorded_at == whole[0].recorded_at
    lines = file.split(b"\n")
    assert all(lines[item.line - 1] == b"- request:" for item in vcrpy_layout.lay_out(file).items)


def test_items_are_read_one_by_one(interaction):
    """An item that cannot be read does not affect the others, and its line is named."""
    file = written([interaction(), interaction("/b"), interaction("/c")])
    broken = file.replace(b"/b\n", b"/b\n    uri: ]\n")
    opened = contents.read(broken, source="x.yaml")
    assert len(opened) == 3
    assert opened.interaction(2).request.uri.endswith("/c")
    line = broken[: broken.index(b"uri: ]")].count(b"\n") + 1
    with pytest.raises(CassetteCorrupt, match=rf"x\.yaml, line {line} "):
        opened.interaction(1)


def test_names_that_differ_in_case(interaction):
    """If header names of a request differ only in case, the last one is kept, as in vcrpy."""
    file = written([interaction(request={"headers": (("A", "1"), ("B", "2"))})])
    twice = file.replace(b"      B:", b"      a:")
    opened = contents.read(twice, source="")
    assert isinstance(opened, contents.UnparsedForeign)
    assert [opened.interaction(0)] == vcrpy_files.load(twice, source="")
    assert opened.interaction(0).request.headers == (("A", "2"),)


@pytest.mark.parametrize(
    "edit",
    [
        lambda data: data.replace(b"- request:", b"# mine\n- request:"),
        lambda data: data.replace(b"version: 1\n", b"metadata: {}\nversion: 1\n"),
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: b"version: 1\n" + data.removesuffix(b"version: 1\n"),
        lambda data: data.replace(b"body: ''", b"body: &a ''", 1).replace(b"string: x", b"string: *a"),
        lambda data: data.replace(b"- request:\n    body: ''\n", b"- request:\n    headers: {}\n"),
        lambda data: data.replace(b"interactions:\n", b"interactions:\n  # mine\n"),
        lambda data: data.replace(b"string: x", b'string: "x\ny"'),
        lambda data: data.replace(b"string: x", b"string: 'x\xff'"),
        lambda data: data.replace(b"string: x", b"string: 'x\xe2\x80\xa8y'"),
        lambda data: b"interactions: []\nversion: 1\n",
        lambda data: b"interactions:\nversion: 1\n",
    ],
    ids=[
        *("comment", "another key", "Windows lines", "keys in another order", "alias", "no body", "comment above"),
        *("text at the margin", "not UTF-8", "another line break", "empty", "nothing"),
    ],
)
def test_not_split(interaction, edit):
    """A file is not split if that could change its meaning."""
    file = written([interaction(body=b"x", request={"body": b""})] * 2)
    assert vcrpy_layout.lay_out(file) is not None
    assert vcrpy_layout.lay_out(edit(file)) is None


def test_stars_and_ampersands_in_text(interaction):
    """A file with both characters is split if no alias has the name of an anchor."""
    file = written([interaction(body=b'{"a": "R&D, &c *and* more"}')])
    assert vcrpy_layout.lay_out(file) is not None


def test_text_that_looks_like_a_head(interaction):
    """Lines in a text that look like method and URI are not mistaken for them."""
    fake = "\n    method: GET\n    uri: https://evil.example/\n  response:\n"
    file = written([interaction(body=b"x", request={"body": b""})])
    hostile = file.replace(b"body: ''", f'body: "a{fake}"'.encode(), 1)
    opened = contents.read(hostile, source="")
    assert opened.head(0).uri == "https://broker.svc.invalid/v1/accounts"
    # If the fake one is the only one, reading the item reveals it.
    hidden = hostile.replace(b'\n"\n', b'\n", "headers": {}, method: GET\n').replace(b"  response:\n    body", b"  x")
    with pytest.raises(CassetteCorrupt):
        contents.read(hidden, source="")
