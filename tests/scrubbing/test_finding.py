"""Credentials are found by name and graded by value: strong ones everywhere, weak ones in their places in requests."""

from __future__ import annotations

import json
import string
from pathlib import Path
from random import Random
from urllib.parse import quote, urlencode

import pytest

import toolkit as tk
from tests.benchmarks.overscrubbing import changed_messages, messages
from toolkit.scrubbing.finding.fields import Fields
from toolkit.scrubbing.finding.find import without_credentials
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.messages import RecordedRequest, RecordedResponse
from toolkit.scrubbing.scrubber import Scrubber

URL = "https://h.example/v2/accounts"


def strong(seed=0):
    """Return a text as machines make them."""
    return "".join(Random(seed).choices(string.ascii_letters + string.digits, k=28))  # noqa: S311


def multipart(name, value):
    return f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n--x--\r\n'


def scrubbed(request=None, response=None, *, scrubber=None):
    request, response = request or RecordedRequest("POST", URL), response or RecordedResponse(200)
    return (scrubber or Scrubber(KnownSecrets())).exchange(request, response)


def test_what_an_answer_named_is_replaced_later():
    """A strong value under the name of a credential is replaced from then on, also percent-encoded and in JSON."""
    value, scrubber = f"{strong()}/+", Scrubber(KnownSecrets())
    scrubbed(response=RecordedResponse(200, "", (), json.dumps({"a": [{"apiKey": value}]}).encode()), scrubber=scrubber)
    request = RecordedRequest("GET", f"{URL}?q={quote(value, safe='')}", (("X-A", f"the {value}"),))
    request, response = scrubbed(request, RecordedResponse(200, "", (), f'["{value}"]'.encode()), scrubber=scrubber)
    assert request.uri == f"{URL}?q=%3CAPI_KEY%3E"
    assert request.headers == (("X-A", "the <API_KEY>"),)
    assert response.body == b'["<API_KEY>"]'


@pytest.mark.parametrize("is_ascii", [False, True])
def test_rows_below_their_column_names(is_ascii):
    """Each cell below the name of a credential is replaced, however weak or often it is there, in any alphabet."""
    rows = [[1, "hunter2"], [2, "wörter7"], [3, "hunter2"], [4, "wörter7"]]
    body = json.dumps({"columns": ["id", "password"], "rows": rows}, ensure_ascii=is_ascii)
    _, response = scrubbed(response=RecordedResponse(200, "", (), body.encode()))
    assert [row[1][:9] for row in json.loads(response.body)["rows"]] == ["<PASSWORD"] * 4


def test_too_many_fields():
    """A header with too many cookies is replaced as a whole, and a form with too many fields is read as text."""
    form = RecordedRequest("POST", URL, (), b"a=1&" * 10_001 + b"password=hunter2")
    assert scrubbed(form)[0].body.endswith(b"1&password=<PASSWORD>")
    value = "a=1" + "; b=2" * 20_000
    _, response = scrubbed(response=RecordedResponse(200, "", (("Set-Cookie", value),)))
    assert response.headers == (("Set-Cookie", "<COOKIE>"),)


@pytest.mark.parametrize("before", [0, 4_088, 4_094, 50_000])
@pytest.mark.parametrize(
    "written",
    [
        "apiKey%3D{}",
        "%22apiKey%22%3A%22{}%22",
        "&quot;apiKey&quot;:&quot;{}&quot;",
        "\\u0022apiKey\\u0022:\\u0022{}\\u0022",
    ],
)
def test_names_behind_escapes_count_anywhere_in_a_long_text(written, before):
    """Only the parts of a text around escapes are read without them; a long value is in such a part as a whole."""
    value = "".join(Random(0).choices(string.ascii_letters + string.digits, k=12_000))  # noqa: S311
    body = "x" * before + " " + written.format(value) + " and" + " x" * 30_000 + f" {value}"
    _, response = scrubbed(response=RecordedResponse(200, "", (), body.encode()))
    assert response.body == body.replace(value, "<API_KEY>").encode()


ANSWERS = json.loads((Path(__file__).parent / "data" / "weak_answers.json").read_text("utf-8"))


