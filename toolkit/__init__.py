"""Service access toolkit: call, record, replay and tabulate a family of financial services.

>>> import toolkit as tk
>>> session = tk.Session("broker-sandbox", cassette="tour")
>>> session.accounts()

Importing this loads httpx and no more; pandas, widgets, cryptography and vcrpy load when they are used.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from toolkit.assertion import Signer
from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.leaks import scan
from toolkit.credentials import ClientKey, ClientSecret, KeyPair
from toolkit.errors import (
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
from toolkit.secret import Secret
from toolkit.service import Environment, Interface
from toolkit.session import AsyncSession, Session
from toolkit.settings import Settings
from toolkit.tokens import Token

if TYPE_CHECKING:
    from toolkit.notebook.magics import load_ipython_extension, unload_ipython_extension
    from toolkit.notebook.panel import panel
    from toolkit.practice_service import practice
    from toolkit.profiles import save_credentials, saved_credentials
    from toolkit.tables import compare, tabulate

__version__ = "0.1.0"

_LATE = {
    "compare": "toolkit.tables",
    "load_ipython_extension": "toolkit.notebook.magics",
    "panel": "toolkit.notebook.panel",
    "practice": "toolkit.practice_service",
    "save_credentials": "toolkit.profiles",
    "saved_credentials": "toolkit.profiles",
    "tabulate": "toolkit.tables",
    "unload_ipython_extension": "toolkit.notebook.magics",
}

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
    "compare",
    "load_ipython_extension",
    "offline",
    "panel",
    "practice",
    "save_credentials",
    "saved_credentials",
    "scan",
    "tabulate",
    "unload_ipython_extension",
]


def offline() -> None:
    """From here on replay only, in this process and those it starts, as TOOLKIT_OFFLINE=1 does."""
    os.environ["TOOLKIT_OFFLINE"] = "1"


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return getattr(importlib.import_module(_LATE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE})
