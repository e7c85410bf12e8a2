"""The TOOLKIT_* environment variables: their names, the addresses in them, and whether the toolkit is offline.

Variables with credentials are not among them: see `toolkit.auth.profiles.fields`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from toolkit.core.document import ADDRESS_NAMES
from toolkit.core.errors import ConfigurationError
from toolkit.core.text import nearest
from toolkit.local.folders import PROJECT_VARIABLE
from toolkit.local.settings_checks import check_known

PREFIX_VARIABLE: Final = "TOOLKIT_HEADER_PREFIX"
CASSETTES_VARIABLE: Final = "TOOLKIT_CASSETTES"
VERIFY_VARIABLE: Final = "TOOLKIT_VERIFY"
_OFFLINE_VARIABLE: Final = "TOOLKIT_OFFLINE"
_OTHERS: Final = (PREFIX_VARIABLE, CASSETTES_VARIABLE, _OFFLINE_VARIABLE, VERIFY_VARIABLE, PROJECT_VARIABLE)
_TRUE, _FALSE = frozenset({"1", "true", "yes", "on"}), frozenset({"", "0", "false", "no", "off"})


def variable_name(setting: str) -> str:
    """Return the environment variable of an address or `header_prefix`: TOOLKIT_AUTH_URL for `auth`."""
    return PREFIX_VARIABLE if setting == "header_prefix" else f"TOOLKIT_{setting.upper()}_URL"


def addresses_from(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the addresses in variables, by their names.

    Raises:
        ConfigurationError: if the name of a variable looks like a misspelt TOOLKIT_* variable.
    """
    names = {variable_name(name): name for name in ADDRESS_NAMES}
    known = (*names, *_OTHERS)
    for variable in sorted(environ):
        # TOOLKIT_ is a common prefix: variables of other programs are ignored, misspelt ones are errors.
        if variable.startswith("TOOLKIT_") and (variable.endswith("_URL") or nearest(variable, known, cutoff=0.9)):
            check_known(variable, known, "variable")
    return {name: environ[variable] for variable, name in names.items() if environ.get(variable)}


def is_offline() -> bool:
    """Return True if TOOLKIT_OFFLINE asks for replay only.

    Raises:
        ConfigurationError: if its value means neither yes nor no.
    """
    value = os.environ.get(_OFFLINE_VARIABLE, "").strip().lower()
    if value not in _TRUE | _FALSE:
        raise ConfigurationError(
            f"TOOLKIT_OFFLINE is {value!r}, which means neither yes nor no.",
            "Set it to 1 or 0.",
            about=_OFFLINE_VARIABLE,
        )
    return value in _TRUE
