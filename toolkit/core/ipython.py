"""Find the IPython shell that this code runs in, without importing IPython: where it runs, it is loaded already."""

from __future__ import annotations

import sys
from typing import Any


def shell() -> Any | None:
    """Return the running InteractiveShell, or None outside IPython."""
    module = sys.modules.get("IPython.core.getipython")
    return None if module is None else module.get_ipython()
