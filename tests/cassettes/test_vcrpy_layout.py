"""A file of vcrpy's usual shape is split into the interactions that its loader finds; any other is left whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from vcr.request import Request
from vcr.serialize import serialize
from vcr.serializers import yamlserializer

from toolkit.cassettes.format import contents, vcrpy_files, vcrpy_layout
from toolkit.core.errors import CassetteCorrupt


def written(several):
    """A file as stock vcrpy writes it."""
    requests, responses = [], []
    for one in several:
        headers = {name: [value] for name, value in one.response.headers}
        status = {"code": one.response.status, "message": one.response.reason}
        requests.append(Request(one.request.method, one.request.uri, one.request.body, dict(one.request.headers)))
        responses.append({"status": status, "headers": headers, "body": {"string": one.response.body}})
    return serialize({"requests": requests, "responses": responses}, yamlserializer).encode()


@given(st.data())
def test_item_by_item_as_whole(interactions, data):
    """Whatever stock vcrpy recorded, its items one by one are those of the whole file, and so are their heads."""
    several = data.draw(st.lists(interactions(), min_size=1, max_size=3))
    file = written(several)
    whole = vcrpy_files.load(file, source="")
    held = contents.read(file, source="")
    assert isinstance(held, contents.UnparsedForeign)
    assert held.is_foreign
    heads = [held.head(number) for number in range(len(held))]
    assert [(head.method, head.uri) for head in heads] == [(one.request.method, one.request.uri) for one in whole]
    assert [held.interaction(number) for number in range(len(held))] == whole
    assert held.recorded_at == whole[0].recorded_at
    lines = file.split(b"\n")
    assert all(lines[item.line - 1] == b"- request:" for item in vcrpy_layout.lay_out(file).items)


def test_an_item_is_read_when_it_is_asked_for(interaction):
    """An item that cannot be read costs only itself, and its line in the file is named."""
    file = written([interaction(), interaction("/b"), interaction("/c")])
    broken = file.replace(b"/b\n", b"/b\n    uri: ]\n")
    held = contents.read(broken, source="x.yaml")
    assert len(held) == 3
    assert held.interaction(2).request.uri.endswith("/c")
    line = broken[: broken.index(b"uri: ]")].count(b"\n") + 1
    with pytest.raises(CassetteCorrupt, match=rf"x\.yaml, line {line} "):
        held.interaction(1)


def test_names_that_differ_in_case(interaction):
    """Of headers of a request whose names differ in case only, one is left, as in vcrpy."""
    file = written([interaction(request={"headers": (("A", "1"), ("B", "2"))})])
    twice = file.replace(b"      B:", b"      a:")
    held = contents.read(twice, source="")
    assert isinstance(held, contents.UnparsedForeign)
    assert [held.interaction(0)] == vcrpy_files.load(twice, source="")
    assert held.interaction(0).request.headers == (("A", "2"),)


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
        *("text at the margin", "no UTF-8", "another line break", "empty", "nothing"),
    ],
)
def test_left_whole(interaction, edit):
    """What could mean something else if it were split is not."""
    file = written([interaction(body=b"x", request={"body": b""})] * 2)
    assert vcrpy_layout.lay_out(file) is not None
    assert vcrpy_layout.lay_out(edit(file)) is None


def test_stars_and_ampersands_are_no_aliases(interaction):
    """Text that holds both characters is split all the same: an alias has the name of an anchor."""
    file = written([interaction(body=b'{"a": "R&D, &c *and* more"}')])
    assert vcrpy_layout.lay_out(file) is not None


def test_what_only_looks_like_a_head(interaction):
    """Lines inside a text that look like method and URI are not taken for them."""
    fake = "\n    method: GET\n    uri: https://evil.example/\n  response:\n"
    file = written([interaction(body=b"x", request={"body": b""})])
    hostile = file.replace(b"body: ''", f'body: "a{fake}"'.encode(), 1)
    held = contents.read(hostile, source="")
    assert held.head(0).uri == "https://broker.svc.invalid/v1/accounts"
    # Without a second such line there is nothing to tell by, until it is read.
    hidden = hostile.replace(b'\n"\n', b'\n", "headers": {}, method: GET\n').replace(b"  response:\n    body", b"  x")
    with pytest.raises(CassetteCorrupt):
        contents.read(hidden, source="")
