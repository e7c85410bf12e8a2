"""Scan files and folders, and leave out what the project allows."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, Final

from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.local.files import expanded
from toolkit.local.settings import Settings, as_settings
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.scanning.allow_list import allow_list
from toolkit.scrubbing.scanning.baseline import Baseline, read_baseline
from toolkit.scrubbing.scanning.contents import Opener
from toolkit.scrubbing.scanning.findings import Finding, FindingList, ScanReport, Unreadable
from toolkit.scrubbing.scanning.scanned_files import cannot_read, files_at, reason_of
from toolkit.scrubbing.scanning.searching import sightings_in

_MOST: Final = 10_000  # findings in one file
Paths = str | Path | Iterable[str | Path]


def scan_files(
    paths: Paths,
    *,
    secrets: str | Secret | Iterable[str | Secret] = (),
    settings: Settings | None = None,
    baseline: str | Path | None = None,
) -> ScanReport:
    """Look for secrets in files, for those that the process knows and for values in the places of credentials.

    Args:
        paths: files and folders.
        secrets: texts to look for in every form.
        settings: the settings with the table [scan]; by default those of the project.
        baseline: the file with the findings that the project has already; by default the one that [scan] names. Pass an
            empty text to use none.

    Raises:
        ConfigurationError: if a path does not exist or cannot be read, or settings or baseline are malformed.
    """
    named = _named(paths)
    settings = as_settings(settings)
    allowed = allow_list(settings.scan, settings.project)
    before = _baseline(settings, baseline)
    known = KnownSecrets()
    known.add_texts(secrets)
    findings: list[Finding] = []
    files: list[Path] = []
    unreadable: list[Unreadable] = []
    seen: set[Path] = set()
    for path in named:
        for file in files_at(path):
            if isinstance(file, Unreadable):
                unreadable.append(file)
                continue
            if file.absolute() in seen:
                continue
            seen.add(file.absolute())
            try:
                with file.open("rb") as stream:
                    findings += _findings_in(file, stream, known, unreadable)
            except OSError as error:
                if file == path:
                    raise cannot_read(file, error) from None
                unreadable.append(Unreadable(file, reason_of(error)))
            else:
                files.append(file)
    new = [finding for finding in findings if not allowed.allows(finding)]
    left = [finding for finding in new if finding not in before]
    return ScanReport(
        FindingList(left, unreadable),
        files=len(files),
        allowed=len(findings) - len(new),
        unused_allowances=allowed.unused(named, files),
        in_baseline=len(new) - len(left),
        unreadable=tuple(unreadable),
    )


def _named(paths: Paths) -> list[Path]:
    several = [paths] if isinstance(paths, str | os.PathLike) or not isinstance(paths, Iterable) else list(paths)
    if not all(isinstance(path, str | os.PathLike) for path in several):
        raise ConfigurationError(
            "The paths to scan are not a path or a list of paths.", 'For example tk.scan(".").', about="paths"
        )
    return list(dict.fromkeys(expanded(Path(path), about="paths") for path in several))


def _baseline(settings: Settings, baseline: str | Path | None) -> Baseline:
    if baseline is None:
        named = settings.scan.get("baseline", "")
        if not isinstance(named, str):
            raise ConfigurationError(
                "baseline in [scan] is not a path.", 'Write baseline = ".scan-baseline.json".', about="baseline"
            )
        baseline = settings.project / named if named else ""
    return read_baseline(Path(baseline)) if baseline else Baseline(settings.project)


def _findings_in(path: Path, stream: BinaryIO, known: KnownSecrets, unreadable: list[Unreadable]) -> list[Finding]:
    opener = Opener(os.fstat(stream.fileno()).st_size)
    findings: dict[tuple[Finding, str], Finding] = {}
    notes: list[str] = []
    for text in opener.texts_in(stream):
        for line, kind, fingerprint in sightings_in(text, known):
            place = text.place
            finding = Finding(path, place.lines(line), kind, place.cell, place.part, fingerprint)
            findings.setdefault((finding, fingerprint), finding)
        if len(findings) > _MOST:
            notes.append(f"it has more than {_MOST:,} findings; the rest of it was not listed")
            break
    unreadable += (Unreadable(path, note) for note in (*opener.notes, *notes))
    return sorted(findings.values(), key=_order)[:_MOST]


def _order(finding: Finding) -> tuple[int, int, str, str, str]:
    return finding.line, finding.cell or 0, finding.part, finding.kind, finding.fingerprint
