"""What a project allows is left out, for a reason; entries that match nothing are named."""

from __future__ import annotations

import pytest

from tests.planted_project import fake
from toolkit.core.errors import ConfigurationError
from toolkit.local.settings import Settings
from toolkit.scrubbing.scanning import scan_files
from toolkit.scrubbing.scanning.allow import AllowList
from toolkit.scrubbing.scanning.findings import entries_for
from toolkit.sharing.saved_secrets import scan


@pytest.fixture
def project(tmp_path):
    """Return a project with a secret in each of three files."""
    for name in ("tests/a.txt", "tests/deep/b.txt", "c.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"password={fake()}\n", encoding="utf-8")
    return tmp_path


def scanned(project, *allow, paths=None):
    settings = Settings(project=project, scan={"allow": list(allow)})
    return scan_files(project if paths is None else paths, settings=settings)


def names(report):
    return [finding.path.name for finding in report]


@pytest.mark.parametrize(
    ("entry", "left"),
    [
        ({"path": "tests/**"}, ["c.txt"]),
        ({"path": "tests"}, ["c.txt"]),
        ({"path": "tests/*"}, ["c.txt", "b.txt"]),
        ({"path": "**/b.txt"}, ["c.txt", "a.txt"]),
        ({"kind": "secret field"}, []),
        ({"path": "tests/**", "kind": "private key"}, ["c.txt", "a.txt", "b.txt"]),
    ],
)
def test_entries(project, entry, left):
    """An entry allows what meets all its conditions; paths are relative to the project."""
    report = scanned(project, {**entry, "reason": "made up"})
    assert names(report) == left
    assert report.allowed == 3 - len(left)
    assert len(report.unused_allowances) == (len(left) == 3)


def test_fingerprints(project):
    """A fingerprint allows one secret wherever its line moves, and no other."""
    finding = scanned(project)[0]
    entry = {"path": "c.txt", "fingerprint": finding.fingerprint, "reason": "opens nothing"}
    text = (project / "c.txt").read_text(encoding="utf-8")
    (project / "c.txt").write_text(f"\n\n  {text}", encoding="utf-8")
    assert names(scanned(project, entry)) == ["a.txt", "b.txt"]
    (project / "c.txt").write_text(f"password={fake()}\n", encoding="utf-8")
    report = scanned(project, entry)
    assert names(report) == ["c.txt", "a.txt", "b.txt"]
    (unused,) = report.unused_allowances
    assert unused == f"entry 1 of the allow list in [scan] matches nothing: c.txt, {finding.fingerprint}, opens nothing"


def test_entries_ready_to_paste(project, monkeypatch):
    """The entries that a report prints allow all that it found and nothing else, wherever the scan was started."""
    monkeypatch.chdir(project / "tests")
    report = scan_files("..", settings=Settings(project=project))
    (project / "toolkit.toml").write_text("\n".join(entries_for(report, report.project)), encoding="utf-8")
    settings = Settings.load(project / "toolkit.toml", environ={})
    assert scan_files("..", settings=settings) == []
    (project / "tests" / "a.txt").write_text(f"password={fake()}\n", encoding="utf-8")
    assert names(scan_files("..", settings=settings)) == ["a.txt"]


def test_settings_of_the_project(project, monkeypatch):
    """`tk.scan` follows the project's toolkit.toml, and none that came with the files in a folder of it."""
    (project / "toolkit.toml").write_text(
        '[scan]\nallow = [{path = "tests/**", reason = "made for the tests"}]\n', encoding="utf-8"
    )
    monkeypatch.chdir(project)
    assert [finding.path.name for finding in scan(".")] == ["c.txt"]
    everything = '[scan]\nallow = [{kind = "secret field", reason = "trust me"}]\n'
    (project / "vendored").mkdir()
    (project / "vendored" / "toolkit.toml").write_text(everything, encoding="utf-8")
    (project / "c.txt").rename(project / "vendored" / "c.txt")
    for paths in (".", "vendored", "vendored/c.txt"):  # only the project's own list counts
        assert [finding.path.name for finding in scan(paths)] == ["c.txt"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"allow": [{"path": "a"}]}, "Entry 1 of .* does not give a reason"),
        ({"allow": [{"reason": "all is well"}]}, "would allow everything"),
        ({"allow": [{"path": "a", "reason": "r", "line": "3"}]}, "has the unknown key line"),
        ({"allow": [{"path": 3, "reason": "r"}]}, "not a table of strings"),
        ({"allow": "tests/**"}, "may contain only a list named allow"),
        ({"baseline": "known.json"}, "contains baseline, but may contain only a list named allow"),
    ],
)
def test_malformed_tables(tmp_path, table, message):
    """A table that says something else is refused, with the number of the entry."""
    with pytest.raises(ConfigurationError, match=message) as caught:
        AllowList(table, tmp_path)
    assert caught.value.about == "scan"
