"""The packages that figures are compared with: the extra `benchmarks`. Those that are absent are said to be."""

from __future__ import annotations

import sys
import warnings
from importlib import metadata
from typing import Any


def version(package: str) -> str | None:
    """The version that is installed, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def authlib_clients() -> Any:
    """Authlib's module of httpx clients, without its notice that httpx has a successor."""
    import authlib.deprecate  # noqa: F401 - first: it turns the notice on when it is loaded

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from authlib.integrations import httpx_client
    return httpx_client


def httpx_of(client: Any) -> Any:
    """The module that an Authlib client is built on: httpx, or its successor where that is installed."""
    bases = (base.__module__.partition(".")[0] for base in type(client).__mro__)
    return sys.modules[next(name for name in bases if name.startswith("httpx"))]
