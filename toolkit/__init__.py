"""Service access toolkit: call a family of financial services, record and replay the calls, and make tables from the
responses.

>>> import toolkit as tk
>>> session = tk.Session("broker-sandbox", cassette="tour")
>>> session.accounts()

Importing this package loads very little: each public name is loaded when it is first used, so a replay never loads
cryptography, and a script without tables never loads pandas.

The package has fourteen subpackages ("rooms"), each with one purpose, in seven layers ("floors"). A room imports only
from itself and from floors below it. The docstring in its `__init__` describes what the room does, step by step, and
which modules do it.

- floor 7: `cli` (the command line), `sweeps` (one call for each of many keys; sessions on the workers of a cluster)
- floor 6: `notebook` (panel, masking), `sharing` (published copies, tests that replay recordings), `practice_service`
  (a local service to practise with)
- floor 5: `session` (one caller in one environment, and the steps of a call)
- floor 4: `cassettes` (replay and recording)
- floor 3: `auth` (credentials, keys, tokens, profiles), `scrubbing` (finds secrets, replaces them and checks that none
  are left), `tables` (and charts), `verification` (checks that notebooks still give their stored outputs)
- floor 2: `local` (settings, files, locks, progress), `transport` (sync and async drivers, the network, retries, pages)
- floor 1: `core` (constants from the service document, errors, secrets, clock, ledger, HTML, text formatting)
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from toolkit.core.secret import REGISTER

if TYPE_CHECKING:  # the public names for type checkers; `as` marks them as exported
    from toolkit.auth.kinds import ClientKey as ClientKey
    from toolkit.auth.kinds import ClientSecret as ClientSecret
    from toolkit.auth.kinds import KeyPair as KeyPair
    from toolkit.auth.private_keys import Signer as Signer
    from toolkit.auth.profiles.saving import remove_credentials as remove_credentials
    from toolkit.auth.profiles.saving import save_credentials as save_credentials
    from toolkit.auth.profiles.saving import saved_credentials as saved_credentials
    from toolkit.auth.tokens.token import Token as Token
    from toolkit.cassettes.cassette import Cassette as Cassette
    from toolkit.cassettes.catalog.checking import check_cassettes as check_cassettes
    from toolkit.cassettes.catalog.comparing import compare_cassettes as compare_cassettes
    from toolkit.cassettes.catalog.facts import list_cassettes as list_cassettes
    from toolkit.cassettes.catalog.rewriting import prune_cassette as prune_cassette
    from toolkit.cassettes.catalog.rewriting import scrub_cassette as scrub_cassette
    from toolkit.cassettes.importing import import_cassette as import_cassette
    from toolkit.core.document import Environment as Environment
    from toolkit.core.document import Interface as Interface
    from toolkit.core.errors import AccessError as AccessError
    from toolkit.core.errors import CassetteBusy as CassetteBusy
    from toolkit.core.errors import CassetteCorrupt as CassetteCorrupt
    from toolkit.core.errors import CassetteError as CassetteError
    from toolkit.core.errors import CassetteMiss as CassetteMiss
    from toolkit.core.errors import ConfigurationError as ConfigurationError
    from toolkit.core.errors import CredentialsMismatch as CredentialsMismatch
    from toolkit.core.errors import InterfaceNotAllowed as InterfaceNotAllowed
    from toolkit.core.errors import NetworkBlocked as NetworkBlocked
    from toolkit.core.errors import PublishError as PublishError
    from toolkit.core.errors import SecretLeak as SecretLeak
    from toolkit.core.errors import ServiceError as ServiceError
    from toolkit.core.errors import SweepBusy as SweepBusy
    from toolkit.core.errors import SweepError as SweepError
    from toolkit.core.errors import TabulationError as TabulationError
    from toolkit.core.errors import TokenError as TokenError
    from toolkit.core.errors import TokenRefused as TokenRefused
    from toolkit.core.errors import TokenResponseInvalid as TokenResponseInvalid
    from toolkit.core.errors import ToolkitError as ToolkitError
    from toolkit.core.errors import UnknownName as UnknownName
    from toolkit.core.errors import Unreachable as Unreachable
    from toolkit.core.errors import UnsafeAddress as UnsafeAddress
    from toolkit.core.secret import Secret as Secret
    from toolkit.local.progress import progress as progress
    from toolkit.local.settings import Settings as Settings
    from toolkit.notebook.magics import load_ipython_extension as load_ipython_extension
    from toolkit.notebook.magics import unload_ipython_extension as unload_ipython_extension
    from toolkit.notebook.panel import panel as panel
    from toolkit.practice_service import practice as practice
    from toolkit.scrubbing.rules.model import Rules as Rules
    from toolkit.session.pages import pages as pages
    from toolkit.session.session import AsyncSession as AsyncSession
    from toolkit.session.session import Session as Session
    from toolkit.sharing.drift import drift as drift
    from toolkit.sharing.publish import publish as publish
    from toolkit.sharing.saved_secrets import scan as scan
    from toolkit.sweeps.lend import lend as lend
    from toolkit.sweeps.sweeping import sweep as sweep
    from toolkit.tables.charts import balances as balances
    from toolkit.tables.charts import call_latencies as call_latencies
    from toolkit.tables.charts import token_timeline as token_timeline
    from toolkit.tables.comparison import compare as compare
    from toolkit.tables.schema import schema as schema
    from toolkit.tables.tabulation import tabulate as tabulate
    from toolkit.transport.retry import Retry as Retry

__version__ = "0.1.0"

# Where each public name is defined.
_MODULES = {
    "toolkit.auth.kinds": "ClientKey ClientSecret KeyPair",
    "toolkit.auth.private_keys": "Signer",
    "toolkit.auth.profiles.saving": "remove_credentials save_credentials saved_credentials",
    "toolkit.auth.tokens.token": "Token",
    "toolkit.cassettes.cassette": "Cassette",
    "toolkit.cassettes.importing": "import_cassette",
    "toolkit.cassettes.catalog.checking": "check_cassettes",
    "toolkit.cassettes.catalog.comparing": "compare_cassettes",
    "toolkit.cassettes.catalog.facts": "list_cassettes",
    "toolkit.cassettes.catalog.rewriting": "prune_cassette scrub_cassette",
    "toolkit.core.document": "Environment Interface",
    "toolkit.core.errors": (
        "AccessError CassetteBusy CassetteCorrupt CassetteError CassetteMiss ConfigurationError "
        "CredentialsMismatch InterfaceNotAllowed NetworkBlocked PublishError SecretLeak ServiceError SweepBusy "
        "SweepError TabulationError TokenError TokenRefused TokenResponseInvalid ToolkitError UnknownName "
        "Unreachable UnsafeAddress"
    ),
    "toolkit.core.secret": "Secret",
    "toolkit.sweeps.lend": "lend",
    "toolkit.local.settings": "Settings",
    "toolkit.notebook.magics": "load_ipython_extension unload_ipython_extension",
    "toolkit.notebook.panel": "panel",
    "toolkit.local.progress": "progress",
    "toolkit.practice_service": "practice",
    "toolkit.scrubbing.rules.model": "Rules",
    "toolkit.session.pages": "pages",
    "toolkit.session.session": "AsyncSession Session",
    "toolkit.sharing.publish": "publish",
    "toolkit.sharing.drift": "drift",
    "toolkit.sharing.saved_secrets": "scan",
    "toolkit.sweeps.sweeping": "sweep",
    "toolkit.tables.charts": "balances call_latencies token_timeline",
    "toolkit.tables.comparison": "compare",
    "toolkit.tables.schema": "schema",
    "toolkit.tables.tabulation": "tabulate",
    "toolkit.transport.retry": "Retry",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted([*_MODULE_OF, "offline"])  # noqa: PLE0605 - one fewer list to keep in sync


def offline() -> None:
    """Only replay calls from now on, in this process and its child processes, as if TOOLKIT_OFFLINE=1 were set."""
    os.environ["TOOLKIT_OFFLINE"] = "1"


def _filter_logs() -> None:
    from toolkit.scrubbing.log_filter import install

    install()


REGISTER.with_first(_filter_logs)


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(module), name)
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
