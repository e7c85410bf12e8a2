"""The choice in one control decides what the controls below it offer."""

from __future__ import annotations

import pytest

from toolkit.core.document import Environment
from toolkit.notebook.panel.choices import Mode
from toolkit.notebook.panel.controls import Controls
from toolkit.notebook.panel.problems import PanelProblem

UPPER = "Environment", "Mode"


@pytest.fixture
def make_controls(settings):
    made = []

    def make(environment=Environment.BROKER_SANDBOX, mode=Mode.LIVE, **changes):
        named = {"cassette": None, "profile": None, "in_notebook": (), "settings": settings}
        callbacks = dict.fromkeys(("pressed", "answered", "edited"), lambda: None)
        made.append(Controls(environment, mode, **{**named, **callbacks, **changes}))
        return made[-1]

    yield make
    for controls in made:
        controls.close()


def shown(controls):
    """Return the labels of what is on the panel, from top to bottom."""
    widgets = [widget for slot in controls.slots.values() for widget in slot.children]
    return [getattr(widget, "description", None) or type(widget).__name__ for widget in widgets]


def test_each_mode_shows_what_it_needs(make_controls):
    """A replay shows no credentials, a live session no cassette, and a recording both."""
    controls = make_controls()
    assert shown(controls) == ["Environment", "Mode", "Credentials", "HTML", "SecretInput", "Connect"]
    controls._mode.value = Mode.RECORD
    assert shown(controls) == [*UPPER, "Cassette", "Name", "Credentials", "HTML", "SecretInput", "Connect"]
    controls._mode.value = Mode.REPLAY
    assert shown(controls) == [*UPPER, "HTML", "Connect"]  # no cassettes yet
    assert (controls.credentials, controls.fields, controls.cassette) == (None, (), None)


def test_the_choice_of_credentials_is_kept_where_it_can_be(make_controls, service):
    """Choosing another mode keeps the chosen credentials; choosing another environment does not."""
    held = [service.credentials["sandbox-key"], service.credentials["sandbox-secret"]]
    controls = make_controls(in_notebook=held)
    controls._credentials.dropdown.value = held[1]
    controls._mode.value = Mode.REPLAY
    controls._mode.value = Mode.RECORD
    assert controls.credentials is held[1]
    controls.environment = Environment.PAPER
    controls.environment = Environment.BROKER_SANDBOX
    assert controls.credentials is held[0]


def test_new_credentials_replace_old_ones_in_the_choices(make_controls, service):
    """Credentials of the same name and kind are offered once."""
    controls = make_controls()
    for _ in range(2):
        controls.add(service.credentials["sandbox-key"])
    controls.add(service.credentials["sandbox-secret"])
    assert controls.credentials is service.credentials["sandbox-secret"]
    assert controls._credentials._in_notebook == [
        service.credentials["sandbox-key"],
        service.credentials["sandbox-secret"],
    ]


def test_problems_stand_where_they_belong_until_they_are_cleared(make_controls):
    """A problem is shown at its field, its control or the button; clearing keeps the badge of a real account.

    The controls stay the same widgets, which keep the keyboard focus in the page.
    """
    controls = make_controls(Environment.BROKER_LIVE)
    kept = controls.slots["environment"].children[0]
    for place in ("client_secret", "environment", "mode", "no such place"):
        controls.complain(PanelProblem(place, f"About {place}.", "Do this."))
    assert controls._credentials.inputs.problems == {"client_secret": "About client_secret. Do this."}
    assert controls.slots["environment"].children[0] is kept
    assert "About environment." in controls.slots["environment"].children[-1].value
    assert "real account" in controls.slots["environment"].children[-1].value
    assert "About no such place." in controls.slots["connect"].children[-1].value
    controls.clear()
    assert controls.slots["environment"].children[0] is kept
    assert controls._credentials.inputs.problems == {}
    assert shown(controls) == ["Environment", "HTML", "Mode", "Credentials", "HTML", "SecretInput", "Connect"]
    assert "About" not in controls.slots["environment"].children[-1].value


def test_the_button_is_disabled_while_the_panel_connects(make_controls):
    """The button cannot be pressed while the panel connects."""
    controls = make_controls()
    controls.set_busy(is_busy=True)
    assert controls._button.disabled
    controls.set_busy(is_busy=False)
    assert not controls._button.disabled


def test_every_choice_is_reported(make_controls):
    """Every choice of the user is reported; changes that follow from other choices are not."""
    edits = []
    controls = make_controls(edited=lambda: edits.append(controls.choice))
    assert edits == []
    controls.environment = Environment.PAPER
    controls._mode.value = Mode.RECORD
    controls._cassette.name.value = "mine"
    assert [(choice[0], choice[1], choice[2]) for choice in edits] == [
        ("paper", "live", None),
        ("paper", "record", None),
        ("paper", "record", "mine"),
    ]
    controls.list_cassettes()
    assert len(edits) == 3