@pytest.mark.parametrize(("status", "written", "recorded"), ANSWERS)
def test_weak_values_in_answers(status, written, recorded):
    """A value under a name that can only be a credential's is replaced in an answer, but for what is no value."""
    _, response = scrubbed(response=RecordedResponse(status, "", (), written.encode()))
    assert response.body.decode() == (recorded or written)


def test_no_error_message_is_changed(tmp_path):
    """Sentences, JSON errors, pages and settings that talk about credentials, in two languages, stay as they are."""
    assert changed_messages(messages(300, seed=11), tmp_path) == []


def test_what_a_request_used_is_replaced_where_it_is_echoed():
    """A weak credential of a request is replaced in later messages; a short one where it is a whole value only."""
    request = RecordedRequest(
        "POST", URL, (("Authorization", "Bearer admin-token-1234"),), b'{"password": "day-trading"}'
    )
    body = b'{"said": "it is admin-token-1234", "you": "day-trading", "day-trading": 1, "a": "day-trading b",'
    other = b' "admin-token-1234": "/admin-token-1234/a"}'  # a key and a segment of a path
    scrubber = Scrubber(KnownSecrets())
    scrubbed(request, scrubber=scrubber)
    _, response = scrubbed(response=RecordedResponse(200, "", (), body + other), scrubber=scrubber)
    expected = b'{"said": "it is <AUTHORIZATION>", "you": "<PASSWORD>", "day-trading": 1, "a": "day-trading b",'
    assert response.body == expected + other


def test_answers_that_nobody_records():
    """In an answer that is shown or kept elsewhere, values under certain names are replaced, whatever they are."""
    body = b'{"api_key": "weak-one", "key": "weak-one"}'
    assert without_credentials(body) == body.replace(b"weak-one", b"<API_KEY>", 1)
    assert without_credentials(body[:1]) == body[:1]


def test_codes_of_redirects():
    """The code in a redirect, and in a token request, is replaced in its place; in a page, a header still counts."""
    redirect = (("Location", f"{URL}?code=weak-code&a=1"), ("X-A", "/?code=weak-code"), ("Content-Type", "text/html"))
    request = RecordedRequest("POST", URL, (), f"grant_type=authorization_code&code={strong()}".encode())
    answer = RecordedResponse(302, "", (*redirect, ("X-B", "password=hunter2")), f"<p>{strong()}: pin".encode())
    request, response = scrubbed(request, answer)
    assert request.body == b"grant_type=authorization_code&code=%3CCODE%3E"
    assert response.body == b"<p><CODE>: pin"
    assert [value for _, value in response.headers[:2]] == [f"{URL}?code=%3CCODE-2%3E&a=1", "/?code=weak-code"]
    assert response.headers[3] == ("X-B", "password=<PASSWORD>")


def test_values_with_another_use():
    """A value that is also a key of the JSON or a segment of the path is replaced in its place only."""
    key, segment = strong(1), strong(2)
    body = json.dumps({"token": key, "items": {key: 1}, "secret": segment}).encode()
    request, response = scrubbed(RecordedRequest("GET", f"{URL}/{segment}"), RecordedResponse(200, "", (), body))
    assert response.body == body.replace(f'"{key}", '.encode(), b'"<ACCESS_TOKEN>", ').replace(
        segment.encode(), b"<SECRET>"
    )
    assert request.uri.endswith(segment)


REQUESTS = {
    "query": lambda value: RecordedRequest("GET", f"{URL}?a=1&password={quote(value)}"),
    "form": lambda value: RecordedRequest("POST", URL, (), urlencode({"user": "me", "password": value}).encode()),
    "JSON": lambda value: RecordedRequest("POST", URL, (), json.dumps({"a": [{"password": value}]}).encode()),
    "JSON in JSON": lambda value: RecordedRequest(
        "POST", URL, (), json.dumps({"a": json.dumps({"password": value})}).encode()
    ),
    "JSON in a form": lambda value: RecordedRequest(
        "POST", URL, (), urlencode({"a": json.dumps({"password": value})}).encode()
    ),
    "XML": lambda value: RecordedRequest("POST", URL, (), f"<a><password>{value}</password></a>".encode()),
    "attribute": lambda value: RecordedRequest("POST", URL, (), f'<a password="{value}"/>'.encode()),
    "settings": lambda value: RecordedRequest("PUT", URL, (), f"user: me\npassword: {value}\n".encode()),
    "multipart": lambda value: RecordedRequest(
        "POST", URL, (("Content-Type", "multipart/form-data; boundary=x"),), multipart("password", value).encode()
    ),
}


