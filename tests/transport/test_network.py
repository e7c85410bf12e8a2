from __future__ import annotations

import ssl
import sys
from secrets import token_urlsafe

import httpx
import pytest

from toolkit.core.errors import ConfigurationError, UnsafeAddress
from toolkit.core.secret import REGISTER, Secret
from toolkit.transport.network import LANE, Network

PROXY = "http://proxy.example.com:3128"
VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture
def transports(monkeypatch):
    """Replace the transports that a network makes by some that do not leave this process, and return their list."""
    made = []

    class Carrier(httpx.MockTransport):
        def __init__(self, *, verify, proxy, limits):
            assert limits.max_connections is None  # a limit would make callers queue within httpx
            super().__init__(lambda request: self.urls.append(str(request.url)) or httpx.Response(200))
            self.verify, self.proxy = verify, None if proxy is None else str(proxy.url)
            self.urls, self.closed = [], 0
            made.append(self)

        def close(self):
            self.closed += 1

    for name in ("HTTPTransport", "AsyncHTTPTransport"):
        monkeypatch.setattr(httpx, name, Carrier)
    return made


def carried(transports):
    """Return the URLs that were called through each proxy, or None."""
    urls = {}
    for transport in transports:
        urls.setdefault(transport.proxy, []).extend(transport.urls)
    return urls


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def get(network, *urls):
    for url in urls:
        network.handle_request(httpx.Request("GET", url))


def proxy_of(transports, url, **settings):
    """Return the proxy by which a URL is reached, or None."""
    get(Network(is_async=False, **settings), url)
    return transports[-1].proxy


def test_proxy_argument(transports):
    """The proxy argument is used for everything except loopback; closing closes each transport once."""
    network = Network(is_async=False, proxy=PROXY)
    remote = ["https://one.example.com/", "https://192.0.2.1/", "https://two.example.com/"]
    loopback = ["http://127.0.0.1:8000/", "http://localhost/", "http://[::1]:8000/", "http://127.9.9.9/"]
    get(network, *remote, *loopback)
    assert carried(transports) == {PROXY: remote, None: loopback}
    network.close()
    network.close()
    assert {transport.closed for transport in transports} == {1}


def test_requests_of_different_lanes_share_no_pool(transports):
    """A pool looks at all of its idle connections for every request, so many callers use one each."""
    network = Network(is_async=False)
    for lane in (None, 0, 1, 1, 2):
        extensions = {} if lane is None else {LANE: lane}
        network.handle_request(httpx.Request("GET", "https://service.example.com", extensions=extensions))
    assert len(transports) == 3


@pytest.mark.parametrize(
    ("variables", "proxy"),
    [
        ({"HTTPS_PROXY": PROXY}, PROXY),
        ({"https_proxy": PROXY}, PROXY),
        ({"ALL_PROXY": PROXY}, PROXY),
        ({"HTTPS_PROXY": PROXY, "ALL_PROXY": "http://other.example.com:1"}, PROXY),
        ({"HTTPS_PROXY": "proxy.example.com:3128"}, PROXY),
        ({"HTTPS_PROXY": ""}, None),
        ({"HTTP_PROXY": PROXY}, None),
        ({}, None),
    ],
)
def test_proxy_variables(transports, monkeypatch, variables, proxy):
    """The proxy variables are those of httpx, and do not apply to loopback."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert proxy_of(transports, "https://one.example.com/") == proxy
    assert proxy_of(transports, "https://127.0.0.1/") is None
    assert proxy_of(transports, "http://localhost:8000/") is None


@pytest.mark.parametrize(
    ("no_proxy", "direct", "proxied"),
    [
        ("one.example.com", ["https://one.example.com/", "https://sub.one.example.com/"], ["https://two.example.com/"]),
        (".example.com", ["https://one.example.com/"], ["https://one.example.org/"]),
        ("other.org, example.com", ["https://one.example.com/", "https://other.org/"], ["https://another.net/"]),
        ("*", ["https://one.example.com/", "https://192.0.2.1/"], []),
        ("one.example.com:8443", ["https://one.example.com:8443/"], ["https://one.example.com/"]),
        ("192.0.2.1", ["https://192.0.2.1/"], ["https://192.0.2.2/"]),
    ],
)
def test_no_proxy(transports, monkeypatch, no_proxy, direct, proxied):
    """Hosts and ports in NO_PROXY are reached directly, whatever the order of calls."""
    monkeypatch.setenv("HTTPS_PROXY", PROXY)
    monkeypatch.setenv("NO_PROXY", no_proxy)
    for urls in (direct + proxied, proxied + direct):
        transports.clear()
        get(Network(is_async=False), *urls)
        called = carried(transports)
        assert set(called.get(None, [])) == set(direct)
        assert set(called.get(PROXY, [])) == set(proxied)


def test_password_of_a_proxy(transports):
    """The password of a proxy is a secret of the process from the first call on."""
    text = token_urlsafe(16)
    assert proxy_of(transports, "https://one.example.com/", proxy=f"http://desk:{text}@proxy.example.com:3128") == PROXY
    assert REGISTER.kind_of(Secret(text)) == "PASSWORD"


@pytest.mark.parametrize(
    "proxy",
    ["ftp://user:QXZ-password@proxy.example.com", "http://user:QXZ-password@proxy.example.com:port", "nonsense", 5],
)
def test_bad_proxy(proxy):
    """A proxy that httpx cannot use is refused without quoting it: it may hold a password."""
    with pytest.raises(ConfigurationError, match="proxy") as caught:
        get(Network(is_async=False, proxy=proxy), "https://one.example.com/")
    assert "QXZ" not in str(caught.value)


def test_socks_proxy(monkeypatch):
    """A SOCKS proxy without its package is an error that says what to install."""
    monkeypatch.setitem(sys.modules, "socksio", None)
    with pytest.raises(ConfigurationError, match=r"httpx\[socks\]"):
        get(Network(is_async=False, proxy="socks5://127.0.0.1:1080"), "https://one.example.com/")


def test_plain_http_needs_no_authorities(transports):
    """Authorities are read for https only, so that a call of this machine works without any."""
    network = Network(is_async=False, verify="missing.pem")
    get(network, "http://localhost/")
    with pytest.raises(ConfigurationError, match=r"missing\.pem"):
        get(network, "https://localhost/")


def unverified():
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


@pytest.mark.parametrize("verify", [False, unverified()], ids=["False", "context"])
def test_unverified(transports, verify):
    """Without verification only this machine can be called."""
    network = Network(is_async=False, verify=verify)
    get(network, "https://127.0.0.1:8000/", "https://localhost/")
    for url in ("https://one.example.com/", "https://192.0.2.1/", "https://localhost.example.com/"):
        with pytest.raises(UnsafeAddress, match="verify"):
            get(network, url)
        with pytest.raises(UnsafeAddress, match="verify"):
            get(network, url)
    contexts = {transport.verify for transport in transports}
    assert len(contexts) == 1
    assert contexts == {verify} or not verify
    assert contexts.pop().verify_mode is ssl.CERT_NONE
