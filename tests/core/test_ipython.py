from __future__ import annotations

import sys
from types import SimpleNamespace

from toolkit.core.ipython import shell


def test_shell(monkeypatch):
    """The running shell is found if IPython is loaded; otherwise there is none, and IPython is not imported."""
    running = object()
    monkeypatch.setitem(sys.modules, "IPython.core.getipython", SimpleNamespace(get_ipython=lambda: running))
    assert shell() is running
    monkeypatch.delitem(sys.modules, "IPython.core.getipython")
    assert shell() is None
    assert "IPython.core.getipython" not in sys.modules
