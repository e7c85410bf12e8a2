"""Slots keep their place, and with it the views of controls that did not change."""

from __future__ import annotations

import ipywidgets
import pytest

from toolkit.notebook.panel.slot import Slot, set_options


@pytest.fixture
def slot():
    made = Slot(ipywidgets.Button(description="a"), layout=ipywidgets.Layout())
    yield made
    made.close()


def test_words_come_below_the_controls_and_go_again(slot):
    """The controls before them are the same objects, so a page keeps their views."""
    (button,) = slot.children
    slot.say("<b>words</b>")
    assert [one.value for one in slot.children[1:]] == ["<b>words</b>"]
    assert slot.children[0] is button
    slot.say("")
    assert slot.children == (button,)


def test_words_stay_while_controls_change(slot):
    """Until they are taken back."""
    slot.say("words")
    other = ipywidgets.Button(description="b")
    slot.show(other)
    assert slot.children[0] is other
    assert slot.children[1].value == "words"
    slot.show()
    assert [one.value for one in slot.children] == ["words"]


def test_an_empty_slot_makes_nothing():
    """A widget that is never needed is not saved with the notebook."""
    slot = Slot(layout=ipywidgets.Layout())
    slot.say("")
    assert slot.children == ()
    assert slot._words is None
    slot.close()


def test_other_options_are_chosen_from_without_a_word_between():
    """Whoever observes a selection does not see it pass through the first of the new options."""
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
