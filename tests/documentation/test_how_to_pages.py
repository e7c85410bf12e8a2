"""How-to pages have one form, the first page leads to each, and messages that they quote are those of the package."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from documented_blocks import ROOT, links_of, page_files

import toolkit

PAGES = {file.relative_to(ROOT).as_posix(): file for file in page_files() if file.parent.name == "how-to"}
# What an item quotes at its beginning, perhaps after the name of an error: "- *The cassette ... does not exist*: ...".
QUOTED = re.compile(r"^- (?:`\w+` )?(\*[^*]+\*(?:(?:, | and )\*[^*]+\*)*)", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_form(page: str) -> None:
    """A page is short: a title, its answer, code, and near the end what to do if it fails."""
    lines = PAGES[page].read_text(encoding="utf-8").splitlines()
    headings = [line for line in lines if line.startswith("## ")]
    assert lines[0].startswith("# ")
    assert lines[2][0].isalpha() or lines[2][0] == "`"
    assert headings[-1] == "## If it fails"
    assert 40 <= len(lines) <= 120


def test_first_page_leads_to_every_page() -> None:
    """A reader who looks for an answer finds each page on the first one."""
    first = ROOT / "notebooks" / "index.md"
    links = {(first.parent / link.target).resolve() for link in links_of(first)}
    assert {page for page, file in PAGES.items() if file not in links} == set()


def texts_of_the_package() -> Iterator[str]:
    """Yield every text in the package, each between two values on its own, with a space for each line break."""
    for file in Path(toolkit.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield " ".join(node.value.split())


def quotes(text: str) -> list[str]:
    """Return the pieces of the messages that a page quotes below "If it fails"; three dots stand for a value."""
    section = text.partition("## If it fails")[2]
    messages = re.findall(r"\*([^*]+)\*", " ".join(QUOTED.findall(section)))
    pieces = [piece.strip(" .") for message in messages for piece in " ".join(message.split()).split("...")]
    return [piece for piece in pieces if piece]


@pytest.fixture(scope="module")
def package() -> str:
    """Return all texts in the package."""
    return "\n".join(texts_of_the_package())


@pytest.mark.parametrize("page", PAGES)
def test_quoted_messages_exist(page: str, package: str) -> None:
    """Each piece of a quoted message is in a text of the package."""
    missing = [piece for piece in quotes(PAGES[page].read_text(encoding="utf-8")) if piece not in package]
    assert not missing, missing


def test_quotes_of_a_page() -> None:
    """Messages at the beginning of an item count, in any number of lines; other emphasis does not."""
    text = "- *a*: b\n## If it fails\n- *There is no ...\n  here*, *b*: *c*\n- `Busy` *x ... y*: d\n- e *f*\n- **g**: h"
    assert quotes(text) == ["There is no", "here", "b", "x", "y"]
