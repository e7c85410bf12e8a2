"""The report of a scan in the formats that people and programs read: text, JSON, annotations of GitHub, SARIF.

All of them name file, place and kind of a finding, never the value.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from toolkit.core.escaping import masked, printable
from toolkit.core.programs import pasteable
from toolkit.core.words import count_text
from toolkit.core.workflow_commands import annotation, workspace_path
from toolkit.scrubbing.scanning.allow import entries_for
from toolkit.scrubbing.scanning.findings import PAGE, Finding, FindingList, advice_for

_VERSION: Final = 1  # of the JSON report
_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_SEVERITY: Final = "8.0"  # how GitHub sorts alerts: 7.0 to 8.9 is "high"


def _summary(findings: FindingList) -> str:
    """Return in one sentence how much was found, read and left out."""
    counts = {"allowed": findings.allowed, "not read": len(findings.unreadable), "skipped": len(findings.skipped)}
    left_out = [f"{count:,} {words}" for words, count in counts.items() if count]
    read = ", ".join([f"{count_text(findings.files, 'file')} read", *left_out])
    return f"{findings.count_words() if findings else 'No findings'} ({read})."


def _text(findings: FindingList, _: Path) -> str:
    lines = [f"{_on_one_line(str(finding))}  [{finding.fingerprint}]" for finding in findings]
    lines += [*map(_on_one_line, findings.not_seen()), *(f"unused: {each}" for each in findings.unused_allowances)]
    sections = [lines, [_summary(findings)]]
    if findings:
        steps = (f"- {pasteable(step)}" for step in advice_for(findings))
        sections.append(["What to do:", *steps])
        sections.append(["False alarms? Say why, in toolkit.toml:", *entries_for(findings, findings.project)])
    return "\n".join("\n".join([*section, ""]) for section in sections if section)


def _json(findings: FindingList, _: Path) -> str:
    content = {
        "version": _VERSION,
        "findings": [
            asdict(each) | {"path": masked(str(each.path)), "part": masked(each.part), "advice": each.advice}
            for each in findings
        ],
        "files": findings.files,
        "allowed": findings.allowed,
        "unused_allowances": findings.unused_allowances,
        "unreadable": [{"path": masked(str(each.path)), "reason": each.reason} for each in findings.unreadable],
        "skipped": [masked(str(path)) for path in findings.skipped],
    }
    return json.dumps(content, indent=1) + "\n"


def _github(findings: FindingList, folder: Path) -> str:
    lines = [
        annotation(
            "error",
            _message(finding),
            file=masked(workspace_path(finding.path, folder)),
            line=_line_in_file(finding),
            title=f"Secret: {finding.kind}",
        )
        for finding in findings
    ]
    warnings = [*(f"{path}: {reason}" for path, reason in findings.unreadable), *findings.unused_allowances]
    lines += [annotation("warning", masked(each), title="toolkit scan") for each in warnings]
    last = annotation("error" if findings else "notice", _summary(findings), title="toolkit scan")
    return "\n".join([*lines, last, ""])


def _sarif(findings: FindingList, folder: Path) -> str:
    kinds = sorted({finding.kind for finding in findings})
    notes = [_on_one_line(each) for each in (*findings.not_seen(), *findings.unused_allowances)]
    run = {
        "tool": {"driver": {"name": "toolkit scan", "rules": [_rule(kind) for kind in kinds]}},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not findings.unreadable,
                "toolExecutionNotifications": [{"message": {"text": each}} for each in notes],
            }
        ],
        "results": [_result(finding, kinds.index(finding.kind), folder) for finding in findings],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(kind: str) -> dict[str, Any]:
    """Return a kind of finding as a `reportingDescriptor` (SARIF 2.1.0, section 3.49)."""
    advice, level = {"text": f"See the toolkit's {PAGE}."}, {"tags": ["security"], "security-severity": _SEVERITY}
    return {"id": _rule_id(kind), "shortDescription": {"text": kind}, "help": advice, "properties": level}


def _rule_id(kind: str) -> str:
    return "secret/" + "-".join(re.findall("[a-z0-9]+", kind.lower()))


def _result(finding: Finding, rule: int, folder: Path) -> dict[str, Any]:
    """Return a finding as a `result` (SARIF 2.1.0, section 3.27)."""
    region = {"startLine": _line_in_file(finding) or 1}
    return {
        "ruleId": _rule_id(finding.kind),
        "ruleIndex": rule,
        "level": "error",
        "message": {"text": _message(finding)},
        "locations": [{"physicalLocation": {"artifactLocation": _artifact(finding.path, folder), "region": region}}],
        "partialFingerprints": {"toolkitScan/v1": finding.fingerprint},
    }


def _artifact(path: Path, folder: Path) -> Mapping[str, str]:
    """Return a file as an `artifactLocation` (SARIF 2.1.0, section 3.4), relative to the checkout if it lies there."""
    relative = workspace_path(path, folder)
    if Path(relative).is_absolute() or relative.startswith("../"):
        return {"uri": Path(os.path.abspath(masked(str(path)))).as_uri()}  # noqa: PTH100 - without following links
    return {"uri": quote(os.fsencode(masked(relative))), "uriBaseId": "%SRCROOT%"}


def _line_in_file(finding: Finding) -> int | None:
    """Return the line in the file itself, or None for a finding within an archive or the like."""
    is_in_file = finding.path.suffix.lower() == ".ipynb" or not finding.part or finding.part.startswith("base64")
    return max(1, finding.line) if is_in_file else None


def _message(finding: Finding) -> str:
    """Return what was found and where, and what to do."""
    place = f" in {finding.place}" if finding.place else ""
    line = "" if _line_in_file(finding) else f", line {finding.line}"
    found = _on_one_line(f"{finding.kind[:1].upper()}{finding.kind[1:]}{place}{line}.")
    return "\n".join([found, *finding.advice])


def _on_one_line(text: str) -> str:
    return " ".join(masked(printable(text)).splitlines())


# Each returns the whole text, with a newline at its end. Paths in annotations and SARIF are relative to the folder of
# the checkout.
FORMATS: Final[Mapping[str, Callable[[FindingList, Path], str]]] = {
    "text": _text,
    "json": _json,
    "github": _github,
    "sarif": _sarif,
}
