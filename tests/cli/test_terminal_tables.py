"""Tables on a narrow terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from toolkit.cli.terminal import FoldedText, folding_table


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        ("~/.config/profiles/paper.default.toml", ["~/.config/profiles/", "paper.default.toml"]),
        ("C:\\Users\\ann\\paper.default.toml", ["C:\\Users\\ann\\", "paper.default.toml"]),
    ],
)
def test_paths_fold_at_separators(path, lines):
    """A path that is too long goes on in the next line behind a separator, and no name is cut."""
    console = Console(file=io.StringIO(), width=24)
    table = folding_table("source")
    table.add_row(FoldedText(path))
    console.print(table)
    assert [line.strip() for line in console.file.getvalue().splitlines()[2:]] == lines
