"""Whose page this is: the owner's of the machine, or that of visitors to whom a server shows the notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_SERVED_AS: Final = "voila/"


def is_for_visitors(environ: Mapping[str, str]) -> bool:
    """Whether this kernel answers visitors: Voila starts one for each, and tells it of the request.

    Args:
        environ: environment variables of the kernel.
    """
    return "VOILA_REQUEST_URL" in environ or environ.get("SERVER_SOFTWARE", "").lower().startswith(_SERVED_AS)
