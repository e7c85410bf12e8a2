"""The documentation as data: its pages, their blocks of code, and their links.

Pages are `README.md`, the Markdown below `.github`, and the Markdown below `notebooks`. A block is code between fences:

- `python` and `ipython`: run in their order in one namespace. `ipython` may have magics (`%load_ext toolkit`).
- `sh`: run with bash in the same folder, in the order of the page; `toolkit`, `python` and `pytest` are those of the
  tests.
- `powershell`: each line that begins with `toolkit` is checked against the options of the application.
- `toml`: loads as a `toolkit.toml`, or parses if it is for another program. `yaml`, `json`: parse.
- `text`, `python-console`, none: output; neither run nor checked.

The project folder of a page has a notebook, `notebooks/report.ipynb`, the recording that it plays, and what the blocks
write. A block whose first line is a comment with a
file name, such as `# test_money.py` or `# toolkit.toml`, is saved under that name as well.

`<!-- not run: REASON -->` directly above a block says that it cannot run here; its syntax is checked all the same. The
blocks that `.ci/run` runs (`<!-- ci: NAME -->`) are not run again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[1]
KINDS = frozenset("python ipython sh powershell toml yaml json text python-console".split())
_PARSER = MarkdownIt("commonmark").enable("table")
_MARK = re.compile(r"<!-- (not run|ci): *(\S.*?) *-->\s*\Z")
_FILE = re.compile(r"# ([\w./-]+\.(?:py|toml|yaml|yml|env|json|ini|cfg))\s*\Z|# (\.env)\s*\Z")


@dataclass(frozen=True)
class Block:
    """A block of code.

    Attributes:
        page: its page, from the root of the repository.
        line: the line of its opening fence, from 1.
        kind: the word after the fence.
        text: the code, without the indentation of the fence.
        reason: why it is not run, or None.
    """

    page: str
    line: int
    kind: str
    text: str
    reason: str | None = None

    @property
    def place(self) -> str:
        """Page and line, as editors and terminals take them."""
        return f"{self.page}:{self.line}"

    @property
    def file(self) -> str | None:
        """The name under which the block is saved in the project folder, or None."""
        match = _FILE.match(self.text.partition("\n")[0])
        return match and (match[1] or match[2])

    @property
    def source(self) -> str:
        """The code below as many empty lines as stand above it, so that errors name the line of the page."""
        return "\n" * self.line + self.text


def page_files(root: Path = ROOT) -> list[Path]:
    """Return the Markdown files of the documentation."""
    files = [root / "README.md", *root.glob(".github/**/*.md"), *root.glob("notebooks/**/*.md")]
    return sorted(file for file in files if file.is_file() and ".ipynb_checkpoints" not in file.parts)


def blocks_of(file: Path, root: Path = ROOT) -> list[Block]:
    """Return the blocks of a page, those in directives such as `{note}` included."""
    page = file.relative_to(root).as_posix()
    return list(_blocks(page, file.read_text(encoding="utf-8"), 0))


def _blocks(page: str, text: str, above: int) -> Iterator[Block]:
    before: Token | None = None
    for token in _PARSER.parse(text):
        if token.type == "fence" and token.map:
            kind = token.info.split()[0] if token.info.split() else ""
            line = above + token.map[0] + 1
            if kind.startswith("{"):
                yield from _blocks(page, token.content, line)
            else:
                mark = _MARK.match(before.content) if before is not None and before.type == "html_block" else None
                yield Block(page, line, kind, token.content, mark and f"{mark[1]}: {mark[2]}")
        before = token


def links_of(file: Path) -> list[str]:
    """Return where the links and pictures of a page or of the text cells of a notebook lead."""
    children = [child for token in _PARSER.parse(markdown_of(file)) for child in token.children or ()]
    return [str(target) for child in children if (target := child.attrGet("href") or child.attrGet("src"))]


def markdown_of(file: Path) -> str:
    """Return the Markdown of a page, or of a notebook's text cells."""
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".ipynb":
        return text
    return "\n\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")
