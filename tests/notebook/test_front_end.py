"""VS Code and Colab get the panel as they show it, simulated: the one's variables, the other's modules."""

from __future__ import annotations

import json
import sys
from types import ModuleType, SimpleNamespace

import pytest
from anywidget import _util
from ipywidgets.widgets.widget import _instances as all_widgets

from toolkit.notebook.front_end import FrontEnd, front_end, how_to_use

WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.mark.parametrize(
    ("names", "environ", "modules", "where"),
    [
        ((), {}, (), FrontEnd.OTHER),
        (("__vsc_ipynb_file__",), {"JPY_SESSION_NAME": "/a.ipynb"}, (), FrontEnd.VS_CODE),
        ((), {"VSCODE_PID": "1", "VSCODE_CWD": "/"}, (), FrontEnd.VS_CODE),
        ((), {"VSCODE_PID": "1", "JPY_SESSION_NAME": "/a.ipynb"}, (), FrontEnd.OTHER),
        ((), {}, ("google.colab",), FrontEnd.COLAB),
        ((), {}, ("google", "google.auth"), FrontEnd.OTHER),
    ],
)
def test_front_end(names, environ, modules, where):
    """Variables and modules tell VS Code and Colab from each other and from Jupyter's own pages."""
    assert front_end(names, environ, modules=modules) is where


@pytest.fixture
def shown(monkeypatch):
    """Return the outputs of panels that show themselves."""
    outputs = []
    monkeypatch.setattr("toolkit.notebook.panel.widget.show", lambda data, **more: outputs.append(data))
    return outputs


@pytest.fixture
def colab(monkeypatch):
    """Load modules like Colab's, and return how often its manager of widgets was enabled."""
    enabled = []
    output = ModuleType("google.colab.output")
    output.enable_custom_widget_manager = lambda: enabled.append("enabled")
    output._widgets = SimpleNamespace(_installed_url="https://ssl.gstatic.example/manager.min.js")
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    monkeypatch.setitem(sys.modules, "google.colab.output", output)
    _util.enable_custom_widget_manager_once.cache_clear()
    yield enabled
    _util.enable_custom_widget_manager_once.cache_clear()


def test_colab(open_panel, tour, shown, colab):
    """In Colab the manager of widgets is enabled once, and words and widget are one output."""
    for _ in range(2):
        open_panel(cassette="tour").panel._ipython_display_()
    assert colab == ["enabled"]
    assert [sorted(data) for data in shown] == [[WIDGET, "text/html", "text/plain"]] * 2
    assert "panel.connect() asks below the cell" in shown[0]["text/html"]
    assert "jupyter.widgetScriptSources" not in shown[0]["text/html"]


def test_vs_code(open_panel, tour, shown, shell, monkeypatch):
    """Where VS Code cannot load widgets, the words say what to do, with the panel's own name."""
    monkeypatch.setenv("VSCODE_PID", "1")
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    shell.user_ns["desk"] = open_panel(cassette="tour").panel
    shell.user_ns["desk"]._ipython_display_()
    (data,) = shown
    assert "desk.connect() asks below the cell" in data["text/html"]
    assert "jupyter.widgetScriptSources" in data["text/html"]
    del data[WIDGET]  # as in a front end without the widget's code
    assert "replay tour.yaml" in data["text/plain"]


@pytest.mark.parametrize("place", ["VS Code", "Colab"])
def test_no_secret_is_stored(open_panel, service, shown, monkeypatch, place, request):
    """Neither front end finds a secret in an output or in the state of any widget, whether it stores that or not."""
    if place == "Colab":
        request.getfixturevalue("colab")
    else:
        monkeypatch.setenv("VSCODE_PID", "1")
    pair = service.credentials["paper"]
    texts = pair.key_id.reveal(), pair.secret_key.reveal()
    user = open_panel("paper")
    user.choose("credentials", "new key pair")
    user.connect(*texts)
    assert user.status.startswith("Connected")
    user.panel._ipython_display_()
    state = json.dumps([shown, [widget.get_state() for widget in all_widgets.values()]], default=repr)
    assert [text for text in texts if text in state] == []


def test_other_front_ends_get_no_advice():
    """Elsewhere the words stay short: they are part of every notebook that is stored."""
    assert how_to_use(FrontEnd.OTHER, "panel") == "run this cell again"
