"""Workflow commands: nothing in a message or a path ends a command or starts another one."""

import re
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from toolkit.core.text import annotation, fence, workspace_path


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


def test_annotation_of_a_run():
    """Without a file there are no properties; a long message is cut."""
    assert annotation("notice", "fine") == "::notice::fine"
    assert len(annotation("warning", "x" * 10**6)) < 5000


def test_fence():
    """The token that begins a fence ends it."""
    assert fence("word") == ("::stop-commands::word", "::word::")


def test_workspace_path(tmp_path):
    """Paths are relative to the checkout, also through a link; others stay."""
    checkout = tmp_path / "real"
    checkout.mkdir()
    (tmp_path / "link").symlink_to(checkout)
    assert workspace_path(checkout / "a" / "b.ipynb", checkout) == "a/b.ipynb"
    assert workspace_path(checkout / "b.ipynb", tmp_path / "link") == "b.ipynb"
    assert workspace_path(Path("/elsewhere/b.ipynb"), checkout) == "/elsewhere/b.ipynb"
