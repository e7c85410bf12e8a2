"""Controls and words come and go in a slot, without disturbing the controls that stay."""

from __future__ import annotations

import ipywidgets
import pytest

from toolkit.notebook.panel.slot import Slot, set_options


@pytest.fixture
def slot():
    made = Slot(ipywidgets.Button(description="a"), layout=ipywidgets.Layout())
    yield made
    made.close()


def test_words_come_and_go_below_the_controls(slot):
    """The controls stay the same objects, so a page keeps their views."""
    (button,) = slot.children
    slot.say("<b>words</b>")
    assert [part.value for part in slot.children[1:]] == ["<b>words</b>"]
    assert slot.children[0] is button
    slot.say("")
    assert slot.children == (button,)


def test_words_stay_while_controls_change(slot):
    """They go when they are removed."""
    slot.say("words")
    other = ipywidgets.Button(description="b")
    slot.show(other)
    assert slot.children[0] is other
    assert slot.children[1].value == "words"
    slot.show()
    assert [part.value for part in slot.children] == ["words"]


def test_an_empty_slot_makes_nothing():
    """A widget that is never needed is not saved with the notebook."""
    slot = Slot(layout=ipywidgets.Layout())
    slot.say("")
    assert slot.children == ()
    assert slot._words is None
    slot.close()


def test_an_observer_sees_no_intermediate_choice():
    """A dropdown passes through the first of its new options, which must not be reported."""
    seen = []
    control = ipywidgets.Dropdown(options=[("a", 1), ("b", 2)], value=2)

    def observer(change):
        seen.append(change["new"])

    control.observe(observer, "value")
    set_options(control, [("c", 3), ("b", 2), ("d", 4)], 4, observer)
    assert (control.value, seen) == (4, [])
    set_options(control, [], None, observer)
    assert control.value is None
    set_options(control, [("e", 5), ("f", 6)], 5, observer)
    control.value = 6
    assert seen == [6]
