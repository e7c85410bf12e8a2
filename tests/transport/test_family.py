"""The HTTP library of the process: httpx or httpx2, by the variable TOOLKIT_HTTPX."""

import importlib
import sys

import pytest

from toolkit.core.errors import ConfigurationError
from toolkit.transport import family


@pytest.mark.parametrize(("value", "name"), [("", "httpx"), (" HTTPX ", "httpx"), ("httpx2", "httpx2")])
def test_the_variable_names_the_library(value, name):
    """An empty variable means httpx; case and space around a name do not matter."""
    assert family.chosen_family(value) is pytest.importorskip(name)


def test_another_name_is_refused():
    """An unknown name is an error that tells the names there are."""
    with pytest.raises(ConfigurationError, match="TOOLKIT_HTTPX is 'requests'") as caught:
        family.chosen_family("requests")
    assert "httpx or httpx2" in caught.value.next_step
    assert caught.value.about == "TOOLKIT_HTTPX"


def test_a_missing_library_is_named_with_its_extra(monkeypatch):
    """Without httpx2, the error says what to install. An import that fails within httpx2 is not taken for that."""
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(ConfigurationError, match="httpx2, which is not installed") as caught:
        family.chosen_family("httpx2")
    assert "[httpx2]" in caught.value.next_step
    error = ModuleNotFoundError("No module named 'httpcore2'", name="httpcore2")

    def fail(_name):
        raise error

    monkeypatch.setattr(family, "import_module", fail)
    with pytest.raises(ModuleNotFoundError) as broken:
        family.chosen_family("httpx2")
    assert broken.value is error


def test_the_process_has_one_family():
    """All modules of the toolkit share one library, which is the one that the process chose."""
    sender = importlib.import_module("toolkit.session.sending")
    assert sender.httpx is family.httpx
    assert family.httpx.__name__ in family.FAMILIES
