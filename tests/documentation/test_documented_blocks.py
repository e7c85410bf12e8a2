"""Every page of the documentation: its code is well formed, and its links lead somewhere.

`documented_blocks` says what a block is and how a page marks one that cannot run; `running` runs them, in the gate:

    pytest tests/documentation
    pytest --gate tests/documentation/running -k how-to/x.md
"""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from documented_blocks import COMMANDS, KINDS, ROOT, Block, anchors_of, blocks_of, links_of, markdown_of, page_files

from toolkit.local.settings import Settings

PAGES = {file.relative_to(ROOT).as_posix(): file for file in page_files()}
NOTEBOOKS = {file.relative_to(ROOT).as_posix(): file for file in ROOT.glob("notebooks/*.ipynb")}
# The tables and keys by which a TOML file of another program is known.
OF_OTHERS = frozenset({"build-system", "dependency-groups", "project", "tool"})
sys.path.insert(0, str(ROOT / "notebooks" / ".site"))


def syntax_problem(block: Block, folder: Path) -> str:
    """Return what is wrong with the form of a block, or nothing."""
    try:
        return _CHECKS.get(block.kind, lambda *_: "")(block, folder) or ""
    except Exception as error:  # noqa: BLE001 - whatever a parser says is the finding
        return str(error)


def _python(block: Block, folder: Path) -> None:
    source = re.sub(r"^%.*$", "pass", block.source, flags=re.MULTILINE) if block.kind == "ipython" else block.source
    compile(source, block.page, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def _sh(block: Block, folder: Path) -> str:
    checked = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True, check=False)
    if checked.returncode or block.reason:
        return checked.stderr
    others = sorted({word for word in first_words(block.text) if word not in COMMANDS})
    return f"would run {', '.join(others)}: write <!-- not run: REASON --> above it" if others else ""


def first_words(script: str) -> list[str]:
    """Return the commands that a script calls, as far as simple lines tell."""
    lexer = shlex.shlex(script.replace("\\\n", " "), posix=True, punctuation_chars=";&|\n")
    lexer.whitespace, lexer.whitespace_split = " \t", True
    words, starts = [], True
    for word in lexer:
        if set(word) <= set(";&|\n"):
            starts = True
        elif starts and not re.match(r"\w+=", word):
            words.append(word)
            starts = False
    return words


def _toml(block: Block, folder: Path) -> None:
    text = block.text.replace('"https://..."', '"https://service.example"')
    if set(tomllib.loads(text)) & OF_OTHERS:
        return
    (folder / "toolkit.toml").write_text(text, encoding="utf-8")
    Settings.load(folder / "toolkit.toml", environ={})


_CHECKS = {
    "python": _python,
    "ipython": _python,
    "sh": _sh,
    "toml": _toml,
    "yaml": lambda block, _: yaml.safe_load(block.text) and "",
    "json": lambda block, _: json.loads(block.text) and "",
}


@pytest.mark.parametrize("page", PAGES)
def test_blocks_are_well_formed(page: str, tmp_path: Path) -> None:
    """Every block is of a known kind and has the form of its kind; nothing in it would call foreign programs."""
    blocks = blocks_of(PAGES[page])
    unknown = [f"{block.place}: ```{block.kind}" for block in blocks if block.kind not in {*KINDS, ""}]
    problems = [f"{block.place}: {problem}" for block in blocks if (problem := syntax_problem(block, tmp_path))]
    assert not unknown + problems, "\n".join(unknown + problems)


@pytest.mark.parametrize("page", [*PAGES, *NOTEBOOKS])
def test_links_lead_inside_the_repository(page: str) -> None:
    """A link leads to a file of the repository and, if it names one, to a heading there; or to another host."""
    file = {**PAGES, **NOTEBOOKS}[page]
    dead = [f"{link.place}: {link.target}" for link in links_of(file) if not leads_somewhere(file, link.target)]
    assert not dead, "\n".join(dead)


def leads_somewhere(file: Path, target: str) -> bool:
    """Check whether the target of a link in a file exists; those on other hosts are not asked for."""
    if re.match(r"\w+:", target):
        return target.startswith(("https://", "http://", "mailto:"))
    path, _, anchor = target.partition("#")
    aim = (file.parent / path).resolve() if path else file
    if not aim.exists() or not aim.is_relative_to(ROOT):
        return False
    if not anchor or aim.suffix not in (".md", ".ipynb"):
        return True
    if aim.parent.name == "reference" and find_spec("matplotlib") is None:
        return True  # the docstrings of charts cannot be read; building the site finds headings that do not exist
    return anchor in anchors_of(text_of(aim))


def text_of(file: Path) -> str:
    """Return the Markdown of a page with its generated part, as the site shows it."""
    if file.suffix == ".ipynb" or not file.is_relative_to(ROOT / "notebooks"):
        return markdown_of(file)
    from site_pages import site_text  # of notebooks/.site

    return site_text(file.relative_to(ROOT / "notebooks").with_suffix("").as_posix(), markdown_of(file))
