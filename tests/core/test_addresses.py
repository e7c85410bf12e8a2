from __future__ import annotations

import pickle
import string
import traceback

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.addresses import Address, is_loopback
from toolkit.core.errors import ConfigurationError, UnsafeAddress

# Text that does not occur in a message, name or address by chance.
CANARIES = st.text("QXZ", min_size=12)
LABELS = st.from_regex(r"[a-z]([a-z0-9_-]{0,20}[a-z0-9])?", fullmatch=True).filter(lambda label: label[:4] != "xn--")
HOSTS = st.one_of(
    st.lists(LABELS, min_size=1, max_size=4).map(".".join),
    st.ip_addresses(v=4).map(str),
    st.ip_addresses(v=6).map(lambda address: f"[{address}]"),
)
SEGMENTS = st.text(string.ascii_letters + string.digits + "-._~", min_size=1, max_size=8).filter(
    lambda segment: segment not in {".", ".."}
)
URLS = st.builds(
    "https://{}{}{}".format,
    HOSTS,
    st.just("") | st.integers(1, 65535).map(":{}".format),
    st.lists(SEGMENTS, max_size=3).map(lambda segments: "".join(f"/{segment}" for segment in segments)),
)


def parse(text):
    return Address.parse(text, setting="The address auth", about="auth")


def refusal(text, kind=(ConfigurationError, UnsafeAddress)):
    with pytest.raises(kind, match=r"^The address auth ") as caught:
        parse(text)
    assert caught.value.next_step
    assert caught.value.about == "auth"
    return caught.value


@given(URLS)
def test_agrees_with_httpx(url):
    """An address is exactly where httpx will send a request."""
    address, seen = parse(url), httpx.URL(str(parse(url)))
    assert address == (seen.scheme, seen.raw_host.decode(), seen.port or 443, seen.path.rstrip("/"))


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://api.example.com", Address("https", "api.example.com", 443, "")),
        ("https://api.example.com/", Address("https", "api.example.com", 443, "")),
        ("https://api.example.com:8443/trading/", Address("https", "api.example.com", 8443, "/trading")),
        ("HTTPS://API.example.com.:443/Path", Address("https", "api.example.com", 443, "/Path")),
        ("http://localhost:8000", Address("http", "localhost", 8000, "")),
        ("http://127.0.0.1", Address("http", "127.0.0.1", 80, "")),
        ("http://[::1]:8000/x", Address("http", "::1", 8000, "/x")),
    ],
)
def test_parts(url, address):
    """An address is an origin and a path prefix without a trailing slash."""
    assert parse(url) == address


@given(
    CANARIES,
    st.sampled_from(
        [
            "https://user:{}@host",
            "https://{}@host",
            "https://user:{}é@host",
            " https://user:{}@host",
            "https://user:{} @host",
            "https://user:{}@host\n",
            "https://user:pass/{}@host",
            "https://user:pass?{}@host",
            "https://user:pass#{}@host",
            "https://user:[{}@host",
            "https:\\\\user:{}@host",
            "user:{}@host",
            "{}",
            "key:{}",
            "https://host?token={}",
            "https://host/path?token={}&x=@",
            "https://host/path#{}",
            "https://host /path?token={}",
            "ftp://host?token={}",
        ]
    ),
)
def test_malformed_shows_no_secret(canary, form):
    """The error about a malformed address shows no password, no query, and no text that is not a URL."""
    error = refusal(form.format(canary))
    shown = [*traceback.format_exception(error), repr(error), repr(vars(error)), repr(pickle.dumps(error))]
    assert canary not in "".join(shown)


@pytest.mark.parametrize(
    "host",
    ["example.com", "127.0.0.1.example.com", "localhost.example.com", "0.0.0.1", "[::]", "10.0.0.1", "128.0.0.1"],
)
def test_plain_http(host):
    """Plain http to another machine is refused, also if its name looks like this machine; names are not looked up."""
    refusal(f"http://{host}", UnsafeAddress)
    assert not is_loopback(host)


@given(URLS, st.data(), st.characters(categories=["Cc", "Cf", "Cs", "Zl", "Zp", "Zs"]) | st.just("\\"))
def test_control_characters(url, data, character):
    """Control, invisible, space and backslash characters are refused, and the error does not print them."""
    place = data.draw(st.integers(0, len(url)))
    error = refusal(url[:place] + character + url[place:], ConfigurationError)
    assert str(error).isprintable() or str(error).replace("\n", "").isprintable()


@pytest.mark.parametrize("dots", [".", "..", "%2e", "%2E%2e", ".%2e"])
@given(before=st.lists(SEGMENTS, max_size=2), after=st.lists(SEGMENTS, max_size=2))
def test_dot_segments(dots, before, after):
    """Path segments of dots are refused, percent-encoded too."""
    refusal("/".join(["https://api.example.com", *before, dots, *after]), ConfigurationError)


@pytest.mark.parametrize(
    "text",
    [
        5,
        "",
        "https:///path",
        "https:api.example.com",
        "//api.example.com",
        "api.example.com:443",
        "ftp://api.example.com",
        "javascript:alert(1)",
        "https://api.example.com?",
        "https://api.example.com/x?y=z",
        "https://api.example.com:0",
        "https://api.example.com:65536",
        "https://.",
        "https://api..example.com",
        "https://api%2eexample.com",
        "https://{trading_live_url}",
        "http://127.1",
        "http://2130706433",
        "https://0x7f.1",
        "https://999.1.1.1",
        "https://[::1",
        "https://::1",
        "https://[api.example.com]",
        "https://[v1.x]",
        "https://[fe80::1%25eth0]",
        "https://" + "a" * 64,
        "https://" + "a." * 127 + "a",
    ],
)
def test_malformed(text):
    """Text that is not an absolute URL of a plain host is refused."""
    refusal(text, ConfigurationError)
