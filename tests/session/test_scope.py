"""Which requests of an interface may be sent, and where they go."""

from __future__ import annotations

import string

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.document import Interface
from toolkit.core.errors import CredentialsMismatch, UnsafeAddress
from toolkit.session.scope import Scope

SYMBOLIC = "https://broker.svc.invalid"


def scope(address="https://broker.example.com", *, header_prefix="SVC"):
    return Scope(Interface.BROKER, own=address, symbolic=SYMBOLIC, header_prefix=header_prefix, others=())


def path_of(url, of=None, **request):
    return (of or scope()).check(httpx.Request("GET", url, **request)).partition("?")[0] or "/"


SEGMENT = st.text(string.ascii_letters + string.digits + "-._~!$'()*,@ é&+", min_size=1).filter(
    lambda text: text not in (".", "..")
)


@pytest.mark.parametrize(
    "url",
    [
        "https://BROKER.Example.COM/v1/accounts",
        "HTTPS://broker.example.com/v1/accounts",
        "https://broker.example.com:443/v1/accounts",
        "https://broker.example.com/v1/accounts?next=https://elsewhere.example.com/../",
        "https://broker.example.com/v1/accounts#part",
        "https://broker.example.com/v0/../v1/accounts",
    ],
)
def test_same_origin(url):
    """Case, the default port, a query and a fragment make no difference."""
    assert path_of(url) == "/v1/accounts"


@pytest.mark.parametrize(
    "url",
    [
        "http://broker.example.com/v1/accounts",
        "https://broker.example.com:8443/v1/accounts",
        "https://broker.example.com./v1/accounts",
        "https://broker.example.com.elsewhere.example/v1/accounts",
        "https://api.broker.example.com/v1/accounts",
        "https://example.com/v1/accounts",
        "https://elsewhere.example/https://broker.example.com/v1/accounts",
        "https://broker.example.com%2felsewhere.example/v1/accounts",
        "https://brökér.example.com/v1/accounts",
        "https://127.0.0.1/v1/accounts",
        "ftp://broker.example.com/v1/accounts",
    ],
)
def test_other_addresses(url):
    """Addresses that only look like the interface's are refused."""
    with pytest.raises(UnsafeAddress, match=r"broker interface's address https://broker\.example\.com"):
        path_of(url)


@pytest.mark.parametrize(
    "name", ["Authorization", "authorization", "PROXY-AUTHORIZATION", "ACME-API-KEY-ID", "acme-api-secret-key"]
)
def test_own_credentials(name):
    """A request with credentials of its own is refused, and the error does not repeat them."""
    with pytest.raises(CredentialsMismatch, match=f"(?i){name}") as caught:
        path_of("https://broker.example.com/", scope(header_prefix="ACME"), headers={name: "QXZ"})
    assert "QXZ" not in str(caught.value)


CLIMBS = [
    "..",
    "%2e%2e",
    "%2E%2e",
    ".%2e",
    "%2e.",
    "a/%2e%2e/%2e%2e",
    "..%2f",
    "%2e%2e%2fbroker",
    "..%5c",
    "x%5c..%5c..",
    "%2e%2e;v=1",
    "..;/admin",
    "%2e%2e%2f%2e%2e",
]


@pytest.mark.parametrize(
    "path", [*(f"/base/{climb}/admin" for climb in CLIMBS), "/baseline/v1", "/bas", "/", "/base%2f..%2fv1"]
)
def test_a_path_beside_the_prefix(path):
    """Neither dot segments, in whatever spelling a server may resolve, nor the same letters lead out of a prefix."""
    with pytest.raises(UnsafeAddress):
        path_of(f"https://api.example.com{path}", scope("https://api.example.com/base"))


def test_to_send():
    """A symbolic request goes to the configured address, prefix and Host included, with its stream and extensions."""
    request = httpx.Request(
        "POST",
        "https://broker.svc.invalid/v1/orders?page=2",
        headers={"X-One": "1"},
        content=b"order",
        extensions={"timeout": {"read": 3.0}},
    )
    sent = scope("https://api.example.com:8443/base").to_send(request)
    assert str(sent.url) == "https://api.example.com:8443/base/v1/orders?page=2"
    assert sent.headers["Host"] == "api.example.com:8443"
    assert (sent.headers["X-One"], sent.headers["Content-Length"]) == ("1", "5")
    assert sent.stream is request.stream
    assert sent.extensions == request.extensions
    assert [name.lower() for name, _ in sent.headers.raw].count(b"host") == 1


@given(st.sampled_from(["https://broker.example.com", "https://api.example.com/base"]), st.lists(SEGMENT, max_size=3))
def test_round_trip(address, segments):
    """A URL that was recorded and is sent again goes to the same address."""
    checked = scope(address)
    request = httpx.Request("GET", f"{address}/{'/'.join(segments)}?page=2")
    recorded = checked.symbolic_text + checked.check(request)
    assert recorded.startswith(f"{SYMBOLIC}/")
    again = checked.to_send(httpx.Request("GET", recorded))
    assert again.url == request.url
    assert checked.check(httpx.Request("GET", recorded)) == checked.check(request)


@pytest.mark.parametrize(("name", "value"), [("target", b"/v1/accounts"), ("sni_hostname", "other.example.com")])
def test_diverting_extensions(name, value):
    """The httpx extensions that replace the path, or the name that a certificate must have, are refused."""
    with pytest.raises(UnsafeAddress, match=name):
        path_of("https://broker.example.com/v1/accounts", extensions={name: value})


@pytest.mark.parametrize(
    ("address", "host", "is_own"),
    [
        ("https://broker.example.com", "broker.example.com", True),
        ("https://broker.example.com", "broker.svc.invalid", True),
        ("https://broker.example.com:8443", "broker.example.com:8443", True),
        ("http://[::1]:8000", "[::1]:8000", True),
        ("https://broker.example.com:8443", "broker.example.com", False),
        ("https://broker.example.com", "broker.example.com:444", False),
        ("https://broker.example.com", "other.example.com", False),
        ("https://broker.example.com", "", False),
    ],
)
def test_host_header(address, host, is_own):
    """A Host header names the interface's own address, or the request goes to another service behind it."""
    checked = scope(address)
    if is_own:
        assert path_of(f"{address}/v1/accounts", checked, headers={"Host": host}) == "/v1/accounts"
    else:
        with pytest.raises(UnsafeAddress, match="Host header"):
            path_of(f"{address}/v1/accounts", checked, headers={"Host": host})
