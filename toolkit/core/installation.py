"""Errors about packages that an extra of the toolkit brings."""

from __future__ import annotations

from collections.abc import Collection

from toolkit.core.errors import ConfigurationError


def how_to_install(extra: str) -> str:
    """Return the next step of an error about a package that an extra would bring."""
    return f"Install the toolkit with its extra {extra}: in a clone of it, pip install '.[{extra}]'."


def not_installed(
    error: ModuleNotFoundError, packages: Collection[str], user: str, extra: str, *, about: str
) -> Exception:
    """Return the error to raise for a missing package: with advice if an extra brings it, else the error itself.

    Args:
        error: names the package.
        packages: the packages of the extra.
        user: what needs them, such as "A loan".
        extra: the extra.
        about: the argument or setting that the error is about.
    """
    if (error.name or "").partition(".")[0] not in packages:
        return error
    return ConfigurationError(f"{user} needs {error.name}, which is not installed.", how_to_install(extra), about=about)
