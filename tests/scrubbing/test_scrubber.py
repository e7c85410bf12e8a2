"""Known secrets become placeholders everywhere, addresses become symbolic, and everything else stays."""

from __future__ import annotations

import base64
import gzip
import json
import string
import zlib
from random import Random
from urllib.parse import quote, quote_plus, urlencode

import canaries
import pytest
from forgetting import forget_everything
from hypothesis import example, given
from hypothesis import strategies as st
from recordings import as_recorded

from toolkit.cassettes.format.interactions import encode
from toolkit.core.document import symbolic_address
from toolkit.core.errors import SecretLeak
from toolkit.core.secret import Secret
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.messages import RecordedRequest, RecordedResponse
from toolkit.scrubbing.scrubber import Scrubber

TOKEN = "obviously-fake-token-1"
ADDRESSES = {
    "broker": "https://api.example.com",
    "broker_sandbox": "https://api.example.com/sandbox",
    "auth": "https://auth.example.com:8443",
    "trading_live": "http://127.0.0.1:8000",
}


def known(*texts, kind="ACCESS_TOKEN"):
    return KnownSecrets((kind, Secret(text)) for text in texts)


def scrubber(*texts, **changes):
    return Scrubber(known(*texts), addresses=ADDRESSES, **changes)


# Lists of characters rather than st.text, which likes constants from the code; those are not secret.
CHARACTERS = st.sampled_from(string.ascii_letters + string.digits + string.punctuation)
PRINTABLE = st.lists(CHARACTERS, min_size=8, max_size=40).map("".join).filter(lambda text: len(set(text)) > 4)


def json_deep(secret):
    return json.dumps({"a": [{"b": {"c": [1, secret]}}], secret: "as a name"}).encode()


