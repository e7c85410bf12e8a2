"""Reports of a scan: each format can be read by its readers, whatever the names of files."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st

from toolkit.scrubbing.scanning import Finding, FindingList, Unreadable
from toolkit.scrubbing.scanning.findings import FORMATS

FOLDER = Path("/checkout")
NOTEBOOK = Finding(FOLDER / "a b.ipynb", 12, "bearer token", 3, "output text/html", "aa11bb")
ARCHIVE = Finding(FOLDER / "old.zip", 7, "secret field", None, "keys.json", "cc22dd")
SCRIPT = Finding(FOLDER / "call.sh", 2, "bearer token", fingerprint="ee33ff")


def report_of(*findings, **facts):
    """Return a list of findings with these facts."""
    report = FindingList(findings)
    vars(report).update(facts)
    return report


REPORT = report_of(
    NOTEBOOK,
    SCRIPT,
    ARCHIVE,
    files=9,
    allowed=4,
    unused_allowances=("entry 1 of the allow list in [scan] matches nothing: b",),
    unreadable=(Unreadable(FOLDER / "locked.db", "Permission denied"),),
    skipped=(FOLDER / "node_modules", FOLDER / ".venv", FOLDER / "web" / "node_modules"),
    project=FOLDER,
)
CLEAN = report_of(files=2)


def written(report, form):
    return FORMATS[form](report, FOLDER)


def checked_sarif(report):
    """Return the run of a report in SARIF 2.1.0 after checking what the standard requires."""
    content = json.loads(written(report, "sarif"))
    (run,) = content["runs"]
    assert content["version"] == "2.1.0"
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        place = result["locations"][0]["physicalLocation"]
        assert place["region"]["startLine"] >= 1
        assert re.fullmatch(r"[A-Za-z0-9%/:._~!$&'()*+,;=@-]+", place["artifactLocation"]["uri"])
    return run


def test_text():
    """A line for each finding, for what was not seen and what is unused; a summary; each step once; the entries."""
    lines = written(REPORT, "text").splitlines()
    assert lines[:6] == [
        "/checkout/a b.ipynb:12: cell 3, output text/html: bearer token  [aa11bb]",
        "/checkout/call.sh:2: bearer token  [ee33ff]",
        "/checkout/old.zip:7: keys.json: secret field  [cc22dd]",
        "not read: /checkout/locked.db: Permission denied",
        "skipped: node_modules (2), .venv",
        "unused: entry 1 of the allow list in [scan] matches nothing: b",
    ]
    assert lines[7] == "3 findings in 3 files (9 files read, 4 allowed, 1 not read, 3 skipped)."
    steps = "\n".join(lines[8:])
    for words in ("- First revoke each secret", "- Clean the file", "--path FILE ", "after-a-leak.md"):
        assert steps.count(words) == 1
    entries = tomllib.loads("\n".join(lines[lines.index("[scan]") :]))["scan"]["allow"]
    reason = "why it is harmless"
    assert entries[0] == {"path": "a b.ipynb", "fingerprint": "aa11bb", "reason": reason}
    assert [entry["path"] for entry in entries] == ["a b.ipynb", "call.sh", "old.zip"]


def test_sarif():
    """SARIF has the fields that the standard requires, and places relative to the checkout."""
    run = checked_sarif(REPORT)
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["secret/bearer-token", "secret/secret-field"]
    places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    assert [place["artifactLocation"]["uri"] for place in places] == ["a%20b.ipynb", "call.sh", "old.zip"]
    assert [place["region"]["startLine"] for place in places] == [12, 2, 1]
    assert run["results"][0]["message"]["text"].startswith("Bearer token in cell 3, output text/html.")
    assert run["results"][0]["partialFingerprints"] == {"toolkitScan/v1": "aa11bb"}
    assert run["invocations"][0]["executionSuccessful"] is False
    assert len(run["invocations"][0]["toolExecutionNotifications"]) == 3
    assert checked_sarif(CLEAN)["invocations"][0]["executionSuccessful"] is True


NAMES = st.text(st.sampled_from("ab.:,%'\"\\\n\r\x1b\u202e\u2028 é\udcff[]#?$`<>"), min_size=1, max_size=12)


@given(NAMES, NAMES, st.sampled_from(["ipynb", "zip", "yaml", ""]))
def test_any_name(name, part, suffix):
    """No name of a file or of an archive's member breaks a format, adds a line or moves a terminal's cursor."""
    path = FOLDER / f"x{name}.{suffix}"
    report = report_of(Finding(path, 3, "bearer token", None, part), unreadable=(Unreadable(path, "odd"),))
    lines = written(report, "text").splitlines()
    assert lines[0].endswith("bearer token  []")
    assert lines[1].startswith("not read: ")
    assert lines[3] == "1 finding in 1 file (0 files read, 1 not read)."
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e\u2028\udcff]", "\n".join(lines))
    assert [line.partition(" ")[0] for line in written(report, "github").split("\n")] == [
        *("::error", "::warning", "::error"),
        "",
    ]
    assert json.loads(written(report, "json"))["findings"][0]["path"] == str(path)
    uri = checked_sarif(report)["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert unquote(uri, errors="surrogateescape") == f"x{name}.{suffix}"
    assert written(report, "sarif").isascii()
