"""`pytest --toolkit-verify`: each notebook is a test, with all that pytest has for tests."""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from notebook_files import write_notebook

import toolkit
from toolkit.verification import Outcome, verify

pytest_plugins = ["pytester"]
CASSETTES = Path(toolkit.__file__).parents[1] / "cassettes"


@pytest.fixture
def notebooks(pytester, monkeypatch, tmp_path_factory):
    """Return a folder with notebooks that are right, changed and broken, beside an ordinary test and two cassettes."""
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))  # which is the project's folder otherwise
    pytester.makepyprojecttoml("[project]\nname = 'shop'\n")
    folder = pytester.mkdir("notebooks")
    cassettes = pytester.mkdir("cassettes")
    shutil.copy(CASSETTES / "tour.yaml", cassettes / "tour.yaml")
    shutil.copy(CASSETTES / "tour.yaml", cassettes / "spare.yaml")
    write_notebook(folder / "right.ipynb", "import toolkit\nlen(toolkit.Session(cassette='tour').accounts()) > 0")
    write_notebook(folder / "changed.ipynb", "print('first')\nprint('second')")
    assert {each.outcome for each in verify([folder], update=True)} == {Outcome.UPDATED}
    changed = folder / "changed.ipynb"
    changed.write_text(changed.read_text().replace("second\\n", "third\\n"))
    write_notebook(folder / "broken.ipynb", "1 / 0")
    write_notebook(folder / ".ipynb_checkpoints" / "right-checkpoint.ipynb", "1 / 0")
    (folder / "test_beside.py").write_text("def test_beside(): pass\n")
    return folder


def test_notebooks(notebooks, pytester):
    """Only on request are notebooks tests; what differs is shown, in the JUnit report too, under xdist and with -k."""

    def run(*options):
        result = pytester.runpytest_subprocess("-pno:cacheprovider", "-pno:hypothesispytest", *options, timeout=180)
        return result.parseoutcomes(), result.stdout.str()

    assert run("notebooks")[0] == {"passed": 1}
    counts, output = run(
        "--toolkit-verify", "-n2", "--junitxml=report.xml", "-k", "not broken", "--toolkit-unused", "notebooks"
    )
    assert counts == {"passed": 2, "failed": 1}, output
    assert "changed.ipynb: cell 1" not in output
    assert "changed.ipynb: differs in 1 cell" in output
    assert "+second" in output
    assert "Traceback" not in output
    assert "plugin.py" not in output
    unused = output.partition("cassettes that no test opened")[2]
    assert "cassettes/spare.yaml" in unused
    assert "1 of 2 cassettes" in unused
    [failure] = ET.parse(pytester.path / "report.xml").iter("failure")  # noqa: S314
    assert "+second" in failure.text
    counts, output = run("--toolkit-verify", "notebooks/broken.ipynb")
    assert counts == {"failed": 1}
    assert "cell 1 (1 / 0): ZeroDivisionError" in output
