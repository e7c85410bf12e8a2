"""Messages that how-to pages quote are those of the package."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from documented_blocks import ROOT, page_files

import toolkit

PAGES = {file.relative_to(ROOT).as_posix(): file for file in page_files() if file.parent.name == "how-to"}
# What an item quotes at its beginning, perhaps after the name of an error: "- *The cassette ... does not exist*: ...".
QUOTED = re.compile(r"^- (?:`\w+` )?(\*[^*]+\*(?:(?:, | and )\*[^*]+\*)*)", re.MULTILINE)


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
