"""A miss tells which file was looked for, or which recordings come near and what keeps each from answering."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.cassettes.replay.matching import ANYONE, OURS, Identity, Matcher
from toolkit.cassettes.replay.misses import (
    differences,
    json_differences,
    missing,
    names_alike,
    nearest,
    no_match,
    unreadable,
)
from toolkit.scrubbing.messages import RecordedRequest

BASE = "https://broker.svc.invalid"


def request(method="GET", path="/v1/accounts", content_type=None, body=b"", **headers):
    listed = tuple(headers.items()) + ((("Content-Type", content_type),) if content_type else ())
    return RecordedRequest(method, BASE + path, listed, body)


def near(several, asked, *, match_on=OURS, identity=ANYONE):
    heads = [(number, one.request) for number, one in enumerate(several)]
    return nearest(Matcher(match_on), identity, asked, heads, lambda number: several[number])


def in_body(interaction, recorded, asked, content_type):
    """What is said of two bodies of a type."""
    headers = (("Content-Type", content_type),)
    one = interaction(request={"headers": headers, "body": recorded})
    return differences(Matcher(OURS), ANYONE, request(content_type=content_type, body=asked), one)["body"]


# What is near ---------------------------------------------------------------------------------------------------------


def test_nearest(interaction, authorization):
    """The nearest come first, each request once, with the parts that differ and those that match."""
    several = [
        interaction("/v2/far", request={"method": "DELETE"}),
        interaction("/v1/accounts?page=1"),
        interaction("/v1/accounts?page=1"),
        interaction("/v1/accounts?page=2", authorized_by=authorization("mine")),
        interaction("/v1/orders?page=2"),
    ]
    shown = near(several, request(path="/v1/accounts?page=2"), identity=Identity("broker-sandbox", "yours"))
    assert len(shown) == 3
    assert shown[0] == (
        f"GET {BASE}/v1/accounts?page=2\\n"
        "  credentials: recorded by mine (broker-sandbox), asked by yours (broker-sandbox)\\n"
        "  the same: method, scheme, host, port, path, query, body"
    ).replace("\\n", "\n")
    assert shown[1].splitlines()[:2] == [f"GET {BASE}/v1/accounts?page=1", "  query: page: recorded 1, asked 2"]
    assert shown[2].splitlines()[1] == "  path: recorded /v1/orders, asked /v1/accounts"
    assert near([], request()) == []


def test_of_bodies_the_one_with_the_fewest_differences(interaction):
    """Of recordings that differ in one part, that which differs less in it comes first."""
    bodies = [{"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 1, "b": 3}]
    headers = (("Content-Type", "application/json"),)
    several = [
        interaction(f"/v1/accounts?n={n}", request={"headers": headers, "body": json.dumps(body).encode()})
        for n, body in enumerate(bodies)
    ]
    asked = request(path="/v1/accounts?n=9", content_type="application/json", body=b'{"a": 2, "b": 1}')
    assert [one.splitlines()[0][-3:] for one in near(several, asked)] == ["n=1", "n=0", "n=2"]


def test_few_are_parsed(interaction):
    """Of many recordings only those are parsed whose method and URI come nearest, and the miss says so."""
    several = [interaction(f"/v1/accounts/{number}") for number in range(200)]
    parsed = []

    def parse(number):
        parsed.append(number)
        return several[number]

    heads = [(number, one.request) for number, one in enumerate(several)]
    asked = request(path="/v1/accounts/150/x")
    error = no_match("x.yaml", Matcher(OURS), ANYONE, asked, heads, parse)
    assert len(parsed) == 40
    assert error.nearest[0].startswith(f"GET {BASE}/v1/accounts/150\n")
    assert "The nearest of 200 calls, the 40 nearest by method and URI compared whole:\n  GET " in error.what
    few = no_match("x.yaml", Matcher(OURS), ANYONE, asked, heads[:3], parse)
    assert "The nearest:\n  GET " in few.what
    assert all(line.startswith("  ") for line in few.what.splitlines()[1:])


def test_nothing_near():
    """Without a recorded call there is nothing to show."""
    assert no_match("x.yaml", Matcher(OURS), ANYONE, request(), [], []).what.endswith("only token requests.")
    empty = no_match("x.yaml", Matcher(OURS), ANYONE, request(), [], [], is_empty=True)
    assert empty.what.endswith("It is empty.")


# What differs ---------------------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(JSON, JSON)
def test_json_differences(one, other):
    """Something is said to differ just when the values do."""
    said = list(json_differences(one, other))
    assert bool(said) == (json.dumps(one, sort_keys=True) != json.dumps(other, sort_keys=True))
    assert not list(json_differences(one, one))
    assert all(line.startswith("$") and "recorded" in line and "asked" in line for line in said)


def test_json_by_path(interaction):
    """Each difference in JSON has its path, also what only one of them has."""
    recorded = {"qty": 1, "legs": [{"side": "buy"}, 1], "odd key": True, "only": "x", "same": [1]}
    asked = {"qty": 2, "legs": [{"side": "sell"}], "odd key": 1, "more": None, "same": [1]}
    assert in_body(interaction, json.dumps(recorded).encode(), json.dumps(asked).encode(), "application/json") == [
        "$.qty: recorded 1, asked 2",
        '$.legs[0].side: recorded "buy", asked "sell"',
        "$.legs[1]: recorded 1, not asked",
        '$["odd key"]: recorded true, asked 1',
        '$.only: recorded "x", not asked',
        "$.more: not recorded, asked null",
    ]


def test_deep_and_wide_json(interaction):
    """However deep or wide bodies are, what is shown stays short."""
    deep = b'{"a":' * 900 + b"%d" + b"}" * 900
    (line,) = in_body(interaction, deep % 1, deep % 2, "application/json")
    assert line.endswith("recorded 1, asked 2")
    wide = [json.dumps([number] * 50_000).encode() for number in range(2)]
    headers = (("Content-Type", "application/json"),)
    (shown,) = near(
        [interaction(request={"headers": headers, "body": wide[0]})],
        request(content_type="application/json", body=wide[1]),
    )
    assert len(shown) < 600
    assert "; and 996 more" in shown


def test_forms_and_queries_by_name(interaction):
    """Fields of a form and parameters of a query are told apart by name, repeats together."""
    said = in_body(interaction, b"a=1&b=2&b=3", b"a=1&b=2&c=%20x", "application/x-www-form-urlencoded")
    assert said == ["b: recorded 2, 3, asked 2", "c: not recorded, asked x"]
    one = interaction("/v1/accounts?a=1&a=2")
    assert differences(Matcher(["query"]), ANYONE, request(path="/v1/accounts?b="), one) == {
        "query": ["a: recorded 1, 2, not asked", "b: not recorded, asked empty"]
    }


@pytest.mark.parametrize(
    ("recorded", "asked", "said"),
    [
        (b"one two", b"three", "recorded one two, asked three"),
        (b"", b"x", "recorded none, asked x"),
        (b"a b", b"a  b", "recorded …a b, asked …a  b"),
        (b"\xff\xfe", b"\xff\xfd", "other bytes"),
        (b"\xff\xfe", b"x", "recorded 2 bytes, asked x"),
        (b"x" * 500 + b"1" + b"y" * 500, b"x" * 500 + b"2" + b"y" * 500, "recorded …xxxxxxxxxx1yyyy"),
        (b"a", b"\x1b[31ma", "recorded a, asked [31ma"),
        (b"a", b"a\x00", r"asked …a\x00"),
    ],
)
def test_other_bodies(interaction, recorded, asked, said):
    """Of other bodies what differs is shown, cut and printable; of bytes, how many."""
    (line,) = in_body(interaction, recorded, asked, "text/plain")
    assert said in line
    assert line.isprintable()
    assert len(line) < 200


def test_what_was_not_opened_is_not_shown(interaction):
    """A body in an encoding that cannot be opened was not scrubbed, so no text of it is shown."""
    secret = b"an-obviously-fake-token"
    asked = request(body=secret, **{"Content-Encoding": "unheard-of"})
    (shown,) = near([interaction(request={"body": b"plain"})], asked)
    assert f"body: recorded plain, asked {len(secret)} bytes" in shown
    json_asked = request(body=b'{"a": "%s"}' % secret, content_type="application/json", **{"Content-Encoding": "odd"})
    headers = (("Content-Type", "application/json"),)
    (shown,) = near([interaction(request={"body": b'{"a": 1}', "headers": headers})], json_asked)
    assert secret.decode() not in shown


def test_every_part(interaction):
    """Every part says what was recorded and what was asked."""
    recorded = interaction("/a?x=1", request={"method": "POST", "headers": (("Accept", "x"),), "body": b"b"})
    names = ["method", "scheme", "host", "port", "path", "query", "headers", "body", "raw_body", "uri"]
    asked = RecordedRequest("PUT", "http://i.example:1/b")
    found = differences(Matcher(names), ANYONE, asked, recorded)
    assert set(found) == set(names)
    assert found["port"] == ["recorded 443, asked 1"]
    assert found["headers"] == ["accept: recorded x, not asked"]
    assert found["method"] == ["recorded POST, asked PUT"]


# Files that are not there ---------------------------------------------------------------------------------------------


def test_missing(tmp_path):
    """A missing file is named with its whole path, and so is what is nearly called so."""
    for name in (
        "Accounts-2026.yaml",
        "accounts.yml",
        "accounts.part.yaml",
        "other.yaml",
        "acounts.json",
        "accounts.txt",
    ):
        (tmp_path / name).touch()
    error = missing(tmp_path / "accounts.yaml")
    assert error.what.startswith(f"There is no cassette {tmp_path / 'accounts.yaml'}.")
    assert error.what.endswith("In that folder are accounts.yml, acounts.json, Accounts-2026.yaml.")
    assert names_alike(tmp_path / "other.yml") == ["other.yaml"]
    assert names_alike(tmp_path / "nothing-like-it.yaml") == []
    assert "TOOLKIT_OFFLINE" in missing(tmp_path / "a.yaml", is_offline=True).next_step


def test_missing_folder(tmp_path, monkeypatch):
    """A relative path is shown from the root, and a folder that is missing as well is said to be."""
    monkeypatch.chdir(tmp_path)
    error = missing((tmp_path / "gone" / "a.yaml").relative_to(tmp_path))
    assert str(tmp_path / "gone" / "a.yaml") in error.what
    assert "no such folder" in error.what


def test_elsewhere(tmp_path):
    """A path that misses the cassettes folder of the project is told where the cassette of that name is."""
    found = tmp_path / "cassettes" / "tour.yaml"
    found.parent.mkdir()
    found.touch()
    error = missing(tmp_path / "tour.yaml", elsewhere=found)
    assert str(found.parent) in error.next_step
    assert 'the name "tour"' in error.next_step
    assert "There is one" not in missing(found, elsewhere=found).next_step


def test_empty_file(tmp_path):
    """A file with nothing in it is there, and said to be empty."""
    (tmp_path / "a.yaml").touch()
    assert "is empty" in missing(tmp_path / "a.yaml").what


def test_how_it_is_to_be_recorded(tmp_path):
    """What recording takes is said as the caller has it."""
    assert "once" in missing(tmp_path / "a.yaml").next_step
    assert missing(tmp_path / "a.yaml", to_record="ask").next_step == "Check the name, or ask."


def refusal(path):
    """What the system says when it is to read this, in our words."""
    with pytest.raises(OSError) as caught:
        path.read_bytes()
    return unreadable(path, caught.value)


def test_unreadable(tmp_path, monkeypatch):
    """Where the path is to blame, the next step is another path, and nobody's permissions."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "afile").touch()
    for path, words in (
        (Path(), "Give a file in that folder"),
        (tmp_path, "Give a file in that folder"),
        (Path("x" * 300), "Choose a shorter name"),
        (Path("afile/x.yaml"), f"{tmp_path / 'afile'} is a file"),
        (Path("afile/b/x.yaml"), f"{tmp_path / 'afile'} is a file"),
    ):
        error = refusal(path)
        assert error.what.startswith(f"Cannot read {path.absolute()}: ")
        assert words in error.next_step
        assert "permissions" not in error.next_step


def test_unreadable_by_permission(tmp_path):
    """Permissions are mended where they are in the way, and only there."""
    (tmp_path / "a.yaml").touch()
    refused = unreadable(tmp_path / "a.yaml", PermissionError(13, "Permission denied"))
    assert refused.next_step.startswith("Mend its permissions")
    failed = unreadable(tmp_path / "a.yaml", OSError(5, "Input/output error"))
    assert "Input/output error" in failed.what
    assert "permissions" not in failed.next_step


def test_hostile_names(tmp_path):
    """Names of files are made safe to print."""
    (tmp_path / "tour\u202e2.yaml").touch()
    assert missing(tmp_path / "tour.yaml").what.isprintable()


def test_another_environment():
    """A session of another environment is told whose calls the cassette holds, and nothing that is beside the point."""
    miss = no_match(
        "tour.yaml",
        Matcher(OURS),
        Identity("paper", None),
        request(path="/v2/account"),
        [(0, request())],
        lambda number: pytest.fail("a recording is parsed"),
        environments=["broker-sandbox"],
    )
    assert miss.what == "tour.yaml holds calls of broker-sandbox, and this session is paper."
    assert "leave the environment out" in miss.next_step
