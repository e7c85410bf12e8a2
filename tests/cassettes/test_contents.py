"""Contents tell the same of a file whoever wrote it, and refuse what is no cassette."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from toolkit.cassettes.format import contents
from toolkit.cassettes.format.interactions import HEADER, MARKER, encode
from toolkit.core.errors import CassetteCorrupt


def flow_of(ours):
    """The same values in one line, below our marker."""
    return MARKER + yaml.safe_dump(yaml.safe_load(ours), sort_keys=False, default_flow_style=True).encode()


@given(st.data())
def test_parsed_and_unparsed_tell_the_same(interactions, data):
    """A file laid out as we write it, and the same laid out anew, hold the same interactions and facts."""
    several = data.draw(st.lists(interactions(), min_size=1, max_size=3))
    ours = HEADER + b"".join(map(encode, several))
    anew = flow_of(ours)
    lazy, eager = contents.read(ours, source=""), contents.read(anew, source="")
    assert (type(lazy), type(eager)) == (contents.Unparsed, contents.Parsed)
    assert len(lazy) == len(eager) == len(several)
    assert [lazy.interaction(number) for number in range(len(several))] == several
    assert [eager.interaction(number) for number in range(len(several))] == several
    for fact in ("environments", "last_token_number", "token_requests", "is_foreign", "is_torn"):
        assert getattr(lazy, fact) == getattr(eager, fact)
    assert [eager.head(number).uri for number in range(len(several))] == [one.request.uri for one in several]
    assert [lazy.head(number).uri for number in range(len(several))] == [one.request.uri for one in several]


def test_an_item_is_parsed_when_it_is_asked_for(interaction):
    """An item that cannot be read costs only itself, and its line is named."""
    broken = encode(interaction(at=1)).replace(b"code: 200", b"code: ]")
    data = HEADER + encode(interaction(at=0)) + broken + encode(interaction(at=2))
    held = contents.read(data, source="x.yaml")
    assert len(held) == 3
    assert held.interaction(0) == interaction(at=0)
    assert held.interaction(2) == interaction(at=2)
    line = data[: data.index(b"code: ]")].count(b"\n") + 1
    with pytest.raises(CassetteCorrupt, match=rf"x\.yaml, line {line} "):
        held.interaction(1)


def test_parsed_once(interaction):
    """An item is parsed once, however often it is played."""
    held = contents.read(HEADER + encode(interaction()), source="")
    assert held.interaction(0) is held.interaction(0)


@pytest.mark.parametrize("data", [b"", b"\n", b"  \r\n\t"])
def test_empty(data):
    """An empty file holds nothing, and is no error: vcrpy records into it, too."""
    held = contents.read(data, source="")
    assert (len(held), held.is_foreign, held.is_torn, held.recorded_at) == (0, False, False, None)


def test_foreign():
    """Of stock vcrpy's files, too, the suffix does not matter."""
    item = (
        "{request: {method: GET, uri: 'http://h/', body: null, headers: {}},"
        " response: {status: {code: 200, message: OK}, headers: {Date: ['Tue, 12 May 2026 09:30:00 GMT']},"
        " body: {string: x}}}"
    )
    held = contents.read(f"interactions: [{item}]\nversion: 1\n".encode(), source="")
    assert (len(held), held.is_foreign, held.environments, held.last_token_number) == (1, True, [], 0)
    assert str(held.recorded_at) == "2026-05-12 09:30:00+00:00"


BROKEN = {
    "ours, laid out anew and broken": (HEADER + b"  - request:\n      method: [\n", r", line 6 "),
    "ours without interactions": (MARKER + b"version: 1\ninteraction: []\n", r", line 1 "),
    "ours, of something else": (HEADER + b"  - 7\n", r", line 1 "),
    "ours with a tag": (HEADER + b"  !!python/object/apply:os.getcwd []\n", r", line 4 "),
}


@pytest.mark.parametrize(("data", "where"), BROKEN.values(), ids=BROKEN)
def test_corrupt(data, where):
    """A file with our marker that is no cassette is refused with its line, not taken for a torn one."""
    with pytest.raises(CassetteCorrupt, match=r"^x\.yaml" + where + "is no cassette: "):
        contents.read(data, source="x.yaml")


def test_table(interaction, authorization):
    """A table has a row an interaction, with a type for each column also where nothing is known."""
    several = [interaction(authorized_by=authorization("mine")), interaction("/v1/orders", b"", at=3)]
    table = contents.read(HEADER + b"".join(map(encode, several)), source="").table()
    assert list(table.columns) == ["recorded", "method", "uri", "status", "elapsed", "size", "profile"]
    assert table["uri"].tolist() == [one.request.uri for one in several]
    assert table["size"].tolist() == [9, 0]
    assert table["elapsed"].tolist() == [0.012345, 0.012345]
    assert table["profile"].iloc[0] == "mine"
    assert table["profile"].isna().tolist() == [False, True]
    empty = contents.read(b"", source="").table()
    assert empty.dtypes.tolist() == table.dtypes.tolist()
    assert str(table["recorded"].dtype) == "datetime64[us, UTC]"
