from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from IPython.core.events import EventManager, available_events
from ipywidgets.widgets.widget import _instances as all_widgets

from toolkit.core.document import ADDRESS_NAMES
from toolkit.local.settings import Settings
from toolkit.notebook.panel import Panel
from toolkit.practice_service import practice
from toolkit.session.session import Session


class User:
    """A user of a panel, who chooses, types and presses as a page would, through its messages."""

    def __init__(self, panel):
        self.panel = panel
        self.form = panel._form

    def dropdown(self, control):
        """Return the dropdown of "environment", "mode", "cassette" or "credentials"."""
        return getattr(self.form, f"_{control}")

    def options(self, control):
        """Return the labels that a dropdown offers."""
        return [label for label, _ in self.dropdown(control).options]

    def chosen(self, control):
        """Return the label of the choice in a dropdown."""
        return self.dropdown(control).label

    def choose(self, control, label):
        """Choose the option whose label starts with these words."""
        dropdown = self.dropdown(control)
        dropdown.index = next(n for n, text in enumerate(self.options(control)) if text.startswith(label))

    def is_shown(self, control):
        """Return whether the page shows a control of the form."""
        return "toolkit-hidden" not in getattr(self.form, control)._dom_classes

    def press(self):
        self.form._button.click()

    def connect(self, *texts):
        """Press Connect; the page sends these texts, in the order of the fields. The others stay empty."""
        if self.form.kind is None:
            self.choose("credentials", "new")
        self.press()
        self.answer(*texts)

    def answer(self, *texts, number=None):
        inputs = self.form.inputs
        content = {"type": "texts", "number": inputs._asked if number is None else number}
        self.send(inputs, content, [memoryview(text.encode()) for text in texts])

    @staticmethod
    def send(widget, content, buffers=()):
        """Handle a custom message of the page as the kernel does."""
        data = {"method": "custom", "content": content}
        widget._handle_msg({"content": {"data": data}, "buffers": list(buffers)})

    @property
    def words(self):
        """The words on the form: the badge of the account, what stands in the way, and about the last attempt."""
        form = self.form
        return form._account.value + form._standing.value + form._words.value

    @property
    def problems(self):
        """The words beside fields, by the names of the fields."""
        return self.form.inputs.get_state()["problems"]

    @property
    def status(self):
        return self.panel._view.get_state()["status"]

    @property
    def summary(self):
        """The facts of the session as text."""
        return json.dumps(self.panel._view.get_state()["facts"], ensure_ascii=False)


@pytest.fixture
def service(monkeypatch):
    """Run a practice service on real sockets, because a panel does not take a transport."""
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    with practice() as running:
        yield running


@pytest.fixture
def settings(request, tmp_path, monkeypatch):
    """Return the settings of a project folder, with the addresses of the practice service if the test uses it."""
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    addresses = {name: f"https://{name.replace('_', '-')}.example.com" for name in ADDRESS_NAMES}
    if "service" in request.fixturenames:
        addresses = request.getfixturevalue("service").settings.addresses
    return Settings(addresses, project=tmp_path, cassettes="cassettes")


@pytest.fixture(scope="session")
def recorded_tour(tmp_path_factory):
    """Return the bytes of a cassette with one accounts call of the sandbox partner."""
    path = tmp_path_factory.mktemp("recorded") / "tour.yaml"
    with pytest.MonkeyPatch.context() as patch, practice() as service:
        patch.delenv("TOOLKIT_OFFLINE", raising=False)
        with Session(credentials=service.credentials["sandbox-secret"], cassette=path, settings=service.settings) as it:
            it.accounts()
    return path.read_bytes()


@pytest.fixture
def tour(recorded_tour, settings):
    """Write a cassette named "tour" into the project of the test, and return its path."""
    path = settings.cassettes_folder / "tour.yaml"
    path.parent.mkdir(parents=True)
    path.write_bytes(recorded_tour)
    return path


@pytest.fixture
def open_panel(settings):
    """Return a function that opens a panel and returns its user; panels are closed at the end."""
    opened = []

    def open_one(environment=None, credentials=None, cassette=None, *, settings=settings):
        opened.append(Panel(environment, credentials, cassette, settings=settings))
        return User(opened[-1])

    yield open_one
    for panel in opened:
        panel.close()


@pytest.fixture
def shell(monkeypatch):
    """Give the panel a notebook: a shell with the variables of the user, and events of cells."""
    made = SimpleNamespace(user_ns={})
    made.events = EventManager(made, available_events)
    monkeypatch.setattr("toolkit.core.tracebacks.shell", lambda: made)
    return made


@pytest.fixture
def widget_state():
    """Return a function that returns everything that the widgets of this process would save, as text."""

    def state():
        return json.dumps([widget.get_state() for widget in all_widgets.values()], default=str)

    before = set(all_widgets)
    yield state
    for widget in [widget for name, widget in all_widgets.items() if name not in before]:
        widget.close()


@pytest.fixture
def project_of(tmp_path, monkeypatch):
    """Return a function that writes a project with addresses of a host, and returns its settings."""
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)

    def make(host):
        folder = tmp_path / host
        folder.mkdir(exist_ok=True)
        (folder / "toolkit.toml").write_text(f'[addresses]\ntrading_paper = "https://{host}/v1"\n')
        return Settings.load(folder / "toolkit.toml", environ={})

    return make
