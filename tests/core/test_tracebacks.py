from __future__ import annotations

import secrets
import sys
import warnings
from types import SimpleNamespace

import pytest
from frames import raised, with_locals

from toolkit.core.errors import ConfigurationError, ToolkitError
from toolkit.core.secret import REGISTER, Secret
from toolkit.core.tracebacks import attempt, causes, frameless, name_of, warn

SECRET = secrets.token_hex(20)


class Opaque:
    """Shows its text when it is printed, as careless objects do."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return f"Opaque({self.text})"


class Foreign(Exception):
    """An error of another library, which quotes its argument."""


def refuse(text):
    try:
        fail(text)
    except Foreign as error:
        raise ConfigurationError("The key is malformed.", about="key") from error


def fail(text):
    opaque = Opaque(text)
    raise Foreign(opaque)


def raise_a_warning(text):
    raise UserWarning("careful")


def interrupt(text):
    try:
        fail(text)
    finally:
        raise KeyboardInterrupt


def attempted(text):
    attempt(lambda: fail(text), otherwise=lambda: ConfigurationError("The key cannot be read.", about="key"))


class Constructed:
    @frameless
    def __init__(self, text, *, then=refuse):
        self.text = text
        then(text)


def shown_by(error):
    """Return what verbose tracebacks show of an error, without the frame of the test that caught it."""
    from IPython.core.ultratb import VerboseTB

    inner = error.__traceback__.tb_next
    verbose = VerboseTB(theme_name="nocolor").text(type(error), error, inner)
    return verbose + with_locals(error.with_traceback(inner))


def caught_from(function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except BaseException as error:  # noqa: BLE001
        return error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    ("then", "kind"),
    [
        (refuse, ConfigurationError),
        (attempted, ConfigurationError),
        (fail, ToolkitError),
        (raise_a_warning, UserWarning),
        (interrupt, KeyboardInterrupt),
    ],
)
def test_frameless_error_shows_no_secret(then, kind):
    """The error of a decorated constructor leads to no frame, argument or error that holds a secret."""
    error = caught_from(Constructed, Opaque(SECRET), then=then)
    assert type(error) is kind
    assert (error.__cause__, error.__context__) == (None, None)
    own = error.__traceback__.tb_next
    assert own.tb_next is None
    assert set(own.tb_frame.f_locals) == {"function"}
    assert SECRET not in shown_by(error)


def test_frameless_keeps_the_error_of_the_caller():
    """An error that the caller was handling remains the context, with its frames, and is shown."""
    own = raised(LookupError("of the caller"))
    try:
        raise own
    except LookupError:
        error = caught_from(Constructed, SECRET)
    assert error.__context__ is own
    assert own.__traceback__ is not None
    assert not error.__suppress_context__


def test_frameless_call_with_wrong_arguments():
    """A call with missing or unknown arguments raises the usual TypeError."""
    error = caught_from(Constructed, SECRET, unknown=SECRET)
    assert isinstance(error, TypeError)
    assert "unexpected keyword argument 'unknown'" in str(error)
    assert SECRET not in shown_by(error)


def test_causes_are_told_once():
    """An error leads to all errors linked to it, once each, also if it is both cause and context."""
    error = caught_from(refuse, SECRET)
    kinds = [type(each) for each in causes(ExceptionGroup("both", [error, error]))]
    assert kinds == [ExceptionGroup, ConfigurationError, Foreign]


def test_the_name_of_an_object_in_the_notebook(monkeypatch):
    """An object is named by the first variable of the user that holds it, if there is one."""
    assert name_of(SECRET) == ""
    shell = SimpleNamespace(user_ns={"_": SECRET, "other": 1, "mine": SECRET})
    monkeypatch.setitem(sys.modules, "IPython.core.getipython", SimpleNamespace(get_ipython=lambda: shell))
    assert (name_of(SECRET), name_of(2)) == ("mine", "")


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


def test_a_known_secret_in_a_warning():
    """A warning that quotes a name from an answer shows the placeholder of a secret."""
    REGISTER.add("ACCESS_TOKEN", Secret("quoted" + "7f3e" * 6))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn(f"There is more at 'quoted{'7f3e' * 6}.next'.")
    assert str(caught[0].message) == "There is more at '<ACCESS_TOKEN>.next'."
