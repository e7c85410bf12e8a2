"""The user's rules replace values everywhere, and leave everything around them as it was."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import canaries
import httpx
import pytest
from recordings import as_recorded

from toolkit.cassettes.cassette import Cassette
from toolkit.core.errors import ConfigurationError, SecretLeak
from toolkit.core.secret import Secret
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.messages import RecordedRequest
from toolkit.scrubbing.rules import model
from toolkit.scrubbing.rules.model import Rules
from toolkit.scrubbing.scrubber import Scrubber

KEY = Secret("an obviously fake key of pseudonyms")
NUMBER, NAME, MAIL = "4711000815", "Ada O'Lovelace", "ada@mail.example"


def scrubber(**rules):
    return Scrubber(KnownSecrets(), rules=Rules(**rules, key=KEY))


def scrubbed(interaction, body=b"", content_type="application/json", **rules):
    response = {"headers": (("Content-Type", content_type),)}
    return as_recorded(scrubber(**rules), interaction(body=body, response=response)).response.body


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("application/json", b'{ "pin":1234, "other": 1234 }', b'{ "pin":"<PIN>", "other": 1234 }'),
        ("application/json; charset=utf-8", b'[{"a": {"P-I-N": "x\n\\ny"}}]', b'[{"a": {"P-I-N": "<PIN>"}}]'),
        (
            "application/problem+json",
            b'{"pin": [{}, 1, {"a": true}, null]}',
            b'{"pin": [{}, "<PIN>", {"a": "<PIN-2>"}, null]}',
        ),
        ("application/json", b'{"a": "{\\"pin\\": 7}"}', b'{"a": "{\\"pin\\": \\"<PIN>\\"}"}'),
        ("application/x-ndjson", b'{"pin": 1}\n{"pin": 2}\n', b'{"pin": "<PIN>"}\n{"pin": "<PIN-2>"}\n'),
        ("text/event-stream", b'event: x\ndata: {"pin": 1}\n\n', b'event: x\ndata: {"pin": "<PIN>"}\n\n'),
        ("application/x-www-form-urlencoded", b"a=1&PIN=1%202&b=", b"a=1&PIN=%3CPIN%3E&b="),
        (
            "application/xml",
            b'<a pin="1"><x:pin>2</x:pin><b>3</b><pin> </pin></a>',
            b'<a pin="&lt;PIN&gt;"><x:pin>&lt;PIN-2&gt;</x:pin><b>3</b><pin> </pin></a>',
        ),
        (
            "multipart/form-data; boundary=b",
            b"--b\r\nContent-Disposition: form-data; name=pin\r\n\r\n12\r\n--b--\r\n",
            b"--b\r\nContent-Disposition: form-data; name=pin\r\n\r\n<PIN>\r\n--b--\r\n",
        ),
        ("application/json", b'{"pin": "<PIN-3>"}', b'{"pin": "<PIN-3>"}'),
        ("application/json", b'{"pin": "of-ada-1", "a": "(of-ada-1)"}', b'{"pin": "<PIN>", "a": "(<PIN>)"}'),
        ("application/json", b'{"pins": 1, "x": "pin"', b'{"pins": 1, "x": "pin"'),
        ("application/octet-stream", b'\0\xff{"pin": 1}', b'\0\xff{"pin": 1}'),
    ],
)
def test_names(interaction, content_type, body, expected):
    """The value of a named field becomes a placeholder in every format, and nothing else changes."""
    assert scrubbed(interaction, body, content_type, names=("pin",)) == expected


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        ("$.a.b", {"a": {"b": "<B>", "c": 2}, "d": [{"b": 3}, {"b": 4}]}),
        ("$.d[0].b", {"a": {"b": 1, "c": 2}, "d": [{"b": "<B>"}, {"b": 4}]}),
        ("$.d[*].b", {"a": {"b": 1, "c": 2}, "d": [{"b": "<B>"}, {"b": "<B-2>"}]}),
        ("$..b", {"a": {"b": "<B>", "c": 2}, "d": [{"b": "<B-2>"}, {"b": "<B-3>"}]}),
        ("$['a']", {"a": {"b": "<A>", "c": "<A-2>"}, "d": [{"b": 3}, {"b": 4}]}),
        ("$.d[1]", {"a": {"b": 1, "c": 2}, "d": [{"b": 3}, {"b": "<D>"}]}),
        ("$.*.c", {"a": {"b": 1, "c": "<C>"}, "d": [{"b": 3}, {"b": 4}]}),
        ("$.b", {"a": {"b": 1, "c": 2}, "d": [{"b": 3}, {"b": 4}]}),
    ],
)
def test_json_paths(interaction, path, changed):
    """A path names its values and those below it, and no others."""
    body = json.dumps({"a": {"b": 1, "c": 2}, "d": [{"b": 3}, {"b": 4}]}).encode()
    assert json.loads(scrubbed(interaction, body, json_paths=path)) == changed


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"DE\d{4}", b"iban <MATCH>, DE12, <MATCH-2>"),
        (r"iban (?P<IBAN>DE\d{4})", b"iban <IBAN>, DE12, DE5678"),
        (r", (DE\d+)", b"iban DE1234, <MATCH>, <MATCH-2>"),
    ],
)
def test_patterns(interaction, pattern, expected):
    """A match of a pattern, or its group, becomes a placeholder."""
    assert scrubbed(interaction, b"iban DE1234, DE12, DE5678", "text/plain", patterns=pattern) == expected


def test_patterns_in_urls(interaction):
    """A match in a URL is replaced as clients write it there, also if it is percent-encoded."""
    called = interaction("/DE1234/a?iban=%44E1234-5678", b"DE1234-5678")
    recorded = as_recorded(scrubber(patterns=r"DE\d{4}(?:-\d{4})?"), called)
    assert recorded.request.uri.endswith("/%3CMATCH-2%3E/a?iban=%3CMATCH%3E")
    assert recorded.response.body == b"<MATCH>"


@pytest.mark.parametrize(
    "wrong",
    [
        {"names": 7},
        {"json_paths": ("a.b",)},
        {"json_paths": ("$",)},
        {"json_paths": ("$.a[?(@.b)]",)},
        *({"patterns": (text,)} for text in ("(", "\\", "a{2,1}", "(?P<1>a)", "x" * 20_001)),
        {"pseudonyms": ("$[",)},
        {"key": Secret("short")},
    ],
)
def test_malformed(wrong):
    """A malformed rule is an error when the rules are made."""
    with pytest.raises(ConfigurationError) as caught:
        Rules(**wrong)
    assert caught.value.next_step


@pytest.mark.parametrize("text", ["(a+)+$", "(a|aa)+b"])
def test_a_search_that_takes_too_long_is_refused(monkeypatch, interaction, text):
    """A pattern that runs out of its time refuses the recording; it is not skipped."""
    monkeypatch.setattr(model, "_MOST_SECONDS", 0.05)
    with pytest.raises(SecretLeak, match="takes too long"):
        scrubbed(interaction, b"a" * 50_000 + b"!", patterns=[text])


# Stand-ins ------------------------------------------------------------------------------------------------------------

RULES = Rules(pseudonyms=("account_number", "$..owner.name", "email"), key=KEY)
ACCOUNTS = {
    "accounts": [
        {"account_number": NUMBER, "owner": {"name": NAME, "email": MAIL}},
        {"account_number": int(NUMBER), "owner": {"name": "Bo", "email": "bo@mail.example"}},
    ],
    "name": "not a person",
    "next": f"https://h.example/accounts/{NUMBER}",
}


def serve(request):
    return httpx.Response(200, json=ACCOUNTS | {"asked": str(request.url)})


def client(path, mode, handler=serve, rules=RULES):
    cassette = Cassette(path, mode, rules=rules)
    return cassette, httpx.Client(
        transport=cassette.transport(httpx.MockTransport(handler)), base_url="https://h.example"
    )


def no_network(_):
    raise AssertionError("sent")


def test_stand_ins(tmp_path):
    """A value has the same stand-in in bodies, numbers, URLs and later requests; the live caller sees the value."""
    path = tmp_path / "a.yaml"
    _, live = client(path, "once")
    urls = ("/accounts", f"/accounts/{NUMBER}/orders", f"/orders?account_number={NUMBER}&a=1", f"/mail/{MAIL}")
    for url in urls:
        assert {**live.get(url).json(), "asked": 0} == {**ACCOUNTS, "asked": 0}
    posted = live.post("/orders", json={"account_number": int(NUMBER), "qty": 1})
    assert posted.json()["accounts"] == ACCOUNTS["accounts"]
    written = path.read_bytes()
    canaries.assert_absent(written, [NUMBER, NAME, MAIL])
    assert b"not a person" in written

    _, replay = client(path, "none", no_network)
    replies = [replay.get(url).json() for url in urls]
    first, second = replies[0]["accounts"]
    number = first["account_number"]
    assert number != NUMBER
    assert number.isdigit()
    assert len(number) == len(NUMBER)
    assert second["account_number"] == int(number)
    assert first["owner"]["email"].endswith("@example.invalid")
    assert first["owner"]["email"] != second["owner"]["email"]
    assert urlsplit(replies[1]["asked"]).path == f"/accounts/{number}/orders"
    assert parse_qs(urlsplit(replies[2]["asked"]).query)["account_number"] == [number]
    assert replies[0]["next"].endswith(number)
    assert (
        replay.post("/orders", json={"account_number": int(NUMBER), "qty": 1}).json()["accounts"]
        == replies[0]["accounts"]
    )


@pytest.mark.parametrize("rules", [RULES, Rules(pseudonyms=RULES.pseudonyms)], ids=["with key", "without"])
def test_stand_ins_in_later_requests(tmp_path, monkeypatch, rules):
    """A request with a stand-in from a replay is answered, also in a fresh kernel and without the key."""
    monkeypatch.setattr("toolkit.local.folders.config_folder", lambda: tmp_path / "nothing")
    path = tmp_path / "a.yaml"
    _, live = client(path, "once")
    for url in ("/accounts", f"/accounts/{NUMBER}/orders", f"/orders?account_number={NUMBER}"):
        live.get(url)
    live.post("/orders", json={"account_number": NUMBER})
    _, replay = client(path, "none", no_network, rules)
    number = replay.get("/accounts").json()["accounts"][0]["account_number"]
    _, fresh = client(path, "none", no_network, rules)
    assert fresh.get(f"/accounts/{number}/orders").status_code == 200
    assert fresh.get(f"/orders?account_number={number}").status_code == 200
    assert fresh.post("/orders", json={"account_number": number}).status_code == 200
    assert not (tmp_path / "nothing").exists()


def test_short_values(interaction):
    """A short value is replaced where it is named and as a whole part of a URL, not wherever its text occurs."""
    one = scrubber(pseudonyms=["id", "pin"])
    body = b'{"id": "A12", "pin": "A12", "t": "A12 and A12", "n": {"id": "A1", "pin": "<PIN>"}}'
    result = as_recorded(one, interaction("/accounts/A12/A1?account=A12&b=A123", body))
    shown = json.loads(result.response.body)
    made, other = shown["id"], shown["n"]["id"]
    assert shown == {"id": made, "pin": made, "t": "A12 and A12", "n": {"id": other, "pin": "<PIN>"}}
    assert made != "A12"
    assert result.request.uri.endswith(f"/accounts/{made}/A1?account={made}&b=A123")
    assert (one.stand_ins_in(result.response), one.stand_ins_in(result.request)) == ({made, other}, set())
    assert one.values_behind([made], ["A12", "B34"]) == {"A12": made}
    assert (Secret("A12"), made) in one.replaced()
    assert one.exchange(*result[:2], replaced=["id", "pin"]) == result[:2]


def test_a_key_is_made(tmp_path, monkeypatch, interaction):
    """Without a key, a private key is made when the first stand-in is recorded, and used from then on."""
    folder = tmp_path / "config" / "x"
    monkeypatch.setattr("toolkit.local.folders.config_folder", lambda: folder)
    bodies = []
    for _ in range(2):
        one = Scrubber(KnownSecrets(), rules=Rules(pseudonyms="id"))
        one.lookup_request(RecordedRequest("GET", "https://h.example/?id=4711000815"))
        assert folder.exists() == bool(bodies)
        bodies.append(as_recorded(one, interaction(body=b'{"id": "4711000815"}')).response.body)
    assert bodies[0] == bodies[1]
    assert (folder / "pseudonyms.key").stat().st_mode & 0o077 == 0
    (folder / "pseudonyms.key").write_text("not a key")
    with pytest.raises(ConfigurationError, match=r"pseudonyms\.key"):
        as_recorded(Scrubber(KnownSecrets(), rules=Rules(pseudonyms="id")), interaction(body=b'{"id": "1"}'))
