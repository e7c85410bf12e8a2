"""A scan flags what a recorder replaces, in files of any format."""

from __future__ import annotations

import base64
import json
import secrets
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.messages import RecordedRequest, RecordedResponse
from toolkit.scrubbing.scanning.unknown_secrets import places_in
from toolkit.scrubbing.scrubber import Scrubber

LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


def fake(length=32, alphabet=LETTERS):
    """Return a text that no other test has made known to the process."""
    return "".join(secrets.choice(alphabet) for _ in range(length))


def kinds(text):
    return [kind for _, kind in sorted(places_in(text.encode()))]


@pytest.mark.parametrize(
    "template",
    [
        "DD-API-KEY: {}",
        "x-finnhub-token:\n- {}",
        '{{"connectionString": "Endpoint=sb://a;SharedAccessKey={}"}}',
        '{{"name": "X-Plex-Token", "value": "{}"}}',
        '<add key="client_secret" value="{}"/>',
        "GET /v1/quote?symbol=A&apikey={}&b=1",
        "GET /v1?next=https%3A%2F%2Fh.example%2F%3Fhapikey%3D{}%26a%3D1",
        '{{\\"refresh\\": \\"{}\\"}}',
        "{{&quot;access_token&quot;: &quot;{}&quot;}}",
        "{{\\u0022: 1, \\u0061ccess_token: {}}}",
        "export OPENAI_API_KEY={}",
        "db_password = '{}'",
    ],
)
def test_fields(template):
    """A strong value beside the name of a credential is found, however the two are written."""
    assert kinds(template.format(fake())) == ["secret field"]


@pytest.mark.parametrize(
    "template",
    [
        "Cookie: theme=dark; sid={}; lang=en",
        "set-cookie:\n- session={}; Path=/; HttpOnly",
        "set-cookie:\n- a=1; Path=/\n- b={}; Path=/",
        "Set-Cookie:\n    - 'remember={}; Max-Age=1'",
        '"set-cookie": ["a=1", "connect.sid={}; Secure"]',
        "-H 'Cookie: JSESSIONID={}'",
        '{{"name": "Cookie", "value": "sid={}"}}',
        '{{"name":"Set-Cookie","value":"sid={}; Path=/"}}',
    ],
)
@pytest.mark.parametrize("alphabet", [LETTERS, HEX])
def test_cookies(template, alphabet):
    """A strong cookie is found in a header; a digest if the name of the cookie means a credential."""
    is_secret = alphabet == LETTERS or any(name in template for name in ("sid=", "session=", "JSESSIONID="))
    assert kinds(template.format(fake(32, alphabet))) == ["cookie"] * is_secret


def test_lines():
    """Each finding has the line of its name, also behind escaped line breaks."""
    lines = ["a%0Ab", f"password={fake()}", "x-api-key:", f"  - {fake()}", "", f"see gh{'p_'}{fake(36)}"]
    assert sorted(places_in("\n".join(lines).encode())) == [
        (2, "secret field"),
        (3, "secret field"),
        (6, "key in the format of GitHub"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        '{"next_page_token": "%s", "token_type": "Bearer"}',
        '{"public_key": "%s"}',
        "Idempotency-Key: %s",
        "etag: %s",
        '{"id": "%s", "checksum": "%s"}',
        "OPENAI_API_KEY in README: set OPENAI_API_KEY=$OPENAI_API_KEY or OPENAI_API_KEY=your-key-here",
        "token=$PROJECT:0f8fad5b-d9cb-469f-a165-70867728950e",
        '{"errors": {"password": "required", "api_key": "must be a string"}}',
        "Cookie: theme=dark; lang=en; consent=2026-11-22",
        "we set a cookie: it remembers your choices",
        "SharedAccessKey=<your key>;Password=********;",
        "a file that begins with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----",
    ],
)
def test_ordinary_text(text):
    """Cursors, public keys, identifiers and stand-ins are no findings."""
    assert kinds(text.replace("%s", fake(40))) == []


VALUES = st.one_of(
    st.tuples(st.integers(8, 60)),
    st.tuples(st.sampled_from([32, 40, 64]), st.just(HEX)),
    st.sampled_from(["required", "accounts", "your-api-key", "hunter2hunter2", "<ACCESS_TOKEN>", "1234567890"]),
)
NAMES = st.sampled_from(
    ["access_token", "apiKey", "key", "token", "cursor", "nextPageToken", "sort_key", "acme_secret", "primaryKey", "id"]
)


@given(NAMES, VALUES)
@settings(max_examples=150, deadline=None)
def test_scan_and_recorder_agree(name, value):
    """A value in an answer is flagged if, and only if, a recorder replaces it."""
    value = value if isinstance(value, str) else fake(*value)
    body = json.dumps({"a": [{name: value}], "b": 1})
    request = RecordedRequest("GET", "https://h.example/")
    _, response = Scrubber(KnownSecrets()).exchange(request, RecordedResponse(200, body=body.encode()))
    if places_in(body.encode()):  # weak values are replaced, too
        assert response.body != body.encode()


@given(st.sampled_from(["sid", "theme", "JSESSIONID", "_ga", "x"]), VALUES)
@settings(max_examples=100, deadline=None)
def test_cookies_of_a_recorder(name, value):
    """No cookie that a recorder wrote is flagged."""
    value = value if isinstance(value, str) else fake(*value)
    request = RecordedRequest("GET", "https://h.example/", (("Cookie", f"{name}={value}"),))
    recorded, _ = Scrubber(KnownSecrets()).exchange(request, RecordedResponse(200))
    assert kinds(f"cookie:\n- {recorded.headers[0][1]}") == []


@given(st.text(max_size=200), st.binary(max_size=200))
def test_any_file(text, data):
    """Any file can be scanned."""
    places_in(text.encode("utf-8", "surrogatepass"))
    places_in(data)
    places_in(base64.b64encode(data))
