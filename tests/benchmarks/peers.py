"""The packages that the toolkit is compared with. The extra `benchmarks` installs them; absent ones are left out."""

from __future__ import annotations

import sys
import warnings
from importlib import metadata
from typing import Any


def version(package: str) -> str | None:
    """Return the installed version of a package, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def authlib_clients() -> Any:
    """Return Authlib's module of httpx clients, without its notice that httpx has a successor."""
    import authlib.deprecate  # noqa: F401 - first, because loading it turns the notice on

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from authlib.integrations import httpx_client
    return httpx_client


def httpx_of(client: Any) -> Any:
    """Return the module that an Authlib client is built on: httpx, or its successor if that is installed."""
    bases = (base.__module__.partition(".")[0] for base in type(client).__mro__)
    return sys.modules[next(name for name in bases if name.startswith("httpx"))]
