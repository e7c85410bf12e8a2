"""Whose certificates a session trusts, and which variables a project's `.env` must not choose for it.

Editors export the `.env` of a project into the process. Whoever wrote that file could vouch for a server of his own,
write down the keys of connections, or name a proxy with a reference to a secret in its URL, which the editor expands.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from toolkit.core.addresses import Address, is_loopback
from toolkit.core.errors import UnsafeAddress
from toolkit.local.dotenv import exported_by
from toolkit.local.files import shown
from toolkit.local.settings import VERIFY, Settings
from toolkit.local.variables import VERIFY_VARIABLE
from toolkit.transport.certificates import AUTHORITY_VARIABLES, KEY_LOG_VARIABLE, SYSTEM, Verify, as_verify
from toolkit.transport.network import PROXY_VARIABLES, ProxyTypes

if TYPE_CHECKING:
    from toolkit.cassettes.cassette import Cassette

_TO_TRUST: Final = (
    f"set it in your own environment; or pass the path of a file as verify= in code. {VERIFY_VARIABLE}={SYSTEM} may "
    "stay."
)


def session_verify(verify: Verify, *, cassette: Cassette | None, settings: Settings) -> Verify:
    """Return whose certificates a session trusts: with True what the settings say, and httpx's if they say nothing.

    Raises:
        ConfigurationError: if it is nothing that a session takes.
        UnsafeAddress: if the project's `.env` sets the variable that names the authorities in force, to a file or
            folder, or that names the file for the keys of connections.
    """
    trusted = settings.trusted or True if verify is True else as_verify(verify)
    if cassette is not None and not cassette.records:
        return trusted
    variables: tuple[str, ...] = ()
    if trusted is True or trusted == SYSTEM:
        variables = AUTHORITY_VARIABLES
    elif verify is True and settings.place_of(VERIFY) == VERIFY_VARIABLE:
        variables = (VERIFY_VARIABLE,)
    _refuse_exported(variables, settings, "whom you trust", _TO_TRUST, about=VERIFY)
    to_log = "set it in your own environment, if you want to see what is sent."
    _refuse_exported((KEY_LOG_VARIABLE,), settings, "who can read what is sent", to_log, about=KEY_LOG_VARIABLE)
    return trusted


def check_proxy(proxy: ProxyTypes | None, *, cassette: Cassette | None, settings: Settings) -> None:
    """Check that the project's `.env` does not choose the proxy of a session that may send beyond this machine.

    Raises:
        UnsafeAddress: if it sets a proxy variable, and code does not name a proxy.
    """
    if proxy is not None or (cassette is not None and not cassette.records):
        return
    hosts = (Address.parse(text, setting=name).origin.host for name, text in settings.addresses.items())
    if not all(map(is_loopback, hosts)):
        to_set = "set it in your own environment, or pass proxy= in code."
        _refuse_exported(PROXY_VARIABLES, settings, "your proxy", to_set, about="proxy")


def _refuse_exported(names: Iterable[str], settings: Settings, what: str, otherwise: str, *, about: str) -> None:
    """Raise if the project's `.env` sets one of the variables, of which this process has at least one."""
    names = [name for name in names if os.environ.get(name) or os.environ.get(name.lower())]
    exported = exported_by(settings.project, beside=VERIFY_VARIABLE in names) if names else {}
    for name in names:
        if name in exported:
            raise UnsafeAddress(
                f"{shown(exported[name])} sets {name}, and the file of a project does not choose {what}.",
                f"Take it out there, and {otherwise}",
                about=about,
            )
