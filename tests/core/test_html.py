from __future__ import annotations

import html

from hypothesis import given
from hypothesis import strategies as st
from pages import Page

from toolkit.core.text import badge, card, code, list_html, list_text, notice

HOSTILE = st.text(min_size=1) | st.sampled_from(["<img src=x onerror=alert(1)>", '" onmouseover="x', "\x1b[2J\u202e"])
INVISIBLE = set("\x1b\u202e\u200b")


@given(HOSTILE, HOSTILE)
def test_foreign_text_stays_text(first, second):
    """Foreign text adds no elements and no attributes, and nothing invisible is shown."""
    makers = (
        lambda first, second: card(first, [badge(second)], [(first, code(second))]),
        lambda first, second: notice(first, [second.replace("\n", " "), "x"]),
        lambda first, second: list_html([first], [[second]]),
    )
    for make in makers:
        plain, hostile = Page(make("x", "x")), Page(make(first, second))
        assert (hostile.tags, hostile.attributes) == (plain.tags, plain.attributes)
        assert not INVISIBLE & set(html.unescape(make(first, second)))
    lines = list_text(["file", "what"], [[first, second]])
    assert len(lines.split("\n")) == 2
    assert not INVISIBLE & set(lines)


def test_card():
    """A card is a title, badges, and a table of facts if there are any."""
    page = Page(card("Settings", [badge("real account", alarming=True)], [("header prefix", code("SVC"))]))
    assert page.words.split(" · ") == ["Settings ", " real account header prefix SVC "]
    assert page.attributes == {"style", "scope"}
    assert "table" not in Page(card("Settings", [], [])).tags


def test_notice():
    """A notice shows the first line with its title, and the other lines muted below; line breaks stay."""
    page = notice("ConfigurationError", ["What.\nMore.", "What next.", ""])
    assert Page(page).words.split() == "ConfigurationError : What. More. What next.".split()
    assert page.count("<br>") == page.count("opacity") == 1


def test_list_text():
    """Columns of plain text are aligned, without spaces at the ends of lines."""
    assert list_text(["file", "line"], [["a.txt", "1"], ["b", "12"]]) == "file   line\na.txt  1\nb      12"
