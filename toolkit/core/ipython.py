"""The IPython shell that this code runs in, without importing IPython."""

from __future__ import annotations

import sys
from typing import Any


def shell() -> Any | None:
    """Return the running InteractiveShell, or None outside IPython.

    IPython is not imported for the question: where it runs, it is loaded already.
    """
    module = sys.modules.get("IPython.core.getipython")
    return None if module is None else module.get_ipython()
