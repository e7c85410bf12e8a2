"""The allow-list of a folder counts for the files below it, and for no others."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest
import test_floors

from toolkit.core.errors import ConfigurationError
from toolkit.local.settings import Settings
from toolkit.scrubbing.scanning import scan_files

ROOT = Path(test_floors.__file__).parents[1]


@pytest.fixture
def project(tmp_path):
    """Return a project with a secret at the top, and one in each of two nested folders."""
    for name in ("a.txt", "old/b.txt", "old/deep/c.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"password={secrets.token_urlsafe(24)}\n", encoding="utf-8")
    return tmp_path


def allow(folder, entry):
    (folder / "toolkit.toml").write_text(f"[scan]\nallow = [{entry}]\n", encoding="utf-8")


def scanned(project, paths=None):
    report = scan_files(project if paths is None else paths, settings=Settings(project=project))
    return [finding.path.name for finding in report.findings], report


def test_list_of_a_folder(project):
    """Paths in a folder's list are relative to it, and its entries count below it only."""
    allow(project / "old", '{path = "*.txt", reason = "made up"}')
    assert scanned(project)[0] == ["a.txt"]
    allow(project / "old", '{path = "deep/**", reason = "made up"}')
    names, report = scanned(project)
    assert (names, report.allowed, report.unused_allowances) == (["a.txt", "b.txt"], 1, ())
    allow(project / "old" / "deep", '{kind = "secret field", reason = "made up"}')
    assert scanned(project, [project / "old" / "deep" / "c.txt"])[0] == []


def test_unused_entry_of_a_folder(project):
    """An entry that allows nothing is named with the file that it is in, though its folder has no finding."""
    (project / "empty").mkdir()
    (project / "empty" / "d.txt").write_text("nothing", encoding="utf-8")
    allow(project / "empty", '{kind = "private key", reason = "made up"}')
    _, report = scanned(project)
    (unused,) = report.unused_allowances
    assert unused.startswith("empty/toolkit.toml: entry 1 of [scan] allow matches nothing")


@pytest.mark.parametrize("text", ["scan = 5", '[scan]\nallow = [{path = "*"}]'])
def test_malformed_list_of_a_folder(project, text):
    """A malformed list is an error that names its file."""
    file = project / "old" / "toolkit.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        scanned(project)
    assert str(file) in str(caught.value)


def test_outside_the_project(project):
    """A list in a folder above the project does not count."""
    allow(project, '{kind = "secret field", reason = "made up"}')
    report = scan_files(project / "old", settings=Settings(project=project / "old"))
    assert len(report.findings) == 2


def test_this_repository():
    """The files of this repository's tests that hold made-up secrets say so, each for a reason."""
    report = scan_files(ROOT / "tests" / "compatibility", settings=Settings(project=ROOT))
    assert (list(report.findings), report.unused_allowances, report.allowed) == ([], (), 5)
