"""Controls and words come and go in a slot, without disturbing the controls that stay."""

from __future__ import annotations

import ipywidgets
import pytest

from toolkit.notebook.panel.slots import DropdownControl, Slot


@pytest.fixture
def slot():
    made = Slot(ipywidgets.Button(description="a"), layout=ipywidgets.Layout())
    yield made
    made.close()


def test_words_come_and_go_below_the_controls(slot):
    """Showing and removing words keeps the controls, so that a page keeps their views."""
    (button,) = slot.children
    slot.say("<b>words</b>")
    assert [part.value for part in slot.children[1:]] == ["<b>words</b>"]
    assert slot.children[0] is button
    slot.say("")
    assert slot.children == (button,)


def test_words_stay_while_controls_change(slot):
    """Words stay below the controls while other controls are shown."""
    slot.say("words")
    other = ipywidgets.Button(description="b")
    slot.show(other)
    assert slot.children[0] is other
    assert slot.children[1].value == "words"
    slot.show()
    assert [part.value for part in slot.children] == ["words"]


def test_an_empty_slot_makes_nothing():
    """An empty slot does not make a widget, which would be saved with the notebook."""
    slot = Slot(layout=ipywidgets.Layout())
    slot.say("")
    assert slot.children == ()
    assert slot._words is None
    slot.close()


def test_an_observer_sees_no_intermediate_choice():
    """A dropdown does not report the choices that it passes through when its options change."""
    seen = []
    layout = ipywidgets.Layout()
    control = DropdownControl("a", look={"layout": layout}, changed=lambda change: seen.append(change["new"]))
    control.offer([("c", 3), ("b", 2), ("d", 4)], 4)
    assert (control.dropdown.value, seen) == (4, [])
    control.offer([], None)
    assert control.dropdown.value is None
    control.offer([("e", 5), ("f", 6)], 5)
    control.dropdown.value = 6
    assert seen == [6]
    control.close()
