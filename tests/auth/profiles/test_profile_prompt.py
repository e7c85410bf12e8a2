from __future__ import annotations

import getpass
import io
import sys
import warnings
from types import SimpleNamespace

import pytest

from toolkit.auth.profiles.prompt import ask, ask_unseen, can_ask
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError


def test_ask_no_answer():
    """An end of input in place of an answer, and an empty one, are errors."""

    def end(_):
        raise EOFError

    for answer, told in ((end, "there was no answer"), (lambda _: "", "The key ID is empty")):
        with pytest.raises(ConfigurationError, match=told):
            ask(Environment.LIVE, "default", answer)


def test_ask_bad_answer():
    """An answer that cannot be sent is refused and not quoted."""
    with pytest.raises(ConfigurationError, match="From your answers: The key ID holds") as caught:
        ask(Environment.LIVE, "default", lambda _: "hush\thush")
    assert "hush" not in str(caught.value)


def test_ask_not_where_typing_shows(monkeypatch):
    """Where typing cannot be hidden, nothing is read."""

    def shows(_):
        warnings.warn("Can not control echo", getpass.GetPassWarning, stacklevel=1)
        pytest.fail("typing was read")

    monkeypatch.setattr("getpass.getpass", shows)
    with pytest.raises(ConfigurationError, match="would be seen"):
        ask(Environment.LIVE, "default", ask_unseen)


@pytest.mark.parametrize("terminal", [True, False])
def test_can_ask_at_a_terminal(monkeypatch, terminal):
    """Somebody is there at a terminal, and nobody at the end of a pipe."""
    stdin = io.StringIO()
    stdin.isatty = lambda: terminal
    monkeypatch.setitem(sys.modules, "IPython", None)
    monkeypatch.setattr("sys.stdin", stdin)
    assert can_ask() is terminal


def test_can_ask_without_input(monkeypatch):
    """A process without input asks nobody."""
    monkeypatch.setitem(sys.modules, "IPython", None)
    monkeypatch.setattr("sys.stdin", None)
    assert not can_ask()


@pytest.mark.parametrize("allowed", [True, False])
def test_can_ask_in_a_notebook(monkeypatch, allowed):
    """In a notebook somebody is there if the front end takes input, as it does not when it is run by nbclient."""
    shell = SimpleNamespace(kernel=SimpleNamespace(_allow_stdin=allowed))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert can_ask() is allowed
