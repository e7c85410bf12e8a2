"""Tables on a narrow terminal."""

from __future__ import annotations

import io

import canaries
import pandas as pd
import pytest
from rich.console import Console

import toolkit as tk
from toolkit.cli.terminal import FoldedText, folding_table, print_frame


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


def test_known_secrets_are_masked():
    """A terminal, and the log of a pipeline, show a live answer without the secrets that it repeats."""
    secret = canaries.new()
    tk.KeyPair("key-id-1", secret, environment="paper")
    frame = pd.DataFrame({"note": [f"x {secret}", f"{'long ' * 6}{secret}"], secret: [1, 2]})
    console = Console(file=io.StringIO(), width=200)
    print_frame(console, f"GET /v1/{secret}", frame, rows=5)
    assert "x <API_SECRET_KEY>" in console.file.getvalue()
    assert canaries.found_in(console.file.getvalue(), secret[:12]) == []
