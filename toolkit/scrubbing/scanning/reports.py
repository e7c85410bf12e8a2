"""The report of a scan in the formats that people and programs read: text, JSON, annotations of GitHub, SARIF.

Each function returns the whole text. All of them name file, place and kind of a finding, never the value.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from toolkit.core.escaping import masked, printable
from toolkit.core.programs import pasteable
from toolkit.core.words import count_text
from toolkit.core.workflow_commands import annotation, workspace_path
from toolkit.scrubbing.scanning.advice import FILE, PAGE, cleaning_for, ending_for, history_step, quoted
from toolkit.scrubbing.scanning.findings import Finding, ScanReport

_VERSION: Final = 1  # of the JSON report
_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_RULE_PREFIX: Final = "secret/"
_SEVERITY: Final = "8.0"  # how GitHub sorts alerts: 7.0 to 8.9 is "high"


class ReportFormat(StrEnum):
    """The formats of a report."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"


def report_text(report: ScanReport, form: ReportFormat, folder: Path) -> str:
    """Return a report as text that ends with a newline.

    Args:
        report: the result of a scan.
        form: the format.
        folder: the folder that paths in annotations and SARIF are relative to: that of the checkout.
    """
    return _FORMATS[form](report, folder)


def _text(report: ScanReport, _: Path) -> str:
    lines = [f"{_on_one_line(str(finding))}  [{finding.fingerprint}]" for finding in report.findings]
    lines += [f"not read: {_on_one_line(str(each))}" for each in report.unreadable]
    lines += [f"unused: {_on_one_line(each)}" for each in report.unused_allowances]
    sections = [lines, [summary(report)]]
    if report.findings:
        steps = (f"- {pasteable(step)}" for step in _steps(report.findings))
        sections.append(["What to do:", *steps, f"More in the toolkit's {PAGE}."])
        sections.append(["A false alarm? Say why, in toolkit.toml:", "[scan]", _allowance(report.findings[0])])
    return "\n".join("\n".join([*section, ""]) for section in sections if section)


def _allowance(finding: Finding) -> str:
    """Return the entry of an allow-list for a finding, ready to copy."""
    path = json.dumps(_shown_path(finding.path), ensure_ascii=False)
    return f'allow = [{{path = {path}, fingerprint = "{finding.fingerprint}", reason = "why it is harmless"}}]'


def summary(report: ScanReport) -> str:
    """Return in one sentence how much was found, read and left out."""
    files = len({finding.path for finding in report.findings})
    counted = f"{count_text(len(report.findings), 'finding')} in {count_text(files, 'file')}"
    left_out = [
        f"{count:,} {words}"
        for count, words in (
            (report.allowed, "allowed"),
            (report.in_baseline, "in the baseline"),
            (len(report.unreadable), "not read"),
        )
        if count
    ]
    read = ", ".join([f"{count_text(report.files, 'file')} read", *left_out])
    return f"{counted if report.findings else 'No findings'} ({read})."


def _steps(findings: Iterable[Finding]) -> list[str]:
    """Return the steps about all findings: each kind once, each way of cleaning once, and git's history once."""
    findings = list(findings)
    endings: dict[str, list[str]] = {}
    for kind in sorted({finding.kind for finding in findings}):
        endings.setdefault(ending_for(kind), []).append(kind)
    cleanings: dict[str, list[str]] = {}
    for finding in findings:
        names = cleanings.setdefault(cleaning_for(finding.path, finding.part), [])
        if (name := _shown_path(finding.path)) not in names:
            names.append(name)
    paths = {finding.path for finding in findings}
    name = quoted(paths.pop()) if len(paths) == 1 else FILE
    return [
        *(f"{_listed(kinds)}: {text}" for text, kinds in endings.items()),
        *(f"{_listed(names)}: {text.replace(FILE, name)}" for text, names in cleanings.items()),
        history_step(name),
    ]


