# ruff: noqa: S301 - pickles made by these tests

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.lib.pretty import pretty

from toolkit.core import errors
from toolkit.core.document import Environment, Interface
from toolkit.core.errors import (
    CassetteMiss,
    ConfigurationError,
    ServiceError,
    TokenRefused,
    UnknownName,
    as_choice,
    as_count,
    as_text,
)
from toolkit.core.secret import REGISTER, Secret
from toolkit.core.text import printable

CLASSES = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
DATA = {
    TokenRefused: {"status": 401, "error": "invalid_client", "clock_offset": timedelta(seconds=-90)},
    ServiceError: {"status": 503},
    CassetteMiss: {"nearest": ("GET /v1/accounts: the query differs", "GET /v2/account: the path differs")},
}


def example(kind):
    return kind("The address auth is not set.", "Set it.", about="auth", **DATA.get(kind, {}))


@pytest.mark.parametrize("kind", CLASSES)
def test_words(kind):
    """An error reads as what happened and, on a second line, what to do."""
    error = example(kind)
    assert str(error) == "The address auth is not set.\nSet it."
    assert str(kind("It broke.")) == "It broke."
    assert (error.what, error.next_step, error.about) == ("The address auth is not set.", "Set it.", "auth")


@pytest.mark.parametrize("kind", CLASSES)
def test_pickle(kind):
    """An error keeps its class, text, attributes and notes in a pickle."""
    error = example(kind)
    error.add_note("while recording")
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        back = pickle.loads(pickle.dumps(error, protocol))
        assert type(back) is kind
        assert vars(back) == vars(error)
        assert (str(back), back.args) == (str(error), error.args)
        assert back.__notes__ == ["while recording"]


@given(st.sampled_from(CLASSES), st.text(), st.text())
def test_foreign_text(kind, what, next_step):
    """An error is safe to print whatever foreign text it holds."""
    error = kind(what, next_step)
    for text in (str(error), *error._render_traceback_(), *error.args):
        assert printable(text) == text


def test_display():
    """An error that a cell ends with shows its lines."""
    assert pretty(ConfigurationError("What <b>.\nMore.", "What next.")) == (
        "ConfigurationError: What <b>.\nMore.\nWhat next."
    )


NOTEBOOK_CELL = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell()
shell.run_cell('''
from toolkit.core.errors import ConfigurationError
def inner(local_variable):
    try:
        raise KeyError("context")
    except KeyError:
        raise ConfigurationError("The address auth is not set.", "Set it.")
inner("value-of-a-local")
''')
"""


def test_in_ipython(tmp_path):
    """IPython shows these two lines and nothing else: no frames, variables or context."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "IPYTHONDIR": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", NOTEBOOK_CELL], capture_output=True, text=True, encoding="utf-8", env=environ, check=True
    )
    assert ran.stdout.strip().splitlines() == ["ConfigurationError: The address auth is not set.", "Set it."]


def test_a_known_secret_in_an_argument():
    """An error that quotes an argument shows the placeholder of a secret that was given in the wrong place."""
    secret = "misplaced" + "4d2c" * 6
    REGISTER.add("API_SECRET_KEY", Secret(secret))
    error = ConfigurationError(f"There is no environment '{secret}'.", f"Choose another than {secret}.")
    for each in (error, error.reworded(f"It is {secret}.", "")):
        assert secret not in f"{each} {each!r} {each.args}"
        assert "<API_SECRET_KEY>" in str(each)


def test_a_secret_named_after_a_choice():
    """A long text that begins like a choice is not quoted, since it may be a secret; a slip in a long name is."""
    names = ["broker-sandbox", "market_data_sandbox"]
    with pytest.raises(UnknownName) as caught:
        as_choice("broker-sandbox-9f2c81aa77be", names, about="name")
    assert "9f2c" not in str(caught.value)
    with pytest.raises(UnknownName, match="'market_data_sandboxx'"):
        as_choice("market_data_sandboxx", names, about="name")
    with pytest.raises(UnknownName, match="'tradin'"):
        Interface("tradin")


def test_environments_with_a_real_account():
    """Section 1: the two live environments reach a real account, paper and sandbox do not."""
    assert {each.value for each in Environment if each.rules.real_account} == {"live", "broker-live"}


@pytest.mark.parametrize(
    "call",
    [
        *(lambda value=value: as_count(value, about="a", most=4) for value in (-1, 5, "5", True, 1.0)),
        lambda: as_text(" ", about="a", example="b"),
    ],
)
def test_arguments_beyond_limits(call):
    """What is not a number, a number beyond its limits and an empty text are errors that name the argument."""
    with pytest.raises(ConfigurationError) as caught:
        call()
    assert caught.value.about == "a"
    assert "at least" not in caught.value.what  # where there is a maximum too


@pytest.mark.parametrize(("status", "is_passing"), [(401, False), (408, True), (429, True), (500, True)])
def test_passing_refusals(status, is_passing):
    """Only a refusal that may pass is worth another try."""
    assert TokenRefused("No.", status=status).is_passing is is_passing
