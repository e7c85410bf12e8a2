from __future__ import annotations

import json
from dataclasses import replace

import ipywidgets
import pytest
from ipywidgets.widgets.widget import _instances as all_widgets

from toolkit.notebook.panel import Panel
from toolkit.practice_service import practice
from toolkit.session.session import Session


class User:
    """Somebody in front of a panel: chooses, types and presses as a page would, through its messages."""

    def __init__(self, panel):
        self.panel = panel
        self.controls = panel._controls

    def choose(self, control, label):
        """Choose the option of a control whose label starts so."""
        widget = getattr(self.controls, f"_{control}")
        widget.index = next(n for n, (text, _) in enumerate(widget.options) if text.startswith(label))

    def press(self):
        self.controls._button.click()

    def connect(self, *texts):
        """Press Connect; the page hands over these texts, in the order of the fields."""
        self.press()
        self.answer(*texts)

    def answer(self, *texts, number=None):
        inputs = self.controls._inputs
        content = {"type": "texts", "number": inputs._asked if number is None else number}
        self.send(inputs, content, [memoryview(text.encode()) for text in texts])

    @staticmethod
    def send(widget, content, buffers=()):
        """A custom message of the page, on the way that the kernel takes it."""
        data = {"method": "custom", "content": content}
        widget._handle_msg({"content": {"data": data}, "buffers": list(buffers)})

    def words(self, place):
        """What is said beside a control or a field."""
        inputs = self.controls.__dict__.get("_inputs")
        if inputs is not None and place in inputs.problems:
            return inputs.problems[place]
        slot = self.controls.slots.get(place)
        return "".join(one.value for one in slot.children if isinstance(one, ipywidgets.HTML)) if slot else ""

    @property
    def status(self):
        return self.panel._view.status

    @property
    def summary(self):
        return self.panel._view.html


@pytest.fixture
def service(monkeypatch):
    """A practice service on real sockets: a panel has no seam for anything else."""
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    with practice() as running:
        yield running


@pytest.fixture
def settings(service, tmp_path):
    """The addresses of the practice service, and a project folder of the test's own."""
    return replace(service.settings, project=tmp_path, cassettes="cassettes")


@pytest.fixture
def tour(service, settings):
    """A cassette named "tour" with one accounts call of the sandbox partner."""
    with Session(credentials=service.credentials["sandbox-secret"], cassette="tour", settings=settings) as session:
        session.accounts()
    return settings.cassettes_folder / "tour.yaml"


@pytest.fixture
def open_panel(settings):
    """Opens panels as `toolkit.panel` does, each with its user, and closes them."""
    opened = []

    def open_one(environment=None, credentials=None, cassette=None, *, settings=settings):
        opened.append(Panel(environment, credentials, cassette, settings=settings))
        return User(opened[-1])

    yield open_one
    for panel in opened:
        panel.close()


@pytest.fixture
def widget_state():
    """Everything that the widgets of this process have told their pages and would save, as text."""

    def state():
        return json.dumps([widget.get_state() for widget in all_widgets.values()], default=str)

    before = set(all_widgets)
    yield state
    for widget in [one for name, one in all_widgets.items() if name not in before]:
        widget.close()
