"""Whose certificates are trusted, and what errors say: with real TLS on loopback."""

from __future__ import annotations

import asyncio
import warnings
from pathlib import Path

import certifi
import httpx
import pytest
from tls_servers import DAY, Authority, tls_server, tunnel

import toolkit as tk
from toolkit.core.errors import ConfigurationError
from toolkit.transport.certificates import make_context, refusal
from toolkit.transport.failures import Advice, as_toolkit_error, note_of
from toolkit.transport.network import Network

URL = httpx.URL("https://broker.example.com/v1/accounts")
SYSTEM, FILE = 'verify="system"', 'verify="/path/to/ca.pem"'


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch):
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


def get(url, *, is_async=False, **options):
    """Make a request and return its status; warnings about what the toolkit does are errors."""

    async def awaited():
        async with httpx.AsyncClient(transport=Network(is_async=True, **options)) as client:
            return (await client.get(url)).status_code

    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        if is_async:
            return asyncio.run(awaited())
        with httpx.Client(transport=Network(is_async=False, **options)) as client:
            return client.get(url).status_code


def refused(url, **options):
    with pytest.raises(httpx.ConnectError) as caught:
        get(url, **options)
    return caught.value


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_system(authority, monkeypatch, is_async):
    """What the machine trusts is trusted, and not before; SSL_CERT_FILE says so where OpenSSL decides."""
    with tls_server(authority.certify("127.0.0.1")) as (port, heads):
        url = f"https://127.0.0.1:{port}/"
        refused(url, is_async=is_async, verify="system")
        assert heads == []
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
        assert get(url, is_async=is_async, verify="system") == 200


@pytest.mark.parametrize("form", [str, Path], ids=["text", "Path"])
def test_file(authority, form):
    """A file of authorities is trusted, and nothing else; neither way of naming it warns."""
    other = Authority(authority.folder, "Other")
    with tls_server(authority.certify("127.0.0.1")) as (port, _):
        url = f"https://127.0.0.1:{port}/"
        assert get(url, verify=form(authority.file)) == 200
        error = refused(url, verify=form(other.file))
    assert str(other.file) in note_of(error, Advice)
    assert SYSTEM in note_of(error, Advice)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("is_secure", [False, True], ids=["http-proxy", "https-proxy"])
def test_proxied(authority, is_async, is_secure):
    """Through a proxy, the service's certificate is checked in the same way, and so is that of an https:// proxy."""
    own = authority.certify("127.0.0.1") if is_secure else None
    with tls_server(authority.certify("broker.example.com")) as (port, heads), tunnel(port, own) as (proxy, hosts):
        assert get(URL, is_async=is_async, verify=authority.file, proxy=proxy) == 200
        other = Authority(authority.folder, "Other")
        error = refused(URL, is_async=is_async, verify=str(other.file), proxy=proxy)
    assert "certificate" in refusal(error).what
    assert len(heads) == 1
    assert hosts[0] == "broker.example.com:443"


CASES = {
    "unknown authority": ({}, "not trusted here: ", [SYSTEM, FILE, "TOOLKIT_VERIFY"], []),
    "expired": ({"begins": -3 * DAY, "ends": -2 * DAY}, "expired", ["clock"], ["verify"]),
    "not yet valid": ({"begins": DAY, "ends": 2 * DAY}, "not valid yet", ["clock"], ["verify"]),
    "another host": ({"hosts": ["other.example.com"], "asked": "localhost"}, "another host", ["address"], ["verify"]),
    "another address": ({"hosts": ["192.0.2.1"]}, "another host", ["address"], ["verify"]),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("verify", ["system", True])
def test_refusals(authority, monkeypatch, case, verify):
    """Each reason has words of its own, and verify is named only where it helps."""
    options, reason, steps, absent = CASES[case]
    if case != "unknown authority":
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    elif verify == "system":
        steps, absent = [FILE, "this machine"], [SYSTEM]
    options = dict(options)
    hosts, asked = options.pop("hosts", ["127.0.0.1"]), options.pop("asked", "127.0.0.1")
    with tls_server(authority.certify(*hosts, **options)) as (port, _):
        raw = refused(f"https://{asked}:{port}/", verify=verify)
    error = as_toolkit_error(raw, URL)
    assert reason in error.what
    assert error.about == "verify"
    assert not error.is_passing
    assert [step for step in steps if step not in error.next_step] == []
    assert [step for step in absent if step in error.next_step] == []
    assert raw.__notes__ == [error.next_step]  # callers of an httpx client see it too


@pytest.mark.parametrize("verify", [None, 1, b"ca.pem", object()])
def test_malformed(verify):
    """Another type is refused at once; httpx would take 1 for True."""
    with pytest.raises(ConfigurationError, match="verify must be"):
        Network(is_async=False, verify=verify)


@pytest.mark.parametrize("verify", ["system", True])
def test_unreadable_variable(monkeypatch, tmp_path, verify):
    """A bad file in SSL_CERT_FILE is an error of the toolkit, which names the variable."""
    (tmp_path / "ca.pem").write_text("no certificate")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    with pytest.raises(ConfigurationError) as caught:
        make_context(verify)
    assert "SSL_CERT_FILE" in caught.value.next_step
    assert caught.value.next_step.endswith("install the system's ca-certificates package.")


@pytest.mark.parametrize("from_settings", [False, True], ids=["argument", "settings"])
def test_session(authority, monkeypatch, from_settings):
    """A session, its token requests and a broker's calls trust what verify says."""
    token = b'{"access_token": "QXZ-access-token", "expires_in": 890, "token_type": "Bearer"}'
    with tls_server(
        authority.certify("127.0.0.1"), lambda head: token if head.startswith(b"POST") else b"[]"
    ) as server:
        address = f"https://127.0.0.1:{server[0]}"
        settings = tk.Settings(
            {"broker_sandbox": address, "auth_sandbox": address}, verify=authority.file if from_settings else None
        )
        credentials = tk.ClientSecret("desk", "QXZ-not-a-secret", environment="broker-sandbox")
        verify = True if from_settings else authority.file
        with tk.Session(credentials=credentials, settings=settings, verify=verify) as session:
            assert len(session.accounts()) == 0
        with (
            tk.Session(credentials=credentials, settings=settings, verify=certifi.where()) as session,
            pytest.raises(tk.Unreachable, match=r"The service at .*not trusted") as caught,
        ):
            session.accounts()
    assert not caught.value.is_passing
    assert [b"POST /v1/oauth2/token" in head for head in server[1]] == [True, False]
    assert b"GET /v1/accounts" in server[1][1]  # after the form of the token request
