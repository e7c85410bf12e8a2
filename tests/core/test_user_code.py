from __future__ import annotations

import sys
import warnings
from contextlib import contextmanager
from types import SimpleNamespace

from toolkit.core.secret import REGISTER, Secret
from toolkit.core.tracebacks import shell, warn


def test_warn_at_the_caller():
    """A warning points at the first caller outside toolkit and httpx."""
    package = {"__name__": "httpx._client", "inner": {"__name__": "toolkit.somewhere", "warn": warn}}
    exec("def inner(): warn('careful')", package["inner"])  # noqa: S102 - stands for a module of another package
    exec("def outer(): inner['inner']()", package)  # noqa: S102 - likewise
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        package["outer"]()
        warn("directly")
    assert [warning.filename for warning in caught] == [__file__, __file__]


def test_warn_in_a_context_manager():
    """A warning at the end of a context manager points at the caller of the function that uses it."""
    package = {"__name__": "toolkit.somewhere", "warn": warn, "contextmanager": contextmanager}
    code = (
        "@contextmanager\ndef inner():\n    yield\n    warn('careful')\ndef outer():\n    with inner():\n        pass"
    )
    exec(code, package)  # noqa: S102 - stands for a module of the toolkit
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        package["outer"]()
    assert [warning.filename for warning in caught] == [__file__]


def test_a_known_secret_in_a_warning():
    """A warning that quotes a name from an answer shows the placeholder of a secret."""
    REGISTER.add("ACCESS_TOKEN", Secret("quoted" + "7f3e" * 6))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn(f"There is more at 'quoted{'7f3e' * 6}.next'.")
    assert str(caught[0].message) == "There is more at '<ACCESS_TOKEN>.next'."


def test_shell(monkeypatch):
    """The running shell is found if IPython is loaded; otherwise the result is None, and IPython is not imported."""
    running = object()
    monkeypatch.setitem(sys.modules, "IPython.core.getipython", SimpleNamespace(get_ipython=lambda: running))
    assert shell() is running
    monkeypatch.delitem(sys.modules, "IPython.core.getipython")
    assert shell() is None
    assert "IPython.core.getipython" not in sys.modules
