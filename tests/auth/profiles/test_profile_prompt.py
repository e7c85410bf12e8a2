from __future__ import annotations

import getpass
import warnings

import pytest

from toolkit.auth.typed_secrets import ask_secret
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret


def test_ask_unseen(monkeypatch):
    """By default a secret is typed unseen; a prompt such as `input` takes its place."""
    monkeypatch.setattr("getpass.getpass", lambda question: f"unseen after {question}")
    assert ask_secret("Key ID: ") == Secret("unseen after Key ID: ")
    assert ask_secret("Key ID: ", lambda question: f"seen after {question}") == Secret("seen after Key ID: ")


def test_no_more_input():
    """The end of the input is an error with the caller's next step."""

    def end(_):
        raise EOFError

    with pytest.raises(ConfigurationError, match='"Passphrase" was not answered: the input has ended') as caught:
        ask_secret("Passphrase: ", end, next_step="Leave --passphrase out.")
    assert caught.value.next_step == "Leave --passphrase out."
    assert caught.value.__context__ is None


def test_not_where_typing_shows(monkeypatch):
    """If what is typed would be seen, nothing is read."""

    def show(_):
        warnings.warn("Can not control echo", getpass.GetPassWarning, stacklevel=1)
        pytest.fail("the answer was read")

    monkeypatch.setattr("getpass.getpass", show)
    with pytest.raises(ConfigurationError, match="would be seen"):
        ask_secret("Secret key: ")
