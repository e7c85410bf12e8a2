"""The HTTP library of this process: httpx, or httpx2, to which large SDKs have moved.

The variable TOOLKIT_HTTPX chooses it, once, when the toolkit first needs it. A session's clients, requests, responses
and errors are of this family. Modules write `from toolkit.transport.family import httpx`, whichever it is; type
checkers see httpx.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from toolkit.core.errors import ConfigurationError
from toolkit.core.installation import how_to_install

VARIABLE: Final = "TOOLKIT_HTTPX"
FAMILIES: Final = ("httpx", "httpx2")


def chosen_family(name: str) -> Any:
    """Return the module httpx or httpx2 for a value of TOOLKIT_HTTPX; an empty one means httpx.

    Raises:
        ConfigurationError: if the value is neither of them, or the package is not installed.
    """
    name = name.strip().lower() or FAMILIES[0]
    if name not in FAMILIES:
        raise ConfigurationError(
            f"{VARIABLE} is {name!r}, which is not an HTTP library that the toolkit works with.",
            f"Set {VARIABLE} to httpx or httpx2, or unset it for httpx, and start Python again.",
            about=VARIABLE,
        )
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ConfigurationError(
            f"{VARIABLE} asks for {name}, which is not installed.",
            f"{how_to_install('httpx2')} Or unset {VARIABLE} for httpx. Then start Python again.",
            about=VARIABLE,
        ) from None


if TYPE_CHECKING:
    import httpx as httpx  # noqa: PLC0414 - exported
else:
    httpx = chosen_family(os.environ.get(VARIABLE, ""))


def other_family() -> Any | None:
    """Return the HTTP library that this process did not choose, or None as long as nothing has imported it."""
    for name in FAMILIES:
        module = sys.modules.get(name)
        if module is not None and module is not httpx:  # they are one module after httpx2.alias_httpx()
            return module
    return None


def of_either(*names: str) -> tuple[type[Any], ...]:
    """Return the classes of these names in both libraries, for `isinstance` and `except`."""
    families = [family for family in (httpx, other_family()) if family is not None]
    return tuple(getattr(family, name) for family in families for name in names)
