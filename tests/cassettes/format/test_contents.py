"""A file has the same contents in any layout, and anything but a cassette is refused."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from toolkit.cassettes.format import contents
from toolkit.cassettes.format.interactions import HEADER, MARKER, encode
from toolkit.core.errors import CassetteCorrupt


@given(st.data())
def test_lazy_and_eager_contents_agree(interactions, data):
    """A file laid out by the recorder, and the same values in flow style, have the same interactions and facts."""
    recorded = data.draw(st.lists(interactions(), min_size=1, max_size=3))
    ours = HEADER + b"".join(map(encode, recorded))
    flow = MARKER + yaml.safe_dump(yaml.safe_load(ours), sort_keys=False, default_flow_style=True).encode()
    lazy, eager = contents.read(ours, source=""), contents.read(flow, source="")
    assert (type(lazy), type(eager)) == (contents.Unparsed, contents.Parsed)
    for facts in (lazy, eager):
        assert [facts.head(number).uri for number in range(len(facts))] == [item.request.uri for item in recorded]
        assert [facts.interaction(number) for number in range(len(facts))] == recorded
    for fact in ("environments", "last_token_number", "token_requests", "is_foreign", "is_torn"):
        assert getattr(lazy, fact) == getattr(eager, fact)


def test_items_are_parsed_one_by_one(interaction):
    """An item that cannot be read does not affect the others, and its line is named; items are parsed once."""
    broken = encode(interaction(at=1)).replace(b"code: 200", b"code: ]")
    data = HEADER + encode(interaction(at=0)) + broken + encode(interaction(at=2))
    opened = contents.read(data, source="x.yaml")
    assert len(opened) == 3
    assert opened.interaction(0) == interaction(at=0)
    assert opened.interaction(0) is opened.interaction(0)
    assert opened.interaction(2) == interaction(at=2)
    line = data[: data.index(b"code: ]")].count(b"\n") + 1
    with pytest.raises(CassetteCorrupt, match=rf"x\.yaml, line {line} "):
        opened.interaction(1)


@pytest.mark.parametrize("data", [b"", b"\n", b"  \r\n\t"])
def test_empty_file(data):
    """An empty file has no interactions and is not an error, as in vcrpy."""
    opened = contents.read(data, source="")
    assert (len(opened), opened.is_foreign, opened.is_torn, opened.recorded_at) == (0, False, False, None)


def test_foreign_file():
    """A file of stock vcrpy is recognized by its content, whatever its suffix."""
    item = (
        "{request: {method: GET, uri: 'http://h/', body: null, headers: {}},"
        " response: {status: {code: 200, message: OK}, headers: {Date: ['Tue, 12 May 2026 09:30:00 GMT']},"
        " body: {string: x}}}"
    )
    opened = contents.read(f"interactions: [{item}]\nversion: 1\n".encode(), source="")
    assert (len(opened), opened.is_foreign, opened.environments, opened.last_token_number) == (1, True, [], 0)
    assert str(opened.recorded_at) == "2026-05-12 09:30:00+00:00"


BROKEN = {
    "other layout, broken": (HEADER + b"  - request:\n      method: [\n", r", line 6 "),
    "no interactions": (MARKER + b"version: 1\ninteraction: []\n", " "),
    "a tag": (HEADER + b"  !!python/object/apply:os.getcwd []\n", r", line 4 "),
}


@pytest.mark.parametrize(("data", "where"), BROKEN.values(), ids=BROKEN)
def test_corrupt_file(data, where):
    """A file with our marker that is not a cassette is refused with its line, not repaired as a torn one."""
    with pytest.raises(CassetteCorrupt, match=r"^x\.yaml" + where + "is not a cassette: ") as caught:
        contents.read(data, source="x.yaml")
    assert caught.value.about == "cassette"


def test_table(interaction, authorization):
    """A table has one row per interaction, and the same column types if it is empty."""
    recorded = [interaction(authorized_by=authorization("mine")), interaction("/v1/orders", b"", at=3)]
    table = contents.read(HEADER + b"".join(map(encode, recorded)), source="").table()
    assert list(table.columns) == ["recorded", "method", "uri", "status", "elapsed", "size", "profile"]
    assert table["uri"].tolist() == [item.request.uri for item in recorded]
    assert table["size"].tolist() == [9, 0]
    assert table["elapsed"].tolist() == [0.012345, 0.012345]
    assert table["profile"].iloc[0] == "mine"
    assert table["profile"].isna().tolist() == [False, True]
    assert contents.read(b"", source="").table().dtypes.tolist() == table.dtypes.tolist()
    assert str(table["recorded"].dtype) == "datetime64[us, UTC]"
