"""Service access toolkit: call, record, replay and tabulate a family of financial services.

>>> import toolkit as tk
>>> session = tk.Session("broker-sandbox", cassette="tour")
>>> session.accounts()

Importing this loads next to nothing: each public name loads what it needs when it is first used, so
that a replay never loads cryptography, and a script without tables never loads pandas.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolkit.auth.credentials import ClientKey, ClientSecret, KeyPair
    from toolkit.auth.keys import Signer
    from toolkit.auth.profiles.saving import remove_credentials, save_credentials, saved_credentials
    from toolkit.auth.tokens.token import Token
    from toolkit.cassettes.cassette import Cassette
    from toolkit.core.document import Environment, Interface
    from toolkit.core.errors import (
        AccessError,
        CassetteBusy,
        CassetteCorrupt,
        CassetteError,
        CassetteMiss,
        ConfigurationError,
        CredentialsMismatch,
        InterfaceNotAllowed,
        SecretLeak,
        ServiceError,
        TabulationError,
        TokenError,
        TokenRefused,
        TokenResponseInvalid,
        ToolkitError,
        Unreachable,
        UnsafeAddress,
    )
    from toolkit.core.secret import Secret
    from toolkit.local.settings import Settings
    from toolkit.notebook.magics import load_ipython_extension, unload_ipython_extension
    from toolkit.notebook.panel.widget import panel
    from toolkit.notebook.progress import progress
    from toolkit.practice_service import practice
    from toolkit.scrubbing.findings import scan
    from toolkit.scrubbing.rules.model import Rules
    from toolkit.session.session import AsyncSession, Session
    from toolkit.tables.charts import balances, call_latencies, token_timeline
    from toolkit.tables.tabulation import compare, tabulate

__version__ = "0.1.0"

_HOMES = {
    "toolkit.cassettes.cassette": ("Cassette",),
    "toolkit.scrubbing.findings": ("scan",),
    "toolkit.scrubbing.rules.model": ("Rules",),
    "toolkit.tables.charts": ("balances", "call_latencies", "token_timeline"),
    "toolkit.auth.credentials": ("ClientKey", "ClientSecret", "KeyPair"),
    "toolkit.core.errors": (
        "AccessError",
        "CassetteBusy",
        "CassetteCorrupt",
        "CassetteError",
        "CassetteMiss",
        "ConfigurationError",
        "CredentialsMismatch",
        "InterfaceNotAllowed",
        "SecretLeak",
        "ServiceError",
        "TabulationError",
        "TokenError",
        "TokenRefused",
        "TokenResponseInvalid",
        "ToolkitError",
        "Unreachable",
        "UnsafeAddress",
    ),
    "toolkit.auth.keys": ("Signer",),
    "toolkit.notebook.progress": ("progress",),
    "toolkit.notebook.magics": ("load_ipython_extension", "unload_ipython_extension"),
    "toolkit.notebook.panel.widget": ("panel",),
    "toolkit.practice_service": ("practice",),
    "toolkit.auth.profiles.saving": ("remove_credentials", "save_credentials", "saved_credentials"),
    "toolkit.core.secret": ("Secret",),
    "toolkit.core.document": ("Environment", "Interface"),
    "toolkit.session.session": ("AsyncSession", "Session"),
    "toolkit.local.settings": ("Settings",),
    "toolkit.tables.tabulation": ("compare", "tabulate"),
    "toolkit.auth.tokens.token": ("Token",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AccessError",
    "AsyncSession",
    "Cassette",
    "CassetteBusy",
    "CassetteCorrupt",
    "CassetteError",
    "CassetteMiss",
    "ClientKey",
    "ClientSecret",
    "ConfigurationError",
    "CredentialsMismatch",
    "Environment",
    "Interface",
    "InterfaceNotAllowed",
    "KeyPair",
    "Rules",
    "Secret",
    "SecretLeak",
    "ServiceError",
    "Session",
    "Settings",
    "Signer",
    "TabulationError",
    "Token",
    "TokenError",
    "TokenRefused",
    "TokenResponseInvalid",
    "ToolkitError",
    "Unreachable",
    "UnsafeAddress",
    "balances",
    "call_latencies",
    "compare",
    "load_ipython_extension",
    "offline",
    "panel",
    "practice",
    "progress",
    "remove_credentials",
    "save_credentials",
    "saved_credentials",
    "scan",
    "tabulate",
    "token_timeline",
    "unload_ipython_extension",
]


def offline() -> None:
    """From here on replay only, in this process and those it starts, as TOOLKIT_OFFLINE=1 does."""
    os.environ["TOOLKIT_OFFLINE"] = "1"


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(home), name)
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
