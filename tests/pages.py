"""Helpers for tests of rich displays."""

from __future__ import annotations

from html.parser import HTMLParser

from IPython.core.formatters import DisplayFormatter


class Page(HTMLParser):
    """A piece of HTML: its tags, the names of its attributes, and its words."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.words, self.open = [], set(), "", []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data + " "


def shown(value):
    """Return the plain text and the HTML that a kernel would show for a value."""
    data, _ = DisplayFormatter().format(value)
    return data["text/plain"], data["text/html"]
