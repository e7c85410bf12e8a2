"""The leak bench: secrets in every place and form, recorded through a real cassette and searched for in its file.

Nothing is configured: a cassette knows the credentials of its session, and the names of credentials.
"""

from __future__ import annotations

import base64
import gzip
import json
import random
import string
import textwrap
import zlib
from urllib.parse import quote, urlencode

import canaries
import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolkit.cassettes.cassette import Cassette
from toolkit.core.secret import Secret
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.scrubber import Scrubber

CANARY = canaries.AWKWARD
PLAIN = "".join(random.Random(11).choices(string.ascii_letters + string.digits, k=24))  # noqa: S311 - as machines make them
HOST = "https://service.example"


def record_all(path, calls, *, known=()):
    """Make calls through a cassette and return the bytes of its file; each caller gets what the service sent.

    `calls` are pairs of dicts: the arguments of a request, and those of its response.
    """
    scrubber = Scrubber(KnownSecrets(("ACCESS_TOKEN", Secret(text)) for text in known))
    cassette = Cassette(path, "all", scrubber=scrubber)
    pending = []

    def serve(_):
        sent = pending.pop()
        return httpx.Response(sent.status_code, headers=sent.headers.raw, stream=sent.stream)

    with httpx.Client(transport=cassette.transport(httpx.MockTransport(serve))) as client:
        for request, response in calls:
            sent = httpx.Response(**{"status_code": 200, **response})
            pending.append(sent)
            method = "POST" if {"content", "data", "json", "files"} & set(request) else "GET"
            live = client.request(**{"method": method, "url": HOST, **request})
            assert live.headers.raw == sent.headers.raw
            assert live.content == httpx.Response(200, headers=sent.headers.raw, content=b"".join(sent.stream)).content
    cassette.close()
    return path.read_bytes()


def wrapped(text, width=76):
    return "\n".join(textwrap.wrap(text, width))


FORMS = canaries.FORMS
LINES = {
    "MIME": lambda text: base64.encodebytes(b"x" * 50 + text.encode() + b"y" * 50).decode(),
    "MIME with CRLF": lambda text: base64.encodebytes(b"x" * 50 + text.encode()).decode().replace("\n", "\r\n"),
    "PEM": lambda text: wrapped(base64.b64encode(b"x" * 40 + text.encode()).decode(), 64),
    "narrow": lambda text: wrapped(base64.b64encode(text.encode()).decode(), 9),
    "in JSON": lambda text: json.dumps({"a": base64.encodebytes(b"x" * 50 + text.encode()).decode()}),
    "in a URL": lambda text: quote(base64.encodebytes(b"x" * 50 + text.encode()).decode(), safe=""),
}
BODIES = {
    "text": lambda text: ("text/plain", text.encode()),
    "JSON deep": lambda text: ("application/json", json.dumps({"a": [{"b": {"c": text}}]}).encode()),
    "JSON with a BOM": lambda text: ("application/json", b"\xef\xbb\xbf" + json.dumps([text]).encode()),
    "NDJSON": lambda text: ("application/x-ndjson", b'{"a": 1}\n' + json.dumps({"b": text}).encode() + b"\n"),
    "form": lambda text: ("application/x-www-form-urlencoded", urlencode({"a": 1, "b": text}).encode()),
    "XML": lambda text: ("application/xml", f"<a><b>{text.replace('&', '&amp;')}</b></a>".encode()),
    "events": lambda text: ("text/event-stream", f"event: x\ndata: {json.dumps({'a': text})}\n\n".encode()),
    "multipart": lambda text: (
        "multipart/mixed; boundary=b",
        b"--b\nContent-Type: text/plain\n\n" + text.encode() + b"\n--b--",
    ),
    "binary": lambda text: ("application/octet-stream", b"\xff\x00\xfe" + text.encode() + b"\x80"),
}
CODINGS = {"gzip": gzip.compress, "deflate": zlib.compress, "gzip, deflate": lambda b: zlib.compress(gzip.compress(b))}


@pytest.mark.parametrize("place", BODIES)
def test_in_bodies(tmp_path, place):
    """A known secret is not recorded in a body of any format, in any form, in requests and responses."""
    calls = []
    for write in (*FORMS.values(), *LINES.values()):
        kind, body = BODIES[place](write(CANARY))
        message = {"headers": {"Content-Type": kind}, "content": body}
        calls += [(message, {}), ({}, message)]
    canaries.assert_absent(record_all(tmp_path / "a.yaml", calls, known=[CANARY]), CANARY)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("is_known", [True, False], ids=["known", "by place"])
def test_in_wide_text(tmp_path, encoding, is_known):
    """A secret in UTF-16 is replaced there; other text in it is recorded as it came."""
    path, kind = tmp_path / "a.yaml", {"Content-Type": f"application/json; charset={encoding}"}
    name = "note" if is_known else "access_token"
    for sent, expected in (({name: PLAIN}, {name: "<ACCESS_TOKEN>"}), ({"by": "Ann Lee"}, {"by": "Ann Lee"})):
        path.unlink(missing_ok=True)
        message = {"headers": kind, "content": json.dumps(sent).encode(encoding)}
        record_all(path, [({}, message)], known=[PLAIN] if is_known else [])
        with httpx.Client(transport=Cassette(path, "none").transport()) as client:
            assert client.get(HOST).content == json.dumps(expected).encode(encoding)


# Lists of characters rather than st.text, which likes constants from the code; those are not secret.
CHARACTERS = st.sampled_from(string.ascii_letters + string.digits + "-._~+/=")
SECRETS = st.lists(CHARACTERS, min_size=12, max_size=40).map("".join).filter(lambda text: len(set(text)) > 6)
WRITTEN = st.sampled_from([*FORMS.values(), *LINES.values()])
SPOTS = st.lists(
    st.tuples(st.sampled_from(["path", "query", "header", "reply header", "cookie", "body", "reply"]), WRITTEN),
    min_size=1,
    max_size=5,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SECRETS, SPOTS, st.sampled_from(sorted(BODIES)), st.sampled_from(["", *sorted(CODINGS)]), st.text(max_size=30))
def test_at_random(tmp_path_factory, secret, spots, kind, coding, noise):
    """A known secret is not recorded in any combination of places and forms."""
    path, headers, reply_headers, body, reply = "/v1", {}, {}, noise, noise
    for number, (spot, write) in enumerate(spots):
        text = write(secret)
        if spot == "path":
            path += f"/{quote(text, safe='')}"
        elif spot == "query":
            path += f"{'&' if '?' in path else '?'}q{number}={quote(text, safe='')}"
        elif spot == "cookie":
            reply_headers["Set-Cookie"] = f"c{number}={quote(text, safe='')}; Path=/"
        elif spot in ("header", "reply header"):
            value = text.replace("\r", " ").replace("\n", " ")
            (headers if spot == "header" else reply_headers)[f"X-{number}"] = value
        elif spot == "body":
            body += text
        else:
            reply += text
    content_type, content = BODIES[kind](reply)
    content = CODINGS[coding](content) if coding else content
    reply_headers |= {"Content-Type": content_type} | ({"Content-Encoding": coding} if coding else {})
    file = tmp_path_factory.mktemp("bench") / "a.yaml"
    request = {"url": HOST + path, "headers": headers, "content": body.encode("utf-8", "replace")}
    written = record_all(file, [(request, {"headers": reply_headers, "content": content})], known=[secret])
    canaries.assert_absent(written, secret)
