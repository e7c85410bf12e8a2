"""A baseline leaves out what a project had before, and says nothing about the secrets."""

from __future__ import annotations

import json
import random
import string

import pytest

from toolkit.core.errors import ConfigurationError
from toolkit.local.settings import Settings
from toolkit.scrubbing.scanning import scan_files
from toolkit.scrubbing.scanning.baseline import baseline_text, write_baseline
from toolkit.scrubbing.scanning.findings import fingerprint_of

# The same on every run: a few of many random texts look like words, and are not findings.
CHANCE = random.Random(20261123)  # noqa: S311


def fake():
    return "".join(CHANCE.choices(string.ascii_letters + string.digits, k=32))


@pytest.fixture
def old_project(tmp_path):
    """Return a project with two secrets and a baseline that has them."""
    for name in ("a.txt", "b/c.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"password={fake()}\n", encoding="utf-8")
    write_baseline(tmp_path / "base.json", scan_files(tmp_path).findings)
    return tmp_path


def test_only_new_findings(old_project):
    """Known findings are left out wherever their lines move; new ones and those of other files are not."""
    report = scan_files(old_project, baseline=old_project / "base.json")
    assert (report.findings, report.in_baseline) == ([], 2)
    text = (old_project / "a.txt").read_text(encoding="utf-8")
    (old_project / "a.txt").write_text(f"\n\n {text}password={fake()}\n", encoding="utf-8")
    (old_project / "d.txt").write_text(text, encoding="utf-8")
    report = scan_files(old_project, baseline=old_project / "base.json")
    assert [(each.path.name, each.line) for each in report.findings] == [("a.txt", 4), ("d.txt", 1)]
    assert report.in_baseline == 2


def test_baseline_of_the_settings(old_project, monkeypatch):
    """[scan] names a baseline relative to the project; paths in it do not depend on the working directory."""
    settings = Settings(project=old_project, scan={"baseline": "base.json"})
    monkeypatch.chdir(old_project / "b")
    assert scan_files(["..", "c.txt"], settings=settings).findings == []
    assert len(scan_files("..", settings=settings, baseline="").findings) == 2
    with pytest.raises(ConfigurationError, match="not a path"):
        scan_files("..", settings=Settings(project=old_project, scan={"baseline": 3}))


def test_a_baseline_tells_no_secret(old_project):
    """The file has path, kind and fingerprint, and no part of a secret."""
    text = (old_project / "base.json").read_text(encoding="utf-8")
    assert all(row.keys() == {"path", "kind", "fingerprint"} for row in json.loads(text)["findings"])
    for name in ("a.txt", "b/c.txt"):
        value = (old_project / name).read_text(encoding="utf-8").partition("=")[2].strip()
        assert not any(value[at : at + 6] in text for at in range(len(value) - 5))
    findings = scan_files(old_project).findings
    assert baseline_text(reversed(findings), old_project) == text
    assert baseline_text([], old_project) == '{"version": 1, "findings": []}\n'


def test_fingerprints_are_short():
    """A fingerprint has 24 bits, too few to lead back to a value; separators do not count."""
    value = fake()
    assert fingerprint_of("secret field", value) == fingerprint_of("secret field", f" {value}\n")
    assert fingerprint_of("secret field", value) != fingerprint_of("bearer token", value)
    assert len(fingerprint_of("secret field", value * 9)) == 6


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"version": 2, "findings": []}',
        '{"version": 1, "findings": [{"path": 3}]}',
        "[" * 100_000,
        "\xff",
    ],
)
def test_malformed_baselines(tmp_path, text):
    """A file of another kind is refused."""
    (tmp_path / "base.json").write_text(text, encoding="latin-1")
    with pytest.raises(ConfigurationError, match="not a baseline") as caught:
        scan_files(tmp_path, baseline=tmp_path / "base.json")
    assert caught.value.about == "baseline"


def test_missing_baselines(tmp_path):
    """A missing file, and one that cannot be written, is an error that says what to do."""
    with pytest.raises(ConfigurationError, match="Cannot read the baseline"):
        scan_files(tmp_path, baseline=tmp_path / "base.json")
    with pytest.raises(ConfigurationError, match="Cannot write the baseline"):
        write_baseline(tmp_path / "no" / "base.json", [])