@pytest.mark.parametrize("place", REQUESTS)
def test_weak_values_in_requests(place):
    """Weak values are replaced in their places, stay distinct, and are not searched for elsewhere."""
    scrubber = Scrubber(KnownSecrets())
    make = REQUESTS[place]
    request, response = scrubbed(make("hunter2"), RecordedResponse(200, "", (), b"hunter2"), scrubber=scrubber)
    assert response.body == b"hunter2"
    assert "hunter2" not in f"{request}"
    first, second = scrubber.lookup_request(make("hunter2")), scrubber.lookup_request(make("swordfish"))
    assert first == request
    assert second != first
    assert scrubber.lookup_request(make("swordfish")) == second
    assert scrubber.lookup_request(second) == second
    fresh = Scrubber(KnownSecrets())  # as in a replay
    assert [fresh.lookup_request(make(value)) for value in ("hunter2", "swordfish")] == [first, second]
    assert Scrubber(KnownSecrets()).lookup_request(make("anything")) == first


def test_headers_of_unknown_names():
    """A value that looks random is replaced in place, except in headers where such values are usual."""
    usual = (
        ("Authorization", ""),
        ("X-Api-Key", "<API_KEY-2>"),
        ("X-Request-Id", strong(1)),
        ("If-None-Match", f'"{strong(2)}"'),
        ("Idempotency-Key", strong(3)),
        ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ("User-Agent", "python-httpx/0.28.1"),
        ("X-Tenant", "550e8400-e29b-41d4-a716-446655440000"),
    )
    request = RecordedRequest("GET", URL, (*usual, ("X-Frobnicate", strong(4)), ("X-Signed-By", "Ann Lee")))
    echo = RecordedResponse(200, "", (("X-Frobnicate", strong(4)),), strong(4).encode())
    changed, response = scrubbed(request, echo)
    assert changed.headers == (*usual, ("X-Frobnicate", "<HEADER>"), ("X-Signed-By", "Ann Lee"))
    assert response == echo
    assert scrubbed(changed)[0] == changed


def test_fields_across_slices():
    """A field is read wherever a slice ends."""
    for shift in range(-60, 60, 7):
        text = "x " * ((1 << 17) + shift) + '"access_token": "value-of-it"' + " y" * 1000
        assert [field.written.value for field in Fields(text)] == ["value-of-it"]


HOSTILE = [
    "\\", '"', "?token=", '{"password":"', '\\"password\\":\\"', "password='", "bearer ", "bearer a.b", "eyJaaaaaaaaa.",
    "-eyJ", "-----BEGIN PRIVATE KEY-----" + "a" * 30, "://a:b", "<token ", "<token>x", "<token><![CDATA[", "a=b;", ":",
    "%253D", "&amp;quot;", "\\u0061", '{"a":', "[", '"tokens":["a",', '{"name":"password","x":"value', "Basic YWFh",
    "; ", "name=", '{"token":', '{"token":{"secret":[', '"name":"token","value":"a",',
    '["token","x",', "token,key\n", "<key>token</key><a>", "--x\r\n", 'name="password"\r\n\r\n', "a",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text(piece):
    """No text takes quadratic time in any place; the test would not end otherwise."""
    text = piece * (40_000 // len(piece))
    body, headers = text.encode(), (("Content-Type", "multipart/form-data; boundary=x"),)
    scrubbed(RecordedRequest("POST", f"{URL}?{text}", (), body))
    for message in (
        RecordedResponse(200, "", (), body),
        RecordedResponse(200, "", headers, body),
        RecordedResponse(200, "", (("Set-Cookie", text), ("X-A", text)), b""),
    ):
        scrubbed(response=message)
    one = Scrubber(KnownSecrets(), rules=tk.Rules(names=("pin",)))
    one.exchange(RecordedRequest("GET", URL), RecordedResponse(200, "", (), body[:20_000]))
