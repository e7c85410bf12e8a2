"""Credentials are found by their place in headers, URLs, links, forms, JSON and multipart bodies."""

from __future__ import annotations

import base64
import gzip
import json
from urllib.parse import urlencode

import pytest

from toolkit.core.errors import SecretLeak
from toolkit.scrubbing.credential_names import header_kind, is_placeholder
from toolkit.scrubbing.find_in_messages import secrets_by_place
from toolkit.scrubbing.messages import RecordedRequest, RecordedResponse

SECRET = "hunter-2-and more"


def found(message):
    return [(kind, secret.reveal()) for kind, secret in secrets_by_place(message)]


def request(uri="https://h.example/", headers=(), body=b""):
    return RecordedRequest("POST", uri, tuple(headers), body)


def response(headers=(), body=b""):
    return RecordedResponse(200, headers=tuple(headers), body=body)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Authorization", "AUTHORIZATION"),
        ("PROXY-Authorization", "PROXY_AUTHORIZATION"),
        ("SVC-API-KEY-ID", "API_KEY_ID"),
        ("acme-api-secret-key", "API_SECRET_KEY"),
        ("X-Api-Key", "API_KEY"),
        ("X-Auth-Token", "ACCESS_TOKEN"),
        ("Accept", None),
        ("Authorization-Info", None),
    ],
)
def test_header_kind(name, kind):
    """Headers of credentials are recognized by name, in any case and with any prefix."""
    assert header_kind(name) == kind
    value = f"Scheme {SECRET}" if name.lower().endswith("authorization") else SECRET
    assert found(request(headers=[(name, value)])) == ([(kind, SECRET)] if kind else [])


def test_basic_credentials():
    """Basic credentials are secret as a pair, and the password is also secret by itself."""
    pair = base64.b64encode(f"me:{SECRET}".encode()).decode()
    header = ("Authorization", f"Basic {pair}")
    assert found(request(headers=[header])) == [("AUTHORIZATION", pair), ("PASSWORD", SECRET)]
    assert found(request(headers=[("Authorization", "Basic ?")])) == [("AUTHORIZATION", "?")]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("<ACCESS_TOKEN>", True),
        ("Bearer <ACCESS_TOKEN>", True),
        ("Basic <API_KEY_ID:API_SECRET_KEY>", True),
        ("bearer <ACCESS_TOKEN-2>", True),
        ("hunter2 <ACCESS_TOKEN>", False),
        ("<access token>", False),
        ("<HUNTER2>", False),
        ("<ACCESS_TOKEN> hunter2", False),
        ("", False),
    ],
)
def test_is_placeholder(value, expected):
    """A placeholder may stand alone or after a scheme, but not beside other text."""
    assert is_placeholder(value) is expected
    assert bool(found(request(headers=[("Authorization", value)]))) is (not expected)


FIELDS = {"access_token": "ACCESS_TOKEN", "apiKey": "API_KEY", "API-SECRET_KEY": "API_SECRET_KEY"}


@pytest.mark.parametrize(("name", "kind"), FIELDS.items())
@pytest.mark.parametrize(
    "make",
    [
        lambda name: request(f"https://h.example/a?b=c&{urlencode({name: SECRET})}"),
        lambda name: request(body=urlencode({"b": "c", name: SECRET}).encode()),
        lambda name: request(body=json.dumps({"a": [{"b": {name: SECRET}}], name: 7}).encode()),
        lambda name: response(body=b" " + json.dumps([{"a": {name: SECRET}}]).encode()),
        lambda name: response(body=json.dumps({"a": json.dumps({"b": json.dumps([{name: SECRET}])})}).encode()),
        lambda name: request(body=urlencode({"payload": json.dumps({name: SECRET})}).encode()),
        lambda name: response(body=(json.dumps({"a": 1}) + "\n" + json.dumps({name: SECRET})).encode()),
        lambda name: response(body=('{"a": ' * 100_000 + json.dumps({name: SECRET})).encode()),
        lambda name: response(
            [("Content-Type", "application/x-www-form-urlencoded")], urlencode({name: SECRET}).encode()
        ),
        lambda name: response([("Content-Encoding", "gzip")], gzip.compress(json.dumps({name: SECRET}).encode())),
        lambda name: request(
            headers=[("Content-Type", "multipart/form-data; boundary=x")],
            body=f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{SECRET}\r\n--x--\r\n'.encode(),
        ),
    ],
    ids="query form JSON deep nested JSON-in-form lines unparsable form-reply gzip multipart".split(),
)
def test_fields(make, name, kind):
    """A field of a credential is recognized by its name, however written, wherever fields stand."""
    assert found(make(name)) == [(kind, SECRET)]


@pytest.mark.parametrize("name", ["Location", "Link", "Refresh", "Referer"])
@pytest.mark.parametrize(
    "template", ["https://h/cb?access_token={}", "<https://h/?a=1&access_token={}>; rel=next", "/a#access_token={}&b"]
)
def test_links(name, template):
    """A token is found in the query and in the fragment of a link in a header."""
    value = template.format("hunter-2-and+more")
    assert found(response([(name, value)])) == [("ACCESS_TOKEN", SECRET)]


def test_password_in_a_url():
    """The password in the userinfo of a URL is found."""
    assert found(request("https://me:hunter-2-and%20more@h.example/")) == [("PASSWORD", SECRET)]


@pytest.mark.parametrize(
    "message",
    [
        response([("Location", "https://me:hunter-2-and%20more@h.example/")]),
        response(body=b'{"a": "see https:\\/\\/me:hunter-2-and%20more@h.example\\/b"}'),
        response([("Content-Type", "text/plain")], b"x postgres://me:hunter-2-and%20more@h.example/b"),
        request("https://h.example/?next=https%3A%2F%2Fme%3Ahunter-2-and%252520more%40h.example%2F"),
        request(body=b"next=https%3A%2F%2Fme%3Ahunter-2-and%2520more%40h.example%2F"),
    ],
    ids="header JSON text query form".split(),
)
def test_password_in_a_url_in_a_message(message):
    """The password in a URL is found in a header, in text, or in another URL."""
    assert ("PASSWORD", SECRET) in found(message)


@pytest.mark.parametrize(
    "message",
    [
        request("https://h.example/password?passwords=a&my_password=b&client_id=me", body=b"password"),
        response(body=b'{"password": null, "access_token": 7, "token_type": "Bearer", "expires_in": 899}'),
        response(body=b"password=not-in-text"),
        response(body=b'{"password'),
        response([("Authorization", "no request")]),
        response(body=b'{"a": "https://me:password@h.example/ https://me:{your key}@h/ https://h:8080/a@b:c"}'),
        response(body=b"https://user:PASSWORD@h.example/ https://h.example/mail:someone-1234@h.example"),
    ],
)
def test_nothing_found(message):
    """Other fields, values other than text, and free text in a response are not credentials."""
    assert found(message) == []


def test_a_body_in_an_unknown_encoding():
    """A body that cannot be decompressed is refused rather than ignored."""
    with pytest.raises(SecretLeak):
        found(response([("Content-Encoding", "unheard-of")], b"\x01"))


def test_large_bodies():
    """Many fields without an end do not make the search quadratic."""
    body = b'Content-Disposition: form-data; name="password"\r\n\r\n' * 2_000
    headers = [("Content-Type", "multipart/form-data; boundary=x")]
    assert found(request(headers=headers, body=body)) == []
    found(response(body=b'{"password": "' * 50_000))