BODIES = {
    "text": lambda secret: f"before {secret} after".encode(),
    "JSON": json_deep,
    "JSON in JSON": lambda secret: json.dumps({"a": json.dumps({"b": json_deep(secret).decode()})}).encode(),
    "JSON with slashes escaped": lambda secret: json.dumps([secret]).replace("/", "\\/").encode(),
    "form": lambda secret: urlencode({"a": secret, "b": json.dumps([secret])}).encode(),
    "form with %20": lambda secret: f"a={quote(secret, safe='')}".encode(),
    "multipart": lambda secret: f'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n{secret}\r\n--x--'.encode(),
    "base64": lambda secret: base64.b64encode(b"a" + secret.encode() + b"b"),
    "base64 in JSON": lambda secret: json.dumps({"a": base64.b64encode(b"ab" + json_deep(secret)).decode()}).encode(),
    "base64 in a URL": lambda secret: quote(base64.b64encode(secret.encode() + b"?").decode(), safe="").encode(),
    "hex": lambda secret: json.dumps(secret.encode().hex()).encode(),
    "capital hex": lambda secret: secret.encode().hex().upper().encode(),
    "binary": lambda secret: b"\xff\x00" + secret.encode() + b"\x80",
    "HTML": lambda secret: ("<p>" + secret.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")).encode(),
}
ENCODINGS = {
    "": bytes,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "gzip, deflate": lambda b: zlib.compress(gzip.compress(b)),
}
HEADERS = {
    "Location": lambda secret: f"https://app.example.com/cb?state={quote(secret, safe='')}#t={quote_plus(secret)}",
    "Set-Cookie": lambda secret: f'session="{secret}"; Path=/',
    "Link": lambda secret: f'<https://h.example/?page_token={quote(secret, safe="")}>; rel="next"',
    "X-Debug": lambda secret: secret,
    "ETag": lambda secret: base64.urlsafe_b64encode(secret.encode()).decode(),
    "WWW-Authenticate": lambda secret: f"Basic {base64.b64encode(b'me:' + secret.encode()).decode()}",
}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_search_finds_what_is_planted(interaction, encoding):
    """The search of these tests finds the secret in each body that is not scrubbed."""
    for body in BODIES.values():
        message = {"headers": (("Content-Encoding", encoding),), "body": ENCODINGS[encoding](body(canaries.AWKWARD))}
        assert canaries.found_in(encode(interaction(response=message)), canaries.AWKWARD, layers=5)


@given(
    PRINTABLE,
    st.lists(st.sampled_from(sorted(BODIES)), min_size=4, max_size=4, unique=True),
    st.sampled_from(sorted(ENCODINGS)),
    st.booleans(),
)
@example("ab\"cd\\ef/gh'i&j<k>l+n%2Bo", list(BODIES), "gzip", True)
def test_planted_in_bodies(interaction, secret, names, encoding, in_request):
    """A secret planted in a body of a request or a response, compressed or not, is not written in any form."""
    scrubbing, written = scrubber(secret), []
    for name in names:
        headers = (("Content-Type", "text/plain"), ("Content-Encoding", encoding))
        message = {"headers": headers, "body": ENCODINGS[encoding](BODIES[name](secret))}
        planted = interaction(**{"request" if in_request else "response": message})
        written.append(encode(as_recorded(scrubbing, planted)))
    canaries.assert_absent(b"\n".join(written), secret, layers=5)


@given(PRINTABLE)
def test_planted_elsewhere(interaction, secret):
    """A secret planted in headers, the reason phrase, or any part of a URL is not written in any form."""
    headers = {"headers": tuple((name, write(secret)) for name, write in HEADERS.items())}
    coded = quote(secret, safe="")
    twice = quote(f"https://h.example/?a={coded}", safe="")
    uri = f"https://me:{coded}@api.example.com/v1/{coded}/x?a={quote_plus(secret)}&{coded}=1&next={twice}#{coded}"
    planted = interaction(request={"uri": uri, **headers}, response={"reason": secret, **headers})
    written = encode(as_recorded(scrubber(secret), planted))
    canaries.assert_absent(written, secret, layers=3)
    assert b"@" not in written.split(b"\n")[2]


# Texts as machines make them; hypothesis would prefer simple ones.
STRONG = st.integers(0, 2**32).map(
    lambda seed: "".join(Random(seed).choices(string.ascii_letters + string.digits, k=30)) + "7-x"  # noqa: S311
)


@given(STRONG)
def test_discovered_by_place(interaction, secret):
    """An unnamed secret is found in the places of credentials, and replaced wherever else it occurs."""
    forget_everything()
    request = {
        "headers": (("Authorization", f"Bearer {secret}"), ("X-Echo", secret)),
        "uri": f"https://api.example.com/?echo={quote(secret, safe='')}",
    }
    learning = scrubber()
    written = encode(as_recorded(learning, interaction(request=request, body=json_deep(secret))))
    canaries.assert_absent(written, secret)
    assert b"<AUTHORIZATION>" in written


def test_placeholders_in_urls(interaction):
    """A placeholder in a URL is percent-encoded as clients do, so that links in a replay lead to recordings."""
    headers = (("Location", f"/a?t={TOKEN}"), ("Link", f"<https://h.example/?t={TOKEN}>; rel=next"), ("X-A", TOKEN))
    scrubbed = as_recorded(scrubber(TOKEN), interaction(f"/{TOKEN}?t={TOKEN}", response={"headers": headers}))
    assert scrubbed.request.uri == f"{BROKER}/%3CACCESS_TOKEN%3E?t=%3CACCESS_TOKEN%3E"
    assert [value for _, value in scrubbed.response.headers] == [
        "/a?t=%3CACCESS_TOKEN%3E",
        "<https://h.example/?t=%3CACCESS_TOKEN%3E>; rel=next",
        "<ACCESS_TOKEN>",
    ]


def test_weak_credentials_in_their_places(interaction):
    """Weak credentials are replaced where people type them in a request, and where they are a whole value later."""
    request = {
        "uri": "https://me:pw3@api.example.com/?api_key=pw2&a=pw1",
        "headers": (("X-Api-Key", "pw0"), ("Content-Type", "application/x-www-form-urlencoded")),
        "body": b"a=pw1&password=pw1",
    }
    learning = scrubber()
    scrubbed = as_recorded(learning, interaction(request=request, body=b'{"a": "pw1", "b": "pw1 or not"}'))
    assert scrubbed.request.uri == f"{symbolic_address('broker')}/?api_key=%3CAPI_KEY%3E&a=pw1"
    assert scrubbed.request.headers[0] == ("X-Api-Key", "<API_KEY>")
    assert scrubbed.request.body == b"a=pw1&password=%3CPASSWORD%3E"
    assert scrubbed.response.body == b'{"a": "<PASSWORD>", "b": "pw1 or not"}'


def without_cookies(interaction):
    request, response = (
        message._replace(headers=tuple(header for header in message.headers if header[0] != "Set-Cookie"))
        for message in (interaction.request, interaction.response)
    )
    return interaction._replace(request=request, response=response)


@given(st.data())
def test_the_rest_stays(interactions, data):
    """An interaction without secrets, cookies and addresses is recorded as it came, byte for byte."""
    interaction = without_cookies(data.draw(interactions()))
    assert as_recorded(scrubber(TOKEN), interaction) == interaction


def test_body_without_secrets_stays_compressed(interaction):
    """A compressed body stays as it came, with its headers, unless scrubbing changes its content."""
    headers = (("Content-Encoding", "gzip"), ("Transfer-Encoding", "chunked"), ("ETag", "1"))
    clean = interaction(body=gzip.compress(b"clean"), response={"headers": headers, "body": gzip.compress(b"clean")})
    assert as_recorded(scrubber(TOKEN), clean) == clean
    planted = interaction(response={"headers": headers, "body": gzip.compress(f"a {TOKEN}".encode())})
    scrubbed = as_recorded(scrubber(TOKEN), planted).response
    assert scrubbed.body == b"a <ACCESS_TOKEN>"
    assert scrubbed.headers == (("ETag", "1"), ("Content-Length", "16"))


@pytest.mark.parametrize("in_request", [True, False])
def test_an_unknown_encoding_is_refused(interaction, in_request):
    """A body in an unknown encoding is not recorded."""
    message = {"headers": (("Content-Encoding", "unheard-of"),), "body": b"\x01"}
    with pytest.raises(SecretLeak):
        as_recorded(scrubber(TOKEN), interaction(**{"request" if in_request else "response": message}))


BROKER, SANDBOX, AUTH = (symbolic_address(name) for name in ("broker", "broker_sandbox", "auth"))


@pytest.mark.parametrize(
    ("text", "symbolic"),
    [
        ("https://api.example.com/v1/accounts", f"{BROKER}/v1/accounts"),
        ("https://api.example.com", BROKER),
        ("see https://api.example.com.", f"see {BROKER}."),
        ('{"next": "https:\\/\\/api.example.com\\/v1"}', '{"next": "' + BROKER.replace("/", "\\/") + '\\/v1"}'),
        ("to=https%3A%2F%2Fapi.example.com%2Fv1", f"to={quote(BROKER, safe='')}%2Fv1"),
        ("to=https%3a%2f%2fapi.example.com%2fv1", f"to={quote(BROKER, safe='').lower()}%2fv1"),
        ("https://api.example.com/sandbox/v1", f"{SANDBOX}/v1"),
        ("https://api.example.com/sandbox?a=1", f"{SANDBOX}?a=1"),
        ("https://api.example.com/sandboxes", f"{BROKER}/sandboxes"),
        ("https://auth.example.com:8443/v1", f"{AUTH}/v1"),
        ("https://api.example.com https://auth.example.com:8443", f"{BROKER} {AUTH}"),
        ("HTTPS://API.Example.com/v1", f"{BROKER}/v1"),
        ("https://api.example.com:443/v1", f"{BROKER}/v1"),
        ("wss://api.example.com/sandbox/v1", f"{SANDBOX.replace('https', 'wss')}/v1"),
        ("ws://127.0.0.1:8000/v1", f"{symbolic_address('trading_live').replace('https', 'wss')}/v1"),
        ("<//api.example.com/v1?page=2>", f"<{BROKER.removeprefix('https:')}/v1?page=2>"),
        (
            r"https:\u002f\u002Fapi.example.com\u002Fsandbox\u002fv1",
            SANDBOX.replace("/", r"\u002f", 1).replace("/", r"\u002F", 1) + r"\u002fv1",
        ),
        (r"{\u0022host\u0022:\u0022api.example.com\u0022}", r"{\u0022host\u0022:\u0022broker.svc.invalid\u0022}"),
        ("to=https%253A%252F%252Fapi.example.com%252Fv1", f"to={quote(quote(BROKER, safe=''))}%252Fv1"),
        (
            '{"host": "api.example.com", "at": "127.0.0.1:8000"}',
            '{"host": "broker.svc.invalid", "at": "trading-live.svc.invalid"}',
        ),
        ("at auth.example.com:8443 and auth.example.com", "at auth.svc.invalid and auth.svc.invalid"),
        ("https://api.example.com:8443/v1", "https://other.svc.invalid:8443/v1"),
        ("https://auth.example.com/v1", "https://other.svc.invalid/v1"),
        ("http://api.example.com/v1", "http://other.svc.invalid/v1"),
        ("https://api.example.community/v1", None),
        ("https://api.example.com.evil.example/v1 myapi.example.com api.example.com.evil", None),
        ("http://127.0.0.1:80001/ 127.0.0.1 localhost", None),
        ("postgres://user@api.example.com/", "postgres://user@broker.svc.invalid/"),
    ],
)
def test_addresses(interaction, text, symbolic):
    """An address becomes symbolic wherever it occurs, including its prefix; other addresses stay."""
    scrubbed = as_recorded(scrubber(), interaction(body=text.encode(), response={"headers": (("Location", text),)}))
    assert scrubbed.response.body.decode() == (symbolic or text)
    assert dict(scrubbed.response.headers)["Location"] == (symbolic or text)


@pytest.mark.parametrize("domain", ["api.example.com", ".Example.com", "AUTH.example.com"])
def test_domains_of_cookies(interaction, domain):
    """A cookie for the domain of an address becomes one that clients at each symbolic address accept."""
    headers = (("Set-Cookie", f"a=b; Domain={domain}"), ("Set-Cookie", f"a=b; Domain={domain}.evil"))
    scrubbed = as_recorded(scrubber(), interaction(response={"headers": headers})).response.headers
    dot = domain[: domain.startswith(".")]
    assert [value for _, value in scrubbed][:2] == [
        f"a=b; Domain={dot}svc.invalid",
        f"a=b; Domain={domain}.evil",
    ]


@pytest.mark.parametrize("text", ["https://api.example.com/hooks/a-fake-1", "host=API.example.com;pwd=a-fake-1"])
def test_a_secret_with_an_address_in_it(interaction, text):
    """A secret is replaced as a whole although it holds an address, which is symbolic everywhere else."""
    body = f"{text} and https://api.example.com".encode()
    assert as_recorded(scrubber(text), interaction(body=body)).response.body == f"<ACCESS_TOKEN> and {BROKER}".encode()


def test_host(interaction):
    """The Host header follows the URI, also where several addresses share a host."""
    for path, name in (("/v1", "broker"), ("/sandbox/v1", "broker_sandbox")):
        request = {"uri": f"https://api.example.com{path}", "headers": (("Host", "api.example.com"),)}
        scrubbed = as_recorded(scrubber(), interaction(request=request)).request
        assert scrubbed.headers == (("Host", symbolic_address(name).removeprefix("https://")),)
    other = {"uri": "https://other.example.com/", "headers": (("Host", "other.example.com"),)}
    assert as_recorded(scrubber(), interaction(request=other)).request.headers == other["headers"]


def test_header_prefix(interaction):
    """Header names get the prefix of the service document, whatever the real prefix is."""
    request = {
        "headers": (
            ("ACME-API-KEY-ID", "a-fake-key-id"),
            ("acme-api-secret-key", "a-fake-key"),
            ("Acme-Version", "2"),
            ("Acmes", "1"),
        )
    }
    scrubbed = as_recorded(scrubber(header_prefix="ACME"), interaction(request=request)).request
    assert scrubbed.headers == (
        ("SVC-API-KEY-ID", "<API_KEY_ID>"),
        ("SVC-api-secret-key", "<API_SECRET_KEY>"),
        ("SVC-Version", "2"),
        ("Acmes", "1"),
    )


def test_addresses_of_a_later_session(interaction):
    """A scrubber takes the addresses of a session that starts to use its cassette."""
    late = Scrubber(KnownSecrets())
    text = b"https://api.example.com/v1"
    assert as_recorded(late, interaction(body=text)).response.body == text
    late.use_addresses(ADDRESSES, "ACME")
    assert as_recorded(late, interaction(body=text)).response.body == f"{BROKER}/v1".encode()


@given(st.data())
def test_lookup_equals_recording(interactions, data):
    """A request is looked up exactly as it would be recorded."""
    interaction = data.draw(interactions())
    scrubbing = scrubber(TOKEN)
    assert scrubbing.lookup_request(interaction.request) == as_recorded(scrubbing, interaction).request


def test_a_request_that_was_looked_up():
    """A request is recorded as it was looked up, unless its response says that something in it is secret."""
    value = "".join(Random(1).choices(string.ascii_letters + string.digits, k=32))  # noqa: S311 - not a key
    body = json.dumps({"password": "x", "note": value}).encode()
    request = RecordedRequest("POST", "https://h.example/", (), body)
    scrubber = Scrubber(KnownSecrets())
    lookup = scrubber.lookup_request(request)
    assert scrubber.exchange(request, RecordedResponse(200)).request == lookup
    response = RecordedResponse(200, "", (), json.dumps({"access_token": value}).encode())
    recorded = scrubber.exchange(request, response).request
    canaries.assert_absent(recorded.body, value)
    assert scrubber.lookup_request(request) == recorded == Scrubber(scrubber.known).lookup_request(request)


@pytest.mark.parametrize("size", [0, 70_000])
@pytest.mark.parametrize("moment", range(6))
def test_another_thread_looks_up_a_request_meanwhile(size, moment):
    """A request is recorded as it is, at whatever moment another thread looks up another one of whatever size."""
    waiting = []

    class Interrupted(KnownSecrets):
        def __len__(self):
            count = super().__len__()
            if waiting and waiting.pop() is not None:
                shared.lookup_request(RecordedRequest("POST", "https://h.example/other", (), b"x" * size))
            return count

    shared = Scrubber(Interrupted())
    request = RecordedRequest("POST", "https://h.example/one", (), b"x")
    shared.lookup_request(request)
    waiting += ["interrupt", *[None] * moment]
    assert shared.exchange(request, RecordedResponse(200)).request == request


def test_lookup_of_a_body_in_an_unknown_encoding():
    """A request that could not be recorded can be looked up, with its body unchanged and the rest scrubbed."""
    headers = (("Content-Encoding", "unheard-of"), ("X-Echo", TOKEN))
    request = RecordedRequest("POST", f"https://api.example.com/{TOKEN}", headers, b"\x01")
    found = scrubber(TOKEN).lookup_request(request)
    assert found.uri == f"{BROKER}/%3CACCESS_TOKEN%3E"
    assert found.headers == (("Content-Encoding", "unheard-of"), ("X-Echo", "<ACCESS_TOKEN>"))
    assert found.body == b"\x01"


def test_header_bytes_stay(interaction):
    """Bytes beyond ASCII in a header stay, also beside a secret."""
    headers = (("X-A", "é\xff"), ("X-B", f"Ã© {TOKEN} \xff"))
    scrubbed = as_recorded(scrubber(TOKEN), interaction(response={"headers": headers})).response.headers
    assert scrubbed == (("X-A", "é\xff"), ("X-B", "Ã© <ACCESS_TOKEN> \xff"))


@pytest.mark.parametrize(
    ("body", "scrubbed"),
    [
        (b'[{"a": 40112233, "b": "40112233", "c": 1.5}]', b'[{"a": "<PASSWORD>", "b": "<PASSWORD>", "c": 1.5}]'),
        (b"[-40112233,\n 7401122339 ]", b'["<PASSWORD>",\n "<PASSWORD>" ]'),
        (b'\xef\xbb\xbf{"a":40112233}', b'\xef\xbb\xbf{"a":"<PASSWORD>"}'),
        (b'{"a": "[40112233, 2]"}', b'{"a": "[<PASSWORD>, 2]"}'),
        (b"a,40112233\nb,1\n", b"a,<PASSWORD>\nb,1\n"),
    ],
    ids="fields items BOM text CSV".split(),
)
def test_a_secret_of_digits_in_json(interaction, body, scrubbed):
    """JSON stays JSON where a number was secret; text in other formats gets no quotes."""
    recorded = as_recorded(Scrubber(known("40112233", kind="PASSWORD")), interaction(body=body))
    assert recorded.response.body == scrubbed
