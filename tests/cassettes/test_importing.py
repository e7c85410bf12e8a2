"""What a browser or vcrpy recorded becomes a clean cassette, which replays here and in stock vcrpy."""

from __future__ import annotations

import base64
import json

import canaries
import httpx
import pytest
import vcr
import yaml
from hypothesis import given
from hypothesis import strategies as st
from stock_recordings import vcrpy_text

import toolkit as tk
from toolkit.cassettes.format import contents
from toolkit.core.errors import CassetteCorrupt, CassetteError, ConfigurationError
from toolkit.local.settings import Settings


def pairs(values):
    """Return a mapping, or a list of pairs, as the format lists headers, cookies and parameters."""
    items = values.items() if isinstance(values, dict) else values
    return [{"name": name, "value": value} for name, value in items]


def entry(
    url="https://api.example.com/v1/a",
    method="GET",
    *,
    headers=(),
    cookies=(),
    post=None,
    status=200,
    received=(("Content-Type", "application/json"),),
    set_cookies=(),
    content=None,
    **members,
):
    """Return an entry with the members that an import reads; `members` are those of the entry itself."""
    request = {"method": method, "url": url, "headers": pairs(headers), "cookies": pairs(cookies)}
    if post is not None:
        request |= {"postData": post, "bodySize": len(post.get("text") or "x")}
    content = {"size": 2, "mimeType": "application/json", "text": "{}"} if content is None else content
    response = {"status": status, "statusText": "OK", "headers": pairs(received), "cookies": pairs(set_cookies)}
    response |= {"content": content, "httpVersion": "HTTP/2"}
    times = {"startedDateTime": "2026-05-12T09:30:00.250+02:00", "time": 125.5}
    return {**times, "request": request, "response": response, **members}


def har(*entries):
    """Return the text of a HAR file."""
    return json.dumps({"log": {"version": "1.2", "entries": list(entries)}})


@pytest.fixture
def imported(tmp_path):
    """Return a function that imports the text of a file, and returns the report."""

    def run(text, name="new", settings=None, **arguments):
        source = tmp_path / "source.txt"
        data = text if isinstance(text, bytes) else text.encode()
        source.write_bytes(data)
        report = tk.import_cassette(source, name, settings=settings or Settings({}, project=tmp_path), **arguments)
        assert source.read_bytes() == data
        return report

    return run


FORM = "application/x-www-form-urlencoded"
PLACES = {
    "header": lambda secret: entry(headers={"X-Api-Key": secret}),
    "more cookies": lambda secret: entry(headers={"Cookie": "a=b"}, cookies={"sid": secret}),
    "several set-cookie": lambda secret: entry(received={"set-cookie": f"a=1; Path=/\nsid={secret}; Secure"}),
    "set cookies": lambda secret: entry(set_cookies={"sid": secret}),
    "query": lambda secret: entry(f"https://api.example.com/v1/a?access_token={secret}&page=1"),
    "userinfo": lambda secret: entry(f"https://me:{secret}@api.example.com/v1/a"),
    "form": lambda secret: entry(method="POST", post={"mimeType": FORM, "text": f"client_secret={secret}&a=b"}),
    "params": lambda secret: entry(
        method="POST", post={"mimeType": FORM, "params": [{"name": "password", "value": secret}]}
    ),
    "JSON received": lambda secret: entry(content={"text": json.dumps({"access_token": secret})}),
    "base64": lambda secret: entry(
        content={
            "text": base64.b64encode(json.dumps({"refresh_token": secret}).encode()).decode(),
            "encoding": "base64",
        }
    ),
    "comment": lambda secret: entry(comment=secret, pageref=secret, serverIPAddress=secret),  # nothing names it
    "header of no name": lambda secret: entry(headers={"bad name": secret, ":path": f"/?access_token={secret}"}),
}


@given(
    place=st.sampled_from(sorted(PLACES)),
    other=st.sampled_from(sorted(PLACES)),
    form=st.sampled_from(["as it is", "percent-encoded", "JSON"]),
)
def test_no_secret_survives(tmp_path_factory, place, other, form):
    """No secret of any place in a HAR file is in the cassette or the report, nor where it is echoed as text."""
    folder = tmp_path_factory.mktemp("import")
    secrets = [canaries.new(), canaries.new()]
    echoes = [canaries.FORMS[form](secret) for secret in secrets if "comment" not in (place, other)]
    echo = entry("https://api.example.com/v1/echo", content={"text": json.dumps({"said": echoes})})
    (folder / "a.har").write_text(har(echo, PLACES[place](secrets[0]), PLACES[other](secrets[1])), encoding="utf-8")
    report = tk.import_cassette(folder / "a.har", folder / "b.yaml", settings=Settings({}, project=folder))
    assert report.imported + sum(report.left_out.values()) == 3
    canaries.assert_absent([report.path, repr(report), json.dumps(report.to_json())], secrets)
    assert list(tk.scan(report.path)) == []
    cassette = tk.Cassette(report.path, "none")
    assert len(cassette.table()) == report.imported
    assert cassette.recorded_at.isoformat() == "2026-05-12T07:30:00.250000+00:00"


