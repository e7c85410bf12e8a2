"""The findings of a scan, and their reports as text, JSON, GitHub annotations and SARIF, without any secret."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from toolkit.core.text import (
    annotation,
    count_text,
    list_text,
    masked,
    printable,
)
from toolkit.local.files import toml_string, workspace_path

PAGE: Final = "notebooks/how-to/after-a-leak.md"
_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_WHAT_TO_DO: Final = "check each place, revoke each real secret, and remove it from the file."
_NO_FINDINGS: Final = "No findings: nothing looks like a secret."
_MORE: Final = f"{PAGE} in the toolkit's repository has the steps for each kind of secret and file."
_ADVICE: Final = (
    "First revoke each secret with its issuer, and check the issuer's logs for its use.",
    "Clean the file: clear a notebook's outputs, scrub a recording with toolkit cassettes scrub, delete a log.",
    "Keep the value in an environment variable, or save it with toolkit credentials add.",
    "If it was committed: git filter-repo --invert-paths --path FILE removes the file from git's history.",
    _MORE,
)


@dataclass(frozen=True, slots=True)
class Finding:
    """A secret, or a string that looks like a secret, in a file.

    Attributes:
        path: the file.
        line: line number, from 1, in the file, or in the text inside a container such as an archive.
        kind: a description of what was found, never the text itself.
        cell: number of the notebook cell, from 1; None in other files.
        part: where in the file: in a notebook "source", "output text/html" or "widget state"; in an archive, a name;
            empty for a file that is read directly.
        fingerprint: six hex digits that identify the finding in `toolkit.toml`, even if it moves.
    """

    path: Path
    line: int
    kind: str
    cell: int | None = None
    part: str = ""
    fingerprint: str = field(default="", compare=False)

    @property
    def place(self) -> str:
        """Where in the file the finding is, in addition to the line: "cell 3, output text/html", or ""."""
        return ", ".join(filter(None, (f"cell {self.cell}" if self.cell else "", self.part)))

    @property
    def advice(self) -> tuple[str, ...]:
        """The steps to take for this finding, in order."""
        return tuple(advice_for([self]))

    def __str__(self) -> str:
        place = f"{self.place}: " if self.place else ""
        return printable(f"{self.path}:{self.line}: {place}{self.kind}").replace("\n", " ")


class Unreadable(NamedTuple):
    """A file or folder, or a part of a file, that a scan could not read, and the reason."""

    path: Path
    reason: str


class FindingList(list[Finding]):
    """A list of findings, shown as a table in notebooks and terminals.

    Attributes:
        files: number of files that were read.
        unreadable: what could not be read.
        skipped: the folders that were not searched: hidden ones, caches, installed packages and links.
        allowed: number of findings that `toolkit.toml` allows; they are not in the list.
        unused_allowances: descriptions of the entries in `toolkit.toml` that match no finding.
        project: the project folder.
    """

    files: int = 0
    unreadable: Sequence[Unreadable] = ()
    skipped: Sequence[Path] = ()
    allowed: int = 0
    unused_allowances: Sequence[str] = ()
    project: Path = Path()

    def not_seen(self) -> list[str]:
        """Return a line for each file that could not be read, and one for the folders that were skipped."""
        counts = Counter(path.name for path in self.skipped)
        names = [f"{name} ({count:,})" if count > 1 else name for name, count in counts.items()]
        lines = [f"not read: {path}: {reason}" for path, reason in self.unreadable]
        lines += [f"skipped: {', '.join(names)}"] if names else []
        return [printable(line).replace("\n", " ") for line in lines]

    def count_words(self) -> str:
        """Return the number of findings and the number of files that have them, as a string."""
        files = len({finding.path for finding in self})
        return f"{count_text(len(self), 'finding')} in {count_text(files, 'file')}"

    def __repr__(self) -> str:
        lines = [f"{self.count_words()}: {_WHAT_TO_DO}\n", self._table()] if self else [_NO_FINDINGS]
        return "\n".join([*lines, *self.not_seen()])

    def _table(self) -> str:
        rows = [(str(each.path), str(each.line), each.place, each.kind) for each in self]
        return list_text(("file", "line", "place", "what"), rows)


def fingerprint_of(kind: str, value: str = "") -> str:
    """Return the fingerprint of a finding, which does not depend on its position in a file.

    It has 24 bits: enough to distinguish the findings in a file, but far too few to reveal a machine-made value. One
    text in 16 million has the same fingerprint. For a secret that the user supplies, pass no value: if a person made it
    up, it could be guessed from the fingerprint.
    """
    text = f"{kind}\n{''.join(filter(str.isalnum, value))}".encode("utf-8", "replace")
    return hashlib.blake2b(text, key=b"toolkit scan", digest_size=3).hexdigest()


def advice_for(findings: Iterable[Finding]) -> list[str]:
    """Return the steps to take for these findings, in order."""
    paths = {finding.path for finding in findings}
    path = paths.pop() if len(paths) == 1 else Path("FILE")
    name = shlex.quote(masked(printable(path.as_posix()).replace("\n", " ")))
    return [step.replace("FILE", name) for step in _ADVICE]


def _summary(findings: FindingList) -> str:
    counts = {"allowed": findings.allowed, "not read": len(findings.unreadable), "skipped": len(findings.skipped)}
    left_out = [f"{count:,} {words}" for words, count in counts.items() if count]
    read = ", ".join([f"{count_text(findings.files, 'file')} read", *left_out])
    return f"{findings.count_words() if findings else 'No findings'} ({read})."


def _text(findings: FindingList, _: Path) -> str:
    lines = [f"{_on_one_line(str(finding))}  [{finding.fingerprint}]" for finding in findings]
    lines += [*map(_on_one_line, findings.not_seen()), *(f"unused: {each}" for each in findings.unused_allowances)]
    sections = [lines, [_summary(findings)]]
    if findings:
        sections.append(["What to do:", *(f"- {step}" for step in advice_for(findings))])
        sections.append(["To allow harmless findings, add to toolkit.toml:", *entries_for(findings, findings.project)])
    return "\n".join("\n".join([*section, ""]) for section in sections if section)


def entries_for(findings: Iterable[Finding], project: Path) -> list[str]:
    """Return the lines for `toolkit.toml` that allow these findings, ready to paste, with an entry for each file."""
    fingerprints: dict[str, dict[str, None]] = {}
    for finding in findings:
        path = masked(printable(workspace_path(finding.path, project))).replace("\n", " ")
        fingerprints.setdefault(path, {})[finding.fingerprint] = None
    entries = [
        f'  {{path = {toml_string(path)}, fingerprint = "{" ".join(several)}", reason = "why it is harmless"}},'
        for path, several in fingerprints.items()
    ]
    return ["[scan]", "allow = [", *entries, "]"]


def _json(findings: FindingList, _: Path) -> str:
    content = {
        "version": 1,
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
    lines = []
    for finding in findings:
        file, title = masked(workspace_path(finding.path, folder)), f"Secret: {finding.kind}"
        lines.append(annotation("error", _message(finding), file=file, line=_line_in_file(finding), title=title))
    warnings = [*(f"{path}: {reason}" for path, reason in findings.unreadable), *findings.unused_allowances]
    lines += [annotation("warning", masked(each), title="toolkit scan") for each in warnings]
    last = annotation("error" if findings else "notice", _summary(findings), title="toolkit scan")
    return "\n".join([*lines, last, ""])


def _sarif(findings: FindingList, folder: Path) -> str:
    kinds = sorted({finding.kind for finding in findings})
    notes = [{"message": {"text": masked(each)}} for each in (*findings.not_seen(), *findings.unused_allowances)]
    run = {
        "tool": {"driver": {"name": "toolkit scan", "rules": [_rule(kind) for kind in kinds]}},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": not findings.unreadable, "toolExecutionNotifications": notes}],
        "results": [_result(finding, kinds.index(finding.kind), folder) for finding in findings],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(kind: str) -> dict[str, Any]:
    """Return a kind of finding as a `reportingDescriptor` (SARIF 2.1.0, section 3.49)."""
    properties = {"tags": ["security"], "security-severity": "8.0"}  # GitHub calls 7.0 to 8.9 "high"
    return {"id": _rule_id(kind), "shortDescription": {"text": kind}, "help": {"text": _MORE}, "properties": properties}


def _rule_id(kind: str) -> str:
    return f"secret/{kind.replace(',', '').replace(' ', '-').lower()}"


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
    """Return a file as an `artifactLocation` (SARIF 2.1.0, section 3.4), relative to the checkout if inside it."""
    relative = workspace_path(path, folder)
    if Path(relative).is_absolute() or relative.startswith("../"):
        return {"uri": Path(os.path.abspath(masked(str(path)))).as_uri()}  # noqa: PTH100 - without following links
    return {"uri": quote(os.fsencode(masked(relative))), "uriBaseId": "%SRCROOT%"}


def _line_in_file(finding: Finding) -> int | None:
    """Return the line in the file itself, or None for a finding inside a container such as an archive."""
    is_in_file = finding.path.suffix.lower() == ".ipynb" or not finding.part or finding.part.startswith("base64")
    return max(1, finding.line) if is_in_file else None


def _message(finding: Finding) -> str:
    place = f" in {finding.place}" if finding.place else ""
    line = "" if _line_in_file(finding) else f", line {finding.line}"
    found = _on_one_line(f"{finding.kind[:1].upper()}{finding.kind[1:]}{place}{line}.")
    return "\n".join([found, *finding.advice])


def _on_one_line(text: str) -> str:
    return " ".join(masked(printable(text)).splitlines())


# Each returns the whole text; paths in annotations and SARIF are relative to the folder of the checkout.
FORMATS: Final = {"text": _text, "json": _json, "github": _github, "sarif": _sarif}
