"""Findings of a scan as a list and as a table."""

from __future__ import annotations

from pages import Page, shown

from toolkit.scrubbing.findings import Finding, FindingList, scan


def test_findings(tmp_path):
    """Findings are a list, shown with what to do and as a table, also if there are none."""
    file = tmp_path / "a.txt"
    file.write_text("Authorization: Bearer 0123456789abcdef\n", encoding="utf-8")
    findings = scan(tmp_path)
    assert findings == [Finding(file, 1, "bearer token")]
    assert isinstance(findings, list)
    plain, page = shown(findings)
    advice, _, table = plain.partition("\n\n")
    assert str(findings) == plain
    assert table == f"{'file':<{len(str(file))}}  line  what\n{file}  1     bearer token"
    assert advice.startswith("1 finding in 1 file: ")
    assert Page(page).words.startswith("1 finding in 1 file")
    assert Page(page).tags.count("td") == 3
    assert shown(FindingList()) == (repr(FindingList()), f"<p>{FindingList()!r}</p>")
    assert repr(FindingList()).startswith("No findings")