def test_secret_of_an_entry_that_is_left_out(imported):
    """What is left out or not chosen may name a secret that is elsewhere."""
    secrets = [canaries.new(), canaries.new()]
    said = entry("https://api.example.com/v1/said", content={"text": json.dumps({"said": secrets})})
    blocked = entry(headers={"Authorization": f"Bearer {secrets[0]}"}, status=0)
    elsewhere = entry("https://login.example.com/", cookies={"sid": secrets[1]})
    report = imported(har(said, blocked, elsewhere), only="api.example.com")
    assert (report.imported, report.not_chosen, report.lines()[2]) == (1, 1, "1 not chosen.")
    canaries.assert_absent(report.path, secrets)


def test_data_that_cannot_be_checked(imported):
    """A body in an encoding that nobody knows is left out, and what is beside it is imported."""
    sealed = {"mimeType": "", "text": base64.b64encode(bytes(range(256))).decode(), "encoding": "base64"}
    report = imported(har(entry(method="POST", headers={"Content-Encoding": "sealed"}, post=sealed), entry()))
    assert (report.imported, report.left_out) == (1, {"it contains data that cannot be checked for secrets": 1})


def test_addresses_become_symbolic(imported, tmp_path):
    """Calls to addresses of the settings replay in a session without arguments."""
    addresses = {"broker_sandbox": "https://b.example.com", "auth_sandbox": "https://auth.example.com"}
    settings = Settings(addresses, project=tmp_path)
    secret, token = canaries.new(), canaries.new()
    post = {"mimeType": "application/x-www-form-urlencoded", "text": f"client_id=me&client_secret={secret}"}
    answer = {"access_token": token, "expires_in": 900, "token_type": "Bearer"}
    report = imported(
        har(
            entry("https://auth.example.com/v1/oauth2/token", "POST", post=post, content={"text": json.dumps(answer)}),
            entry(
                "https://b.example.com/v1/accounts",
                headers={"Authorization": f"Bearer {token}"},
                content={"text": '[{"id": "a1", "status": "ACTIVE"}]'},
                startedDateTime="2026-05-12T09:31:00Z",
            ),
        ),
        settings=settings,
        environment="broker-sandbox",
    )
    assert report.imported == 2
    canaries.assert_absent(report.path, [secret, token])
    assert b"example.com" not in report.path.read_bytes()
    with tk.Session(cassette="new", mode="none", settings=settings) as session:
        assert list(session.accounts()["id"]) == ["a1"]
        assert len(session.calls()) == 1


def test_refused(imported, tmp_path):
    """What cannot be read or written is refused before anything is changed."""
    with pytest.raises(CassetteCorrupt, match="version 1"):
        imported("just text")
    with pytest.raises(ConfigurationError, match="broker"):
        imported(har(entry()), environment="brocker-live")
    with pytest.raises(ConfigurationError, match="No request in the file goes to an address of paper"):
        imported(har(entry()), environment="paper")
    with pytest.raises(CassetteError, match="exists"):
        imported(har(entry()), tmp_path / "source.txt", replace=True)
    imported(har(entry()))
    with pytest.raises(CassetteError, match="exists"):
        imported(har(entry()))
    assert [path.name for path in (tmp_path / "cassettes").iterdir()] == ["new.yaml"]


@pytest.mark.parametrize("is_json", [False, True], ids=["YAML", "JSON"])
def test_cassette_of_vcrpy(tmp_path, is_json):
    """The cassette has no secret, replays here and in stock vcrpy, and the original is unchanged."""
    secret = canaries.new()
    text = vcrpy_text(
        "https://h/a",
        answer=json.dumps({"ok": True, "access_token": secret}),
        received={"Content-Type": ["application/json"], "Date": ["Tue, 12 May 2026 09:30:00 GMT"]},
        method="POST",
        headers={"Authorization": [f"Bearer {secret}"]},
        body=f"client_secret={secret}",
    )
    source, text = tmp_path / "theirs.yml", json.dumps(yaml.safe_load(text)) if is_json else text
    source.write_text(text, encoding="utf-8")
    report = tk.import_cassette(source, "ours", settings=Settings({}, project=tmp_path))
    assert source.read_text(encoding="utf-8") == text
    assert (report.imported, report.left_out) == (1, {})
    assert report.replaced
    canaries.assert_absent([report.path, repr(report)], secret)
    again = tk.import_cassette(report.path, "again", settings=Settings({}, project=tmp_path))
    assert again.path.read_bytes() == report.path.read_bytes()
    cassette = tk.Cassette(report.path, "none", match_on=["method", "uri"])
    response = httpx.Client(transport=cassette.transport()).post("https://h/a")
    assert (response.status_code, response.json()["ok"]) == (200, True)
    assert cassette.recorded_at.isoformat() == "2026-05-12T09:30:00+00:00"
    assert cassette.source.startswith("replayed, recorded 12 May 2026")
    with vcr.use_cassette(str(report.path), record_mode="none", match_on=["method", "uri"]):
        assert httpx.post("https://h/a").json() == response.json()


