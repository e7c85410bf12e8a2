"""Every page of the documentation: its code is well formed, and its links lead somewhere.

`documented_blocks` says what a block is and how a page marks one that cannot run; `running` runs them, in the gate:

    pytest tests/documentation
    pytest --gate tests/documentation/running -k how-to/x.md
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from documented_blocks import KINDS, ROOT, Block, blocks_of, links_of, page_files

from toolkit.local.settings import Settings

PAGES = {file.relative_to(ROOT).as_posix(): file for file in page_files()}
# The tables and keys by which a TOML file of another program is known.
OF_OTHERS = frozenset({"build-system", "dependency-groups", "project", "tool"})


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
    return subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True, check=False).stderr


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
    """Every block is of a known kind and has the form of its kind."""
    blocks = blocks_of(PAGES[page])
    unknown = [f"{block.place}: ```{block.kind}" for block in blocks if block.kind not in {*KINDS, ""}]
    problems = [f"{block.place}: {problem}" for block in blocks if (problem := syntax_problem(block, tmp_path))]
    assert not unknown + problems, "\n".join(unknown + problems)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files(page: str) -> None:
    """A link leads to a file of the repository or to another host; building the site checks headings."""
    file = PAGES[page]
    paths = [path for link in links_of(file) if (path := link.partition("#")[0]) and not re.match(r"\w+:", path)]
    assert [path for path in paths if not (file.parent / path).is_file()] == []
