"""The public names of the design, with the signatures written there: what notebooks may rely on."""

from __future__ import annotations

import importlib.util
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import toolkit as tk

# As the design writes them. The package may have further parameters, which are optional and given by keyword.


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
    retry=True,
    per_second=None,
): ...


def sweep(
    client,
    keys,
    call,
    *,
    into,
    at_once=16,
    records=None,
    schema=None,
    numbers="float",
    resume=True,
    cluster=None,
): ...


SIGNATURES = {
    "sweep": sweep,
    "KeyPair": lambda key_id, secret_key, *, environment, name="default", scheme="headers": ...,
    "ClientSecret": lambda client_id, client_secret, *, environment, name="default": ...,
    "ClientKey": client_key,
    "Session": session,
    "saved_credentials": lambda: ...,
    "save_credentials": lambda credentials, name: ...,
    "Settings.load": lambda path=None: ...,
    "Retry": lambda tries=4, within=30.0: ...,
    "Session.accounts": lambda self, **params: ...,
    "Session.tokens": lambda self: ...,
    "Session.calls": lambda self: ...,
    "Session.now": lambda self: ...,
    "Session.close": lambda self: ...,
    "tabulate": lambda data, *, numbers="float", dtypes=None, records=None, key=None, schema=None: ...,
    "schema": lambda table: ...,
    "pages": lambda client, path, *, params=None, cursor=None: ...,
    "compare": lambda left, right, *, on=None: ...,
    "Cassette": lambda path, mode="once", *, match_on=None, secrets=(): ...,
    "Cassette.transport": lambda self, inner=None: ...,
    "Cassette.close": lambda self: ...,
    "Cassette.table": lambda self: ...,
    "scan": lambda paths, *, secrets=(): ...,
    "import_cassette": lambda source, name, *, environment=None, only=(), secrets=(), replace=False: ...,
    "drift": lambda cassette, session: ...,
    "publish": lambda notebook, to, *, replace=False, secrets=(): ...,
    "practice": lambda *, accounts=25: ...,
    "lend": lambda session, cluster: ...,
    "panel": lambda environment=None, credentials=None, cassette=None, *, settings=None: ...,
    "offline": lambda: ...,
    "load_ipython_extension": lambda shell: ...,
    "Secret.reveal": lambda self: ...,
}
SIGNATURES |= {name.replace("Session", "AsyncSession"): SIGNATURES[name] for name in SIGNATURES if "Session" in name}

# Each error and its parent.
ERRORS = {
    "ConfigurationError": "ToolkitError",
    "AccessError": "ToolkitError",
    "InterfaceNotAllowed": "AccessError",
    "CredentialsMismatch": "AccessError",
    "UnsafeAddress": "AccessError",
    "NetworkBlocked": "AccessError",
    "TokenError": "ToolkitError",
    "TokenRefused": "TokenError",
    "TokenResponseInvalid": "TokenError",
    "UnknownName": "ConfigurationError",
    "Unreachable": "ToolkitError",
    "ServiceError": "ToolkitError",
    "CassetteError": "ToolkitError",
    "CassetteMiss": "CassetteError",
    "CassetteCorrupt": "CassetteError",
    "CassetteBusy": "CassetteError",
    "SecretLeak": "CassetteError",
    "PublishError": "ToolkitError",
    "SweepError": "ToolkitError",
    "SweepBusy": "SweepError",
    "TabulationError": "ToolkitError",
}
VALUES = ("Environment", "Interface", "Secret", "Settings", "Token", "Signer", "ToolkitError")
NAMES = sorted({name.partition(".")[0] for name in SIGNATURES} | {*ERRORS, *VALUES})
# Charts need matplotlib, which the extra `tests` does not bring.
CHARTS = {"balances", "call_latencies", "token_timeline"}
USABLE = [name for name in tk.__all__ if name not in CHARTS or importlib.util.find_spec("matplotlib")]
ROOT = Path(tk.__file__).parents[1]
HEAVY = ("pandas", "ipywidgets", "IPython", "yaml", "vcr", "jwt", "cryptography", "distributed")


def public(dotted_name):
    """Return a public object by its name, such as "Session.close"."""
    value = tk
    for name in dotted_name.split("."):
        value = getattr(value, name)
    return value


def test_names_are_there_and_offered_by_completion():
    """Every name of the design can be used, and `dir()` and `__all__` list it."""
    assert set(NAMES) <= set(dir(tk))
    assert set(NAMES) <= set(tk.__all__)
    assert [name for name in USABLE if getattr(tk, name, None) is None] == []


def test_no_module_has_a_public_name():
    """No module is named like a public name: importing the module would replace the name."""
    assert [name for name in tk.__all__ if importlib.util.find_spec(f"toolkit.{name}") is not None] == []


def signature_problems(name, design, package):
    """Yield how a signature of the package breaks calls that the design allows."""
    if list(design) != [parameter for parameter in package if parameter in design]:
        yield f"{name}: parameters are {', '.join(package)} instead of {', '.join(design)}"
        return
    for parameter in package.values():
        expected = design.get(parameter.name)
        if expected is None:
            if parameter.kind is not inspect.Parameter.KEYWORD_ONLY or parameter.default is inspect.Parameter.empty:
                yield f"{name}: the further parameter {parameter.name} is not optional and by keyword"
        elif (parameter.kind, parameter.default) != (expected.kind, expected.default):
            yield f"{name}: {parameter} is not {expected} of the same kind"


def test_signatures():
    """A call as the design writes it works: names, order, kinds and defaults of parameters are those written there."""
    problems = []
    for name, design in SIGNATURES.items():
        expected, actual = (dict(inspect.signature(function).parameters) for function in (design, public(name)))
        problems += signature_problems(name, expected, actual)
    assert problems == []


def test_unknown_name():
    """A name that does not exist is an AttributeError that names it."""
    with pytest.raises(AttributeError, match="no attribute 'sesion'"):
        _ = tk.sesion


def test_enumerations():
    """Environments and interfaces are text, in the words of the document."""
    environments = {"LIVE": "live", "PAPER": "paper", "BROKER_LIVE": "broker-live", "BROKER_SANDBOX": "broker-sandbox"}
    interfaces = {"TRADING": "trading", "MARKET_DATA": "market_data", "BROKER": "broker", "AUTH": "auth"}
    assert {member.name: member for member in tk.Environment} == environments
    assert {member.name: member for member in tk.Interface} == interfaces


def test_error_tree():
    """The errors are those of the design, each with the parent drawn there, so that catching the parent catches it."""
    values = {name: getattr(tk, name) for name in USABLE}
    errors = {name: value for name, value in values.items() if isinstance(value, type) and issubclass(value, Exception)}
    assert set(errors) == {*ERRORS, "ToolkitError"}
    assert [name for name, parent in ERRORS.items() if errors[parent] not in errors[name].__bases__] == []
    assert issubclass(tk.InterfaceNotAllowed, AttributeError)
    assert not issubclass(tk.AccessError, AttributeError)


def test_import_is_light():
    """`import toolkit`, completion and a look at `Session` load none of the heavy libraries."""
    code = f"import sys, toolkit as tk; dir(tk); repr(tk.Session); print([n for n in {HEAVY} if n in sys.modules])"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert process.stdout.strip() == "[]"
