from __future__ import annotations

import getpass
import json
import secrets
import warnings

import pytest
from key_forms import key, pem

from toolkit.auth.credentials import ask_secret, remember_input
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret

SECRET = secrets.token_urlsafe(24)
SETUP = "from toolkit.auth.credentials import warn_if_in_cell as check; from toolkit.core.secret import Secret"


@pytest.fixture
def shell(monkeypatch, tmp_path):
    """Start an IPython shell of the test's own, with a history in memory."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    InteractiveShell.clear_instance()
    config = Config()
    config.HistoryManager.hist_file = ":memory:"
    shell = InteractiveShell.instance(config=config)
    shell.run_cell(SETUP, silent=True)
    yield shell
    shell.history_manager.end_session()
    InteractiveShell.clear_instance()


@pytest.fixture
def run(shell):
    """Return a function that runs a cell and returns the texts of its warnings."""

    def run(source, *, stored=True, silent=False):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            result = shell.run_cell(source, store_history=stored, silent=silent)
        result.raise_error()
        return [str(warning.message) for warning in caught if warning.category is UserWarning]

    return run


def test_one_warning_per_kind(run):
    """Each kind of secret in the source of the cell is warned of, and again when the cell runs again."""
    source = f"check([('CLIENT_SECRET', Secret('{SECRET}')), ('API_KEY_ID', Secret('{SECRET}'))])"
    for _ in range(2):
        first, second = run(source)
        assert first.startswith("This cell contains the client secret, ")
        assert "contains the key ID" in second
        assert "getpass.getpass()" in first
        assert "toolkit credentials add" in first
        assert SECRET not in first + second


def test_answer_to_input(run, shell):
    """A secret that was typed at `input()` raises a warning, because JupyterLab saves it in the notebook."""
    shell.user_ns["answer"] = SECRET
    remember_input(SECRET)
    (text,) = run("check([('CLIENT_SECRET', Secret(answer))])")
    assert text.startswith("The client secret was typed at input()")
    assert SECRET not in text


@pytest.mark.parametrize("write", [repr, json.dumps, "'''{}'''".format, lambda pem: repr(pem.replace("\n", ""))])
def test_pem(run, shell, write):
    """A PEM is found in whatever way its lines are written in the cell."""
    shell.user_ns["pem"] = text = pem(key("P-256"))
    assert len(run(f"text = {write(text)}\ncheck([('PRIVATE_KEY', Secret(pem))])")) == 1
    assert run("check([('PRIVATE_KEY', Secret(pem))])") == []
    assert run("'''-----BEGIN PRIVATE KEY-----'''\ncheck([('PRIVATE_KEY', Secret(pem))])") == []


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
    """If what is typed would be visible, nothing is read."""

    def show(_):
        warnings.warn("Can not control echo", getpass.GetPassWarning, stacklevel=1)
        pytest.fail("the answer was read")

    monkeypatch.setattr("getpass.getpass", show)
    with pytest.raises(ConfigurationError, match="would be visible"):
        ask_secret("Secret key: ")