def _listed(names: list[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def _json(report: ScanReport, _: Path) -> str:
    content = {
        "version": _VERSION,
        "findings": [
            {
                "path": _plain_path(finding.path),
                "line": finding.line,
                "cell": finding.cell,
                "part": masked(finding.part),
                "kind": finding.kind,
                "fingerprint": finding.fingerprint,
                "advice": list(finding.advice),
            }
            for finding in report.findings
        ],
        "files": report.files,
        "allowed": report.allowed,
        "in_baseline": report.in_baseline,
        "unused_allowances": list(report.unused_allowances),
        "unreadable": [{"path": _plain_path(each.path), "reason": each.reason} for each in report.unreadable],
    }
    return json.dumps(content, indent=1) + "\n"


def _github(report: ScanReport, folder: Path) -> str:
    lines = [
        annotation(
            "error",
            "\n".join([_place_words(finding), *finding.advice, f"More in the toolkit's {PAGE}."]),
            file=masked(workspace_path(finding.path, folder)),
            line=_line_in_file(finding),
            title=f"Secret: {finding.kind}",
        )
        for finding in report.findings
    ]
    lines += [
        annotation("warning", each.reason, file=masked(workspace_path(each.path, folder)), title="Not scanned")
        for each in report.unreadable
    ]
    lines += [
        annotation("warning", each, file="toolkit.toml", title="Unused allowance") for each in report.unused_allowances
    ]
    last = annotation("error" if report.findings else "notice", summary(report), title="toolkit scan")
    return "\n".join([*lines, last, ""])


def _sarif(report: ScanReport, folder: Path) -> str:
    kinds = sorted({finding.kind for finding in report.findings})
    run = {
        "tool": {
            "driver": {
                "name": "toolkit scan",
                "rules": [_rule(kind) for kind in kinds],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not report.unreadable,
                "toolExecutionNotifications": [
                    *(
                        {
                            "level": "error",
                            "message": {"text": f"Not read: {_sentence(each.reason)}"},
                            "locations": [{"physicalLocation": {"artifactLocation": _artifact(each.path, folder)}}],
                        }
                        for each in report.unreadable
                    ),
                    *({"level": "warning", "message": {"text": each}} for each in report.unused_allowances),
                ],
            }
        ],
        "results": [_result(finding, kinds.index(finding.kind), folder) for finding in report.findings],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(kind: str) -> dict[str, Any]:
    """Return a kind of finding as a `reportingDescriptor` (SARIF 2.1.0, section 3.49)."""
    return {
        "id": _rule_id(kind),
        "name": "".join(word.capitalize() for word in _rule_id(kind).removeprefix(_RULE_PREFIX).split("-")),
        "shortDescription": {"text": _sentence(kind)},
        "fullDescription": {"text": f"What looks like a secret: {kind}."},
        "help": {
            "text": "\n".join([ending_for(kind), cleaning_for(None), history_step(), f"More in the toolkit's {PAGE}."])
        },
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["security"], "security-severity": _SEVERITY},
    }


def _rule_id(kind: str) -> str:
    words = "".join(letter if letter.isascii() and letter.isalnum() else " " for letter in kind.lower()).split()
    return _RULE_PREFIX + "-".join(words)


def _result(finding: Finding, rule: int, folder: Path) -> dict[str, Any]:
    """Return a finding as a `result` (SARIF 2.1.0, section 3.27)."""
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": _artifact(finding.path, folder),
            "region": {"startLine": _line_in_file(finding) or 1},
        }
    }
    if finding.place:
        location["logicalLocations"] = [{"fullyQualifiedName": _on_one_line(finding.place)}]
    return {
        "ruleId": _rule_id(finding.kind),
        "ruleIndex": rule,
        "level": "error",
        "message": {"text": "\n".join([_place_words(finding), *finding.advice])},
        "locations": [location],
        "partialFingerprints": {"toolkitScan/v1": finding.fingerprint or _rule_id(finding.kind)},
    }


def _artifact(path: Path, folder: Path) -> Mapping[str, str]:
    """Return a file as an `artifactLocation` (SARIF 2.1.0, section 3.4), relative to the checkout if it lies there."""
    relative = workspace_path(path, folder)
    if Path(relative).is_absolute() or relative.startswith("../"):
        return {"uri": Path(os.path.abspath(masked(str(path)))).as_uri()}  # noqa: PTH100 - without following links
    return {"uri": quote(os.fsencode(masked(relative))), "uriBaseId": "%SRCROOT%"}


def _line_in_file(finding: Finding) -> int | None:
    """Return the line in the file itself, or None for a finding within an archive, a picture or the like."""
    is_in_file = finding.path.suffix.lower() == ".ipynb" or not finding.part or finding.part.startswith("base64")
    return max(1, finding.line) if is_in_file else None


def _place_words(finding: Finding) -> str:
    if not finding.place:
        return f"{_sentence(finding.kind)}"
    line = "" if _line_in_file(finding) else f", line {finding.line}"
    return _sentence(f"{finding.kind} in {_on_one_line(finding.place)}{line}")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _shown_path(path: Path) -> str:
    return _on_one_line(path.as_posix())


def _plain_path(path: Path) -> str:
    return masked(str(path))


def _on_one_line(text: str) -> str:
    return " ".join(masked(printable(text)).splitlines())


_FORMATS: Final[Mapping[ReportFormat, Callable[[ScanReport, Path], str]]] = {
    ReportFormat.TEXT: _text,
    ReportFormat.JSON: _json,
    ReportFormat.GITHUB: _github,
    ReportFormat.SARIF: _sarif,
}
