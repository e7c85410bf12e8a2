from __future__ import annotations

import html
import re
import sys
import unicodedata
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pages import Page

from toolkit.core.secret import REGISTER, Secret
from toolkit.core.text import (
    annotation,
    as_html,
    badge,
    card,
    code,
    count_text,
    date_text,
    excerpt,
    instant_words,
    list_text,
    minutes_text,
    printable,
)

# Includes what plain st.text() rarely draws: controls, format characters, lone surrogates.
FOREIGN = st.text(
    st.one_of(st.characters(), st.characters(categories=["Cc", "Cf", "Cs", "Zl", "Zp"]), st.sampled_from("<>&'\""))
)
BIDI_CONTROLS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def test_printable_drops_the_invisible():
    """Of all characters, those that move the cursor, reorder a line or are invisible are dropped."""
    kept = printable("".join(map(chr, range(sys.maxunicode + 1))))
    assert {c for c in kept if unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"}} == {"\t", "\n"}
    assert not {c for c in kept if unicodedata.bidirectional(c) in BIDI_CONTROLS}
    fillers = "\u00ad\u061c\u115f\u180e\u200b\u200d\u200e\u2060\u3164\ufe0f\ufeff\uffa0\ufff9"
    assert not set(kept) & set(fillers + "\U000e0001\U000e0041\U000e01ef")


@given(FOREIGN, st.integers(1, 300))
def test_excerpt_fits_on_one_line(text, limit):
    """An excerpt is one printable line within the limit."""
    line = excerpt(text, limit)
    assert len(line) <= limit
    assert len(line.splitlines()) <= 1
    assert printable(line) == line


@pytest.mark.parametrize("written", [str, str.lower, str.upper], ids=["as it is", "in a host name", "in capitals"])
@pytest.mark.parametrize("begins_at", range(0, 70, 3))
def test_excerpt_cuts_no_secret_in_two(begins_at, written):
    """An excerpt has the kind of a known secret in its place, and no part of one, wherever the limit falls."""
    secret = "Sq7" * 10
    REGISTER.add("ACCESS_TOKEN", Secret(secret))
    line = excerpt("-" * begins_at + written(secret) + "-" * 40, 60)
    assert len(line) <= 60
    assert "sq7" not in line.lower()
    assert ("<ACCESS_TOKEN>" in line) == (begins_at <= 45)


HOSTILE = FOREIGN.filter(bool) | st.sampled_from(
    ["<img src=x onerror=alert(1)>", '" onmouseover="x', "' onmouseover='x", "\x1b[2J\u202e"]
)
INVISIBLE = set("\x1b\u202e\u200b")


@given(HOSTILE, HOSTILE)
def test_foreign_text_stays_text(first, second):
    """Foreign text adds no elements and no attributes, and nothing invisible is shown."""
    attribute = lambda text: f"<p id='{as_html(text)}'></p>" + f'<p id="{as_html(text)}"></p>'
    make = lambda first, second: card(first, [badge(second)], [(first, code(second))]) + attribute(second)
    plain, hostile = Page(make("x", "x")), Page(make(first, second))
    assert (hostile.tags, hostile.attributes) == (plain.tags, plain.attributes)
    assert not INVISIBLE & set(html.unescape(make(first, second)))
    lines = list_text(["file", "what"], [[first, second]])
    assert len(lines.split("\n")) == 2
    assert not INVISIBLE & set(lines)


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (-5, "0:00"), (0.2, "0:01"), (59, "0:59"), (890, "14:50")])
def test_minutes_text(seconds, text):
    """A lifetime is rounded up, so that 0:00 means expired."""
    assert minutes_text(timedelta(seconds=seconds)) == text


def test_counts():
    """A noun is in the plural unless there is one thing."""
    assert [count_text(number, "account") for number in (0, 1, 1200)] == ["0 accounts", "1 account", "1,200 accounts"]


def test_instants():
    """Instants are in UTC, with English names of months."""
    local = datetime(2026, 5, 12, 9, 30, 7, tzinfo=UTC).astimezone(timezone(timedelta(hours=-12)))
    assert instant_words(local) == "12 May 2026, 09:30:07 UTC"
    assert date_text(local) == "11 May 2026"


def read_command(line):
    """Read a command as a runner does: name, properties, message."""
    name, properties, message = re.fullmatch(r"::(\w+)(?: ([^\n]*?))?::([^\n]*)", line).groups()
    pairs = (item.split("=", 1) for item in properties.split(",")) if properties else ()
    unescape = lambda text: text.replace("%2C", ",").replace("%3A", ":").replace("%0A", "\n").replace("%25", "%")
    return name, {key: unescape(value) for key, value in pairs}, unescape(message)


TEXTS = st.text("ab:,%=\r\n\x1b 0A25::error", max_size=30)


@given(TEXTS, TEXTS, TEXTS)
@example("100 %, or 100%0A", "a%2C.ipynb", "%3A%25")
def test_annotation(message, file, title):
    """A runner reads back what was given, and one line only."""
    line = annotation("error", message, file=file, line=3, title=title)
    name, properties, text = read_command(line)
    clean = lambda text: re.sub("[\r\x1b]", "", text)
    assert (name, text) == ("error", clean(message))
    assert properties == {
        key: clean(value) for key, value in {"file": file, "line": "3", "title": title}.items() if value
    }
