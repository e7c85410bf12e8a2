"""What a browser or vcrpy recorded becomes a clean cassette, which replays here and in stock vcrpy."""

from __future__ import annotations

import base64
import json

import canaries
import httpx
import pytest
import vcr
import yaml
from hars import bare_settings, entry, har
from hypothesis import given
from hypothesis import strategies as st

import toolkit as tk
from toolkit.core.errors import CassetteCorrupt, CassetteError, ConfigurationError

VCRPY = """\
interactions:
- request:
    body: client_secret=SECRET
    headers:
      Authorization:
      - Bearer SECRET
    method: POST
    uri: https://h/a
  response:
    body:
      string: '{"ok": true, "access_token": "SECRET"}'
    headers:
      Content-Type:
      - application/json
      Date:
      - Tue, 12 May 2026 09:30:00 GMT
    status:
      code: 201
      message: Created
version: 1
"""


@pytest.fixture
def imported(tmp_path):
    """Return a function that imports the text of a file, and returns the report."""

    def run(text, name="new", settings=None, **arguments):
        source = tmp_path / "source.txt"
        data = text if isinstance(text, bytes) else text.encode()
        source.write_bytes(data)
        report = tk.import_cassette(source, name, settings=settings or bare_settings(tmp_path), **arguments)
        assert source.read_bytes() == data
        return report

    return run


def responses(path, *requests):
    """Return the responses of our replay, after checking that stock vcrpy plays the same."""
    ours = httpx.Client(transport=tk.Cassette(path, "none").transport())
    played = [ours.request(*request) for request in requests]
    with vcr.use_cassette(str(path), record_mode="none"), httpx.Client() as client:
        theirs = [client.request(*request) for request in requests]
    assert [(each.status_code, each.content) for each in theirs] == [
        (each.status_code, each.content) for each in played
    ]
    return played


def test_story(imported, tmp_path):
    """A HAR file with secrets becomes a clean cassette; the report names kinds and reasons."""
    token = canaries.new()
    report = imported(
        har(
            entry(
                headers={"Authorization": f"Bearer {token}", ":authority": "api.example.com"},
                content={"text": json.dumps({"echo": token})},
            ),
            entry("https://api.example.com/v1/gone", content={"size": 5, "mimeType": "text/plain"}),
            entry("wss://api.example.com/socket", status=101, _webSocketMessages=[{"data": token}]),
        )
    )
    assert (report.imported, report.program, report.environment) == (1, "HAR of WebInspector", None)
    assert [(each.number, each.host, each.reason) for each in report.left_out] == [
        (2, "api.example.com", "a body is not stored in the file"),
        (3, "api.example.com", "it is not a call over HTTP"),
    ]
    assert report.hosts == ("api.example.com",)
    assert sum(report.replaced.values()) == 2
    assert report.path == tmp_path / "cassettes" / "new.yaml"
    canaries.assert_absent([report.path, repr(report), json.dumps(report.to_json())], token)
    assert list(tk.scan(report.path)) == []
    (response,) = responses(report.path, ("GET", "https://api.example.com/v1/a"))
    assert response.status_code == 200
    assert response.json()["echo"].startswith("<")
    assert tk.Cassette(report.path, "none").recorded_at.isoformat() == "2026-05-12T07:30:00.250000+00:00"


FORM = "application/x-www-form-urlencoded"
PLACES = {
    "header": lambda secret: entry(headers={"X-Api-Key": secret}),
    "basic": lambda secret: entry(headers={"Authorization": canaries.FORMS["Basic"](secret)}),
    "cookie header": lambda secret: entry(headers={"Cookie": f"a=b; sid={secret}"}),
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
    "initiator": lambda secret: entry(_initiator={"type": "script", "url": f"https://h/?access_token={secret}"}),
    "comment": lambda secret: entry(comment=secret, pageref=secret, serverIPAddress=secret),
    "header of no name": lambda secret: entry(headers={"bad name": secret, ":path": f"/?access_token={secret}"}),
}
NOWHERE_ELSE = "comment"  # nothing says that it is a secret


