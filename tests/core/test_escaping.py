from __future__ import annotations

import html
import sys
import unicodedata
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.secret import REGISTER, Secret
from toolkit.core.text import as_html, excerpt, printable

# Includes what plain st.text() rarely draws: controls, format characters, lone surrogates.
FOREIGN = st.text(
    st.one_of(st.characters(), st.characters(categories=["Cc", "Cf", "Cs", "Zl", "Zp"]), st.sampled_from("<>&'\""))
)
BIDI_CONTROLS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@given(FOREIGN)
def test_printable_idempotent(text):
    """Printable text stays as it is."""
    assert printable(printable(text)) == printable(text)


@given(FOREIGN, FOREIGN)
def test_printable_by_character(left, right):
    """Each character is kept or dropped on its own, whatever its neighbours."""
    assert printable(left + right) == printable(left) + printable(right)


def test_printable_drops_all_controls():
    """Controls, line separators, lone surrogates and bidirectional controls are dropped, in all of Unicode."""
    kept = printable("".join(map(chr, range(sys.maxunicode + 1))))
    assert {c for c in kept if unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"}} == {"\t", "\n"}
    assert not {c for c in kept if unicodedata.bidirectional(c) in BIDI_CONTROLS}


@pytest.mark.parametrize(
    "invisible",
    [
        "\r",
        "\x1b[2J"[0],
        "\x7f",
        "\x9b",
        "\u00ad",
        "\u061c",
        "\u115f",
        "\u180e",
        "\u200b",
        "\u200d",
        "\u200e",
        "\u202e",
        "\u2028",
        "\u2060",
        "\u2066",
        "\u3164",
        "\ufe0f",
        "\ufeff",
        "\uffa0",
        "\ufff9",
        "\ud800",
        "\U000e0001",
        "\U000e0041",
        "\U000e01ef",
    ],
)
def test_printable_drops_the_invisible(invisible):
    """Characters that move the cursor, reorder a line or are invisible are dropped."""
    assert printable(f"a{invisible}b") == "ab"


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"], max_codepoint=0x00FF)))
def test_printable_keeps_the_visible(text):
    """Latin letters, digits, punctuation and spaces stay."""
    assert printable(text) == text


@pytest.mark.parametrize("text", ["\tone\n\ttwo\n", "naïve café", "残高 1,234円", "баланс", "€ 12.50", "😀", "حساب"])
def test_printable_keeps_text(text):
    """Text in any script stays, with its tabs and line ends."""
    assert printable(text) == text


@given(FOREIGN)
def test_printable_encodes(text):
    """Printable text can be written to any UTF-8 stream."""
    printable(text).encode("utf-8")


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
    assert ("<ACCESS_TOKEN>" in line) == (begins_at < 30)


@given(FOREIGN)
def test_excerpt_of_long_text_ends_with_an_ellipsis(text):
    """An excerpt is the whole text with single spaces, or is cut and ends with an ellipsis."""
    whole = " ".join(printable(text).split())
    line = excerpt(text, 20)
    assert line == whole if len(whole) <= 20 else line == whole[:19] + "…"


@given(FOREIGN)
def test_html_shows_the_text(text):
    """HTML shows exactly the printable text."""
    assert html.unescape(as_html(text)) == printable(text)


@given(FOREIGN)
def test_html_is_inert(text):
    """The text does not become markup, neither in an element nor in an attribute."""
    seen = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            seen.append((tag, attrs))

        def handle_endtag(self, tag):
            seen.append(tag)

    for quote in "\"'":
        Reader().feed(f"<p title={quote}{as_html(text)}{quote}>{as_html(text)}</p>")
    assert seen == [("p", [("title", printable(text))]), "p"] * 2
