"""The public names of the design, with the signatures written there: what notebooks may rely on."""

from __future__ import annotations

import importlib.util
import inspect
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

import toolkit as tk

# As the design writes them. What is built may have further parameters, by keyword and optional.


def client_key(
    client_id, private_key, *, environment, name="default", key_id=None, algorithm=None, audience="token-endpoint"
): ...


def session(
    environment=None,
    credentials=None,
    *,
    cassette=None,
    mode=None,
    settings=None,
    token_store=None,
    timeout=30.0,
    verify=True,
    proxy=None,
    transport=None,
    clock=None,
): ...


SIGNATURES = {
    "KeyPair": lambda key_id, secret_key, *, environment, name="default", scheme="headers": ...,
    "ClientSecret": lambda client_id, client_secret, *, environment, name="default": ...,
    "ClientKey": client_key,
    "Session": session,
    "saved_credentials": lambda: ...,
    "save_credentials": lambda credentials, name: ...,
    "Settings.load": lambda path=None: ...,
    "Session.accounts": lambda self, **params: ...,
    "Session.tokens": lambda self: ...,
    "Session.calls": lambda self: ...,
    "Session.now": lambda self: ...,
    "Session.close": lambda self: ...,
    "tabulate": lambda data, *, numbers="float", dtypes=None, records=None: ...,
    "compare": lambda left, right, *, on=None: ...,
    "Cassette": lambda path, mode="once", *, match_on=None, secrets=(): ...,
    "Cassette.transport": lambda self, inner=None: ...,
    "Cassette.close": lambda self: ...,
    "Cassette.table": lambda self: ...,
    "scan": lambda paths, *, secrets=(): ...,
    "practice": lambda *, accounts=25: ...,
    "panel": lambda environment=None, credentials=None, cassette=None, *, settings=None: ...,
    "offline": lambda: ...,
    "load_ipython_extension": lambda ipython: ...,
    "Secret.reveal": lambda self: ...,
}
ASYNC = {name.replace("Session", "AsyncSession"): shape for name, shape in SIGNATURES.items() if "Session" in name}

# Each error and the one it is a kind of.
ERRORS = {
    "ConfigurationError": "ToolkitError",
    "AccessError": "ToolkitError",
    "InterfaceNotAllowed": "AccessError",
    "CredentialsMismatch": "AccessError",
    "UnsafeAddress": "AccessError",
    "TokenError": "ToolkitError",
    "TokenRefused": "TokenError",
    "TokenResponseInvalid": "TokenError",
    "Unreachable": "ToolkitError",
    "ServiceError": "ToolkitError",
    "CassetteError": "ToolkitError",
    "CassetteMiss": "CassetteError",
    "CassetteCorrupt": "CassetteError",
    "CassetteBusy": "CassetteError",
    "SecretLeak": "CassetteError",
    "TabulationError": "ToolkitError",
}
VALUES = ("Environment", "Interface", "Secret", "Settings", "Token", "Signer", "ToolkitError")
NAMES = sorted({name.partition(".")[0] for name in (*SIGNATURES, *ASYNC)} | {*ERRORS, *VALUES})
ROOT = Path(tk.__file__).parents[1]
HEAVY = ("pandas", "ipywidgets", "IPython", "vcr", "jwt", "cryptography")


def public(name):
    found = tk
    for part in name.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_name(name):
    """Every public name is there, and offered by completion."""
    assert getattr(tk, name) is not None
    assert name in dir(tk)


@pytest.mark.parametrize("name", [*SIGNATURES, *ASYNC])
def test_signature(name):
    """A call as the design writes it means what is written there; what is more is optional, and by keyword."""
    written = dict(inspect.signature({**SIGNATURES, **ASYNC}[name]).parameters)
    built = dict(inspect.signature(public(name)).parameters)
    for parameter in written.values():
        assert parameter.name in built or parameter.name == "ipython"
    order = [name for name in built if name in written]
    assert order == [name for name in written if name in built]
    for parameter in built.values():
        if parameter.name in written:
            meant = written[parameter.name]
            assert (parameter.kind, parameter.default) == (meant.kind, meant.default)
        elif name != "load_ipython_extension":
            assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
            assert parameter.default is not inspect.Parameter.empty


def test_unknown_name():
    """What is no public name is an AttributeError that says so."""
    with pytest.raises(AttributeError, match="no attribute 'sesion'"):
        _ = tk.sesion


