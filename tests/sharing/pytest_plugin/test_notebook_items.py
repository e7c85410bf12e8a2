"""What the report of a failed notebook says."""

from __future__ import annotations

from pathlib import Path

from toolkit.sharing.pytest_plugin.notebook_items import headline, verdict_text
from toolkit.verification.verdict import CellPlace, Difference, Failure, Kind, Outcome, Verdict, VersionChange

CELL = CellPlace(3, "frame")


def test_differences():
    """Each difference is shown with its cell and lines; what an editor added is not."""
    differences = (
        Difference("output 1, text/plain", Kind.DATA, CELL, ("-  1", "+  2"), "It contains a time."),
        Difference("metadata", Kind.EDITOR, None, ("+trusted",)),
    )
    versions = (VersionChange("pandas", "3.1", "3.2"),)
    verdict = Verdict(Path("a/tour.ipynb"), Outcome.DIFFERS, differences=differences, versions=versions)
    assert headline(verdict) == "the outputs differ from the stored ones at 1 place"
    assert verdict_text(verdict).splitlines() == [
        "tour.ipynb: the outputs differ from the stored ones at 1 place",
        "cell 3 (frame): output 1, text/plain [data]",
        "  -  1",
        "  +  2",
        "  It contains a time.",
        "made with pandas 3.1, here 3.2.",
        "If the new outputs are right: toolkit verify --update, and check what git shows.",
    ]


def test_failure():
    """A notebook that fails is shown with its cell and what to do."""
    failure = Failure("ValueError: no", "Run it in JupyterLab.", CELL)
    verdict = Verdict(Path("tour.ipynb"), Outcome.FAILED, failure=failure)
    assert verdict_text(verdict) == "tour.ipynb: cell 3 (frame): ValueError: no\nRun it in JupyterLab."


def test_hostile_and_long():
    """Lines of a notebook are harmless in a terminal and short; of many differences the first ones are shown."""
    line = "+\x1b[2J\u202e" + "x" * 1000
    differences = (Difference("output 1", Kind.DATA, CELL, (line,) * 100),) * 100
    text = verdict_text(Verdict(Path("tour.ipynb"), Outcome.DIFFERS, differences=differences))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert max(map(len, text.splitlines())) <= 170
    assert len(text.splitlines()) < 700
    assert "… 70 more lines" in text
    assert "… and 80 more" in text
