"""Known secrets become placeholders everywhere, addresses become symbolic, and everything else stays."""

from __future__ import annotations

import secrets
from urllib.parse import quote, unquote_to_bytes

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recordings import as_recorded

import toolkit as tk
from toolkit.core.document import symbolic_address
from toolkit.core.secret import Secret
from toolkit.scrubbing.known import KnownSecrets
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


def test_placeholders_in_urls(interaction):
    """A placeholder in a URL is percent-encoded as clients do, so that links in a replay lead to recordings."""
    headers = (("Location", f"/a?t={TOKEN}"), ("Link", f"<https://h.example/?t={TOKEN}>; rel=next"), ("X-A", TOKEN))
    response = {"headers": headers, "reason": TOKEN}
    called = interaction(f"/{TOKEN}?t={TOKEN}", response=response)
    with_user = called.request._replace(uri=called.request.uri.replace("//", "//me:a-fake-password@"))
    scrubbed = as_recorded(scrubber(TOKEN), called._replace(request=with_user))
    assert scrubbed.response.reason == "<ACCESS_TOKEN>"
    assert scrubbed.request.uri == f"{BROKER}/%3CACCESS_TOKEN%3E?t=%3CACCESS_TOKEN%3E"
    assert [value for _, value in scrubbed.response.headers] == [
        "/a?t=%3CACCESS_TOKEN%3E",
        "<https://h.example/?t=%3CACCESS_TOKEN%3E>; rel=next",
        "<ACCESS_TOKEN>",
    ]


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


BROKER, SANDBOX, AUTH = (symbolic_address(name) for name in ("broker", "broker_sandbox", "auth"))


@pytest.mark.parametrize(
    ("text", "symbolic"),
    [
        ("https://api.example.com/v1/accounts", f"{BROKER}/v1/accounts"),
        ("https://api.example.com", BROKER),
        ("see https://api.example.com.", f"see {BROKER}."),
        ('{"next": "https:\\/\\/api.example.com\\/v1"}', '{"next": "' + BROKER.replace("/", "\\/") + '\\/v1"}'),
        ("to=https%3A%2F%2Fapi.example.com%2Fv1", f"to={quote(BROKER, safe='')}%2Fv1"),
        ("https://api.example.com/sandbox/v1", f"{SANDBOX}/v1"),
        ("https://api.example.com/sandboxes", f"{BROKER}/sandboxes"),
        ("https://auth.example.com:8443/v1", f"{AUTH}/v1"),
        ("HTTPS://API.Example.com/v1", f"{BROKER}/v1"),
        ("https://api.example.com:443/v1", f"{BROKER}/v1"),
        ("wss://api.example.com/sandbox/v1", f"{SANDBOX.replace('https', 'wss')}/v1"),
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


def test_header_prefix(interaction):
    """Header names get the prefix of the service document, whatever the real prefix is."""
    request = {
        "headers": (
            ("ACME-API-KEY-ID", "a-fake-key-id"),
            ("acme-api-secret-key", "a-fake-key"),
            ("Acme-Version", "2"),
            ("Acmes", "1"),
            ("Host", "api.example.com"),
        )
    }
    scrubbed = as_recorded(scrubber(header_prefix="ACME"), interaction(request=request)).request
    assert scrubbed.headers == (
        ("SVC-API-KEY-ID", "<API_KEY_ID>"),
        ("SVC-api-secret-key", "<API_SECRET_KEY>"),
        ("SVC-Version", "2"),
        ("Acmes", "1"),
        ("Host", "broker.svc.invalid"),
    )


def test_placeholders_of_headers_count_in_a_replay(tmp_path):
    """A credential in a header has its number in a replay too, so that the next one of its kind is found."""
    first, second = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
    service = httpx.MockTransport(lambda request: httpx.Response(200, text=request.url.path))
    for mode in ("all", "none"):
        cassette = tk.Cassette(tmp_path / "a.yaml", mode, scrubber=Scrubber(KnownSecrets()))
        with httpx.Client(transport=cassette.transport(service), base_url="https://h.example") as client:
            assert client.get("/a", headers={"X-Api-Key": first}).text == "/a"
            assert client.get(f"/b?api_key={second}").text == "/b"
    assert b"<API_KEY-2>" in unquote_to_bytes((tmp_path / "a.yaml").read_bytes())


@given(st.data())
def test_lookup_equals_recording(interactions, data):
    """A request is looked up exactly as it would be recorded."""
    interaction = data.draw(interactions())
    scrubbing = scrubber(TOKEN)
    assert scrubbing.lookup_request(interaction.request) == as_recorded(scrubbing, interaction).request


@pytest.mark.parametrize(
    ("body", "scrubbed"),
    [
        (b'[{"a": 40112233, "b": "40112233", "c": 1.5}]', b'[{"a": "<PASSWORD>", "b": "<PASSWORD>", "c": 1.5}]'),
        (b"[-40112233,\n 7401122339 ]", b'["<PASSWORD>",\n "<PASSWORD>" ]'),
        (b'\xef\xbb\xbf{"a":40112233}', b'\xef\xbb\xbf{"a":"<PASSWORD>"}'),
        (b'{"a": "[40112233, 2]"}', b'{"a": "[<PASSWORD>, 2]"}'),
        (b"a,40112233,c\nb,1\n", b"a,<PASSWORD>,c\nb,1\n"),
    ],
    ids="fields items BOM text CSV".split(),
)
def test_a_secret_of_digits_in_json(interaction, body, scrubbed):
    """JSON stays JSON where a number was secret; text in other formats gets no quotes."""
    recorded = as_recorded(Scrubber(known("40112233", kind="PASSWORD")), interaction(body=body))
    assert recorded.response.body == scrubbed