def test_enumerations():
    """Environments and interfaces are text of the document's words."""
    environments = {"LIVE": "live", "PAPER": "paper", "BROKER_LIVE": "broker-live", "BROKER_SANDBOX": "broker-sandbox"}
    interfaces = {"TRADING": "trading", "MARKET_DATA": "market_data", "BROKER": "broker", "AUTH": "auth"}
    assert {each.name: each for each in tk.Environment} == environments
    assert {each.name: each for each in tk.Interface} == interfaces


@pytest.mark.parametrize("name", ERRORS)
def test_error_tree(name):
    """Every error is of the tree that the design draws, so that catching its parent catches it."""
    assert getattr(tk, ERRORS[name]) in getattr(tk, name).__bases__


def test_errors_are_all_there():
    """The tree has no more errors than those; a missing interface is an AttributeError as well."""
    built = {name for name, one in vars(tk).items() if isinstance(one, type) and issubclass(one, tk.ToolkitError)}
    assert built == {*ERRORS, "ToolkitError"}
    assert issubclass(tk.InterfaceNotAllowed, AttributeError)
    assert not issubclass(tk.AccessError, AttributeError)


def test_attributes(settings, make_credentials):
    """Credentials, settings, tokens and sessions have the attributes that the design names."""
    pair, secret, key = (
        make_credentials("paper"),
        make_credentials("broker-live"),
        make_credentials("broker-live", "key"),
    )
    assert all(isinstance(each, tk.Secret) for each in (pair.key_id, pair.secret_key, secret.client_secret))
    assert (pair.scheme, pair.name, pair.environment) == ("headers", "default", "paper")
    assert (secret.client_id, key.client_id, key.audience, key.key_id) == (
        "client-1",
        "client-1",
        "token-endpoint",
        None,
    )
    assert isinstance(key.private_key, tk.Signer)
    assert key.algorithm == "ES256"
    assert settings.header_prefix == "SVC"
    assert not any(address.endswith("/") for address in settings.addresses.values())
    assert {"access_token", "issued_at", "expires_at"} <= set(tk.Token.__dataclass_fields__)
    for session, client in ((tk.Session, httpx.Client), (tk.AsyncSession, httpx.AsyncClient)):
        opened = session(credentials=pair, settings=settings)
        assert (opened.environment, opened.credentials, opened.token) == ("paper", pair, None)
        assert isinstance(opened.trading, client)
        assert isinstance(opened.market_data, client)
        assert not hasattr(opened, "broker")


def test_settings():
    """Settings are made of addresses, header prefix and cassettes folder, all of them by keyword."""
    made = tk.Settings(addresses={"auth_sandbox": "https://a.example/"}, header_prefix="SVC", cassettes="cassettes")
    assert dict(made.addresses) == {"auth_sandbox": "https://a.example"}
    assert tk.Settings().header_prefix == "SVC"


def test_cassette(tmp_path):
    """A cassette is a context manager with a length, counts, a table and a transport for any httpx client."""
    with tk.Cassette(
        tmp_path / "one.yaml", "new_episodes", match_on=["method", "uri"], secrets=["QXZ-secret"]
    ) as cassette:
        assert isinstance(cassette.transport(), httpx.BaseTransport)
        assert isinstance(cassette.transport(), httpx.AsyncBaseTransport)
        assert (len(cassette), cassette.play_count, list(cassette.unplayed)) == (0, 0, [])
        assert len(cassette.table()) == 0


def test_practice():
    """A practice service has settings, credentials by name, and counts."""
    service = tk.practice(accounts=2)
    assert {"live", "paper", "broker-secret", "broker-key", "sandbox-secret", "sandbox-key"} <= set(service.credentials)
    assert service.stats.token_requests == 0
    assert "settings" in dir(service)


def test_panel(settings):
    """A panel has the session that it opens."""
    assert "session" in dir(tk.panel(settings=settings))


@pytest.mark.parametrize("name", NAMES)
def test_no_module_of_that_name(name):
    """No module is named like a public name: importing it would put the module in the name's place."""
    assert importlib.util.find_spec(f"toolkit.{name}") is None


def test_import_is_light():
    """`import toolkit` loads none of the heavy libraries, nor does looking around in it."""
    code = (
        f"import sys, toolkit as tk; dir(tk); repr(tk.Session);print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