# HAR files as Chrome, Firefox, Safari and Playwright write them


@pytest.fixture
def imported_entry(imported):
    """Return a function that imports a file with one entry; it returns the interaction, or the reason against it."""

    def run(**arguments):
        report = imported(har(entry(**arguments)))
        if report.path is None:
            return next(iter(report.left_out))
        return contents.read(report.path.read_bytes(), source="").interaction(0)

    return run


@pytest.mark.parametrize(
    ("content", "status", "body"),
    [
        ({"text": base64.b64encode(b"\x89PNG\x00").decode(), "encoding": "base64"}, 200, b"\x89PNG\x00"),
        ({"text": "caf\u00e9", "mimeType": "text/plain; charset=iso-8859-1"}, 200, "caf\u00e9".encode("latin-1")),
        ({"text": "caf\u00e9 \u20ac", "mimeType": "text/plain; charset=iso-8859-1"}, 200, "caf\u00e9 \u20ac".encode()),
        ({"text": "half \ud83d"}, 200, b"half ?"),
        ({"text": ""}, 200, b""),
        ({"size": 0, "mimeType": "x-unknown"}, 200, b""),
        ({"size": -1}, 204, b""),
        ({"size": 120, "text": "from the cache"}, 304, b""),
        ({}, 302, b""),
    ],
)
def test_stored_bodies(imported_entry, content, status, body):
    """A body is the bytes that were sent, whatever the file stores."""
    response = imported_entry(content=content, status=status, received={"Content-Encoding": "gzip"}).response
    assert (response.headers, response.body) == ((("Content-Length", str(len(body))),), body)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"content": {"size": 7, "mimeType": "text/html"}}, "a body is not stored"),
        ({"content": {"size": -1, "comment": "Response bodies are not included."}}, "a body is not stored"),
        ({"content": {"size": 7, "_file": "ab12.json"}}, "a body is not stored"),
        ({"content": {"text": "!!", "encoding": "base64"}}, "the fields of a HAR entry"),
        ({"content": {"text": "aa", "encoding": "hex"}}, "a body is not stored"),
        ({"url": "data:text/plain,abc"}, "not an HTTP call"),
        ({"url": "wss://h/s", "_resourceType": "websocket"}, "not an HTTP call"),
        ({"status": 101, "received": {"Upgrade": "websocket"}}, "not an HTTP call"),
        ({"status": 0, "content": {"size": 0}}, "no response"),
        ({"status": -1}, "no response"),
        (
            {"method": "POST", "post": {"mimeType": "multipart/form-data", "params": pairs({"a": "b"})}},
            "a body is not stored",
        ),
        ({"url": "https://[h/"}, "fields of a HAR entry"),
        ({"method": ""}, "fields of a HAR entry"),
        ({"url": "https:///a"}, "fields of a HAR entry"),
    ],
)
def test_left_out(imported_entry, arguments, words):
    """An entry that cannot be replayed is left out, with the reason."""
    assert words in imported_entry(**arguments)


@pytest.mark.parametrize(
    ("post", "body"),
    [
        ({"mimeType": "application/json", "text": '{"a": "\u00e9"}'}, '{"a": "\u00e9"}'.encode()),
        ({"mimeType": FORM, "text": "a=b&c=d", "params": pairs({"a": "b"})}, b"a=b&c=d"),
        ({"mimeType": FORM, "text": "", "params": pairs([("a", "b c"), ("a", "\u00e9")])}, b"a=b+c&a=%C3%A9"),
        ({"mimeType": "application/octet-stream", "text": "AAE=", "encoding": "base64"}, b"\x00\x01"),
    ],
)
def test_sent_bodies(imported_entry, post, body):
    """The body of a request is its text, or else a form of its parameters."""
    assert imported_entry(method="POST", post=post).request.body == body


@pytest.mark.parametrize(
    ("member", "value"),
    [("headers", 5), ("headers", [1, {"name": 3}]), ("cookies", {"a": 1}), ("content", [1]), ("status", "x")],
)
def test_misshapen_members(imported_entry, member, value):
    """Members of any type lead to an entry with or without an interaction, and to no other error."""
    fields = entry()
    fields["response"][member] = value
    assert imported_entry(response=fields["response"])
