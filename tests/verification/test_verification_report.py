"""Reports on verdicts: text, JSON and annotations."""

import json

import pytest
from notebook_files import write_notebook

from toolkit.verification import FORMATS, CellPlace, Difference, Failure, Outcome, Verdict

CELL = CellPlace(3, "table")


@pytest.fixture
def notebook(tmp_path):
    return write_notebook(tmp_path / "a.ipynb", "1", "2", "table")


def verdict(path, outcome=Outcome.DIFFERS, **fields):
    differences = fields.pop("diff", None)
    changed = (Difference(CELL, tuple(differences)),) if differences else ()
    return Verdict(path, outcome, cells=3, seconds=1.25, differences=changed, **fields)


def test_text(notebook):
    """A line for each notebook, the lines that differ, and what to do."""
    text = FORMATS["text"]([verdict(notebook, diff=["-1", "+2"]), verdict(notebook, Outcome.SAME)], notebook.parent)
    assert f"{notebook}: differs in 1 cell (1.2 s)\n  cell 3 (table)\n    -1\n    +2\n{notebook}: same" in text
    assert "2 notebooks: 1 differs, 1 same." in text
    assert "--update" in text
    updated = FORMATS["text"]([verdict(notebook, Outcome.UPDATED, diff=["-1", "+2"])], notebook.parent)
    assert "    -1" not in updated
    failed = verdict(notebook, Outcome.FAILED, failure=Failure("KeyError: 'a'", "Look at it.", CELL))
    assert "  cell 3 (table): KeyError: 'a'\n  Look at it.\n" in FORMATS["text"]([failed], notebook.parent)
    assert "Two runs" in FORMATS["text"]([verdict(notebook, Outcome.UNSTABLE, diff=["-1"])], notebook.parent)


def test_foreign_text_is_shortened_and_escaped(notebook):
    """At most 15 lines for a cell; no control characters, and no long lines."""
    lines = ["-\x1b[2J[bold]x", "+\u202ey", "+" + "z" * 500, *["+line"] * 40]
    text = FORMATS["text"]([verdict(notebook, diff=lines)], notebook.parent)
    shown = [line for line in text.splitlines() if line.startswith("    ")]
    assert len(shown) == 15
    assert shown[-1] == "    … 29 more lines"
    assert "-[2J[bold]x" in text
    assert not {"\x1b", "\u202e"} & set(text)
    assert max(map(len, shown)) < 170


def test_json(notebook):
    """JSON has every field and every line."""
    (report,) = json.loads(FORMATS["json"]([verdict(notebook, diff=["-1", "+2"] * 30)], notebook.parent))
    assert (report["path"], report["outcome"], report["is_good"]) == (str(notebook), "differs", False)
    assert report["differences"] == [{"cell": {"number": 3, "first_line": "table"}, "diff": ["-1", "+2"] * 30}]
    assert json.loads(FORMATS["json"]([], notebook.parent)) == []


def test_annotations(notebook):
    """Annotations stand behind the text, which the runner does not search for commands, at the lines of the cells."""
    notebook.write_text(json.dumps(json.loads(notebook.read_text()), indent=1))
    line = notebook.read_text().splitlines().index('   "source": "table"') + 1
    text = FORMATS["github"]([verdict(notebook, diff=["-::error::foreign", "+2"])], notebook.parent)
    begin, *shown, end, annotation = text.splitlines()
    token = begin.removeprefix("::stop-commands::")
    assert (len(token), end) == (32, f"::{token}::")
    assert any("::error::foreign" in each for each in shown)
    start = f"::error file=a.ipynb,line={line},title=a.ipynb%2C cell 3 (table)%3A differs::"
    assert annotation == f"{start}-::error::foreign%0A+2"
    failed = verdict(notebook, Outcome.FAILED, failure=Failure("It is torn.", "Restore it."))
    start = "::error file=a.ipynb,line=1,title=a.ipynb%3A failed::"
    assert FORMATS["github"]([failed], notebook.parent).splitlines()[-1] == f"{start}It is torn.%0ARestore it."