@given(
    place=st.sampled_from(sorted(PLACES)),
    other=st.sampled_from(sorted(PLACES)),
    form=st.sampled_from(["as it is", "percent-encoded", "JSON"]),
)
def test_no_secret_survives(tmp_path_factory, place, other, form):
    """No secret of any place in a HAR file is in the cassette or the report, nor where it is echoed as text."""
    folder = tmp_path_factory.mktemp("import")
    secrets = [canaries.new(), canaries.new()]
    echoes = [canaries.FORMS[form](secret) for secret in secrets if NOWHERE_ELSE not in (place, other)]
    echo = entry("https://api.example.com/v1/echo", content={"text": json.dumps({"said": echoes})})
    (folder / "a.har").write_text(har(echo, PLACES[place](secrets[0]), PLACES[other](secrets[1])), encoding="utf-8")
    report = tk.import_cassette(folder / "a.har", folder / "b.yaml", settings=bare_settings(folder))
    assert report.imported + len(report.left_out) == 3
    assert {each.number for each in report.left_out} <= {1}
    canaries.assert_absent([report.path, repr(report), json.dumps(report.to_json())], secrets)
    assert tk.Cassette(report.path, "none").table().shape[0] == report.imported


def test_secret_of_an_entry_that_is_left_out(imported):
    """What is left out or not chosen may name a secret that is elsewhere."""
    secrets = [canaries.new(), canaries.new()]
    said = entry("https://api.example.com/v1/said", content={"text": json.dumps({"said": secrets})})
    blocked = entry(headers={"Authorization": f"Bearer {secrets[0]}"}, status=0)
    elsewhere = entry("https://login.example.com/", cookies={"sid": secrets[1]})
    report = imported(har(said, blocked, elsewhere), only="api.example.com")
    assert (report.imported, report.not_chosen) == (1, 1)
    canaries.assert_absent(report.path, secrets)


def test_data_that_cannot_be_checked(imported):
    """A body in an encoding that nobody knows is left out, and what is beside it is imported."""
    sealed = {"mimeType": "", "text": base64.b64encode(bytes(range(256))).decode(), "encoding": "base64"}
    report = imported(har(entry(method="POST", headers={"Content-Encoding": "sealed"}, post=sealed), entry()))
    assert report.imported == 1
    assert [(each.number, each.reason) for each in report.left_out] == [
        (1, "it holds data that cannot be checked for secrets")
    ]


def test_addresses_become_symbolic(imported, tmp_path):
    """Calls to addresses of the settings replay in a session without arguments."""
    settings = bare_settings(tmp_path, broker_sandbox="https://b.example.com", auth_sandbox="https://auth.example.com")
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
    assert (report.imported, report.environment, report.hosts) == (2, "broker-sandbox", ())
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
    text = VCRPY.replace("SECRET", secret)
    source, text = tmp_path / "theirs.yml", json.dumps(yaml.safe_load(text)) if is_json else text
    source.write_text(text, encoding="utf-8")
    report = tk.import_cassette(source, "ours", settings=bare_settings(tmp_path))
    assert source.read_text(encoding="utf-8") == text
    assert (report.program, report.imported, report.left_out) == ("vcrpy", 1, ())
    assert report.replaced
    canaries.assert_absent([report.path, repr(report)], secret)
    again = tk.import_cassette(report.path, "again", settings=bare_settings(tmp_path))
    assert (again.program, again.path.read_bytes()) == ("toolkit", report.path.read_bytes())
    cassette = tk.Cassette(report.path, "none", match_on=["method", "uri"])
    response = httpx.Client(transport=cassette.transport()).post("https://h/a")
    assert (response.status_code, response.json()["ok"]) == (201, True)
    assert cassette.recorded_at.isoformat() == "2026-05-12T09:30:00+00:00"
    with vcr.use_cassette(str(report.path), record_mode="none", match_on=["method", "uri"]):
        assert httpx.post("https://h/a").json() == response.json()
