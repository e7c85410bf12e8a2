"""`tk.import_cassette`: make a clean cassette of a HAR file, or of a cassette that another program recorded."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from toolkit.auth.credentials import as_environment
from toolkit.cassettes.catalog.rescrubbing import todays_scrubber
from toolkit.cassettes.catalog.rewriting import rewrite
from toolkit.cassettes.importing import source_files
from toolkit.cassettes.importing.callers import Callers
from toolkit.cassettes.importing.choosing import EntryChoice
from toolkit.cassettes.importing.cleaning import cleaned
from toolkit.cassettes.importing.entries import Entry
from toolkit.cassettes.importing.report import ImportReport, LeftOut
from toolkit.cassettes.paths import find_cassette
from toolkit.core.arguments import as_flag, as_texts
from toolkit.core.document import Environment
from toolkit.core.errors import CassetteError, ConfigurationError
from toolkit.core.escaping import excerpt
from toolkit.core.secret import Secret
from toolkit.local.settings import Settings, as_settings
from toolkit.scrubbing.rules.model import Rules, as_rules
from toolkit.scrubbing.scrubber import Scrubber

_LONGEST = 60  # characters of a method or host


def import_cassette(
    source: str | Path,
    name: str | Path,
    *,
    environment: Environment | str | None = None,
    only: str | Sequence[str] = (),
    secrets: str | Secret | Iterable[str | Secret] = (),
    rules: Rules | None = None,
    replace: bool = False,
    settings: Settings | None = None,
) -> ImportReport:
    """Make a clean cassette of a HAR file, or of a cassette that another program recorded.

    HAR 1.2 is read as browsers write it, and cassettes of vcrpy and pytest-recording, Ruby's VCR, R's vcr, betamax,
    pydantic-ai's serializer and go-vcr. Secrets are removed as in a recording, and addresses of the settings become
    symbolic; other hosts stay as they are. What cannot be replayed, such as an entry without a stored body, is left
    out and reported. The original is not changed.

    Args:
        source: path of the file.
        name: name of the new cassette in the project's cassettes folder, or its path.
        environment: the environment that was called; by default it is concluded from the addresses.
        only: hosts, or hosts and paths, of the requests to import: "api.example.com", "*.example.com/v1/*".
        secrets: one or several further texts that must not be in the cassette in any form.
        rules: what to keep out of the cassette besides credentials and what the project's rules name.
        replace: True to replace a cassette that exists.
        settings: by default those of the project.

    Raises:
        ConfigurationError: if the source cannot be read, or an argument is malformed.
        CassetteCorrupt: if the source is not a recording of a program that is known.
        CassetteBusy: if another process is recording to the cassette.
        CassetteError: if the cassette exists, or cannot be written.
        SecretLeak: if a secret would have reached the cassette; nothing was written.
    """
    settings = as_settings(settings)
    called = None if environment is None else as_environment(environment)
    choice = EntryChoice(as_texts(only, about="only", example='"api.example.com"'))
    file = source_files.read(source)
    path = _target(name, file.path, replace=as_flag(replace, about="replace"), settings=settings)
    entries = list(file.entries)
    chosen = [entry for entry in entries if choice.has(entry.uri)]
    usable = [entry for entry in chosen if entry.interaction is not None]
    callers = Callers(settings, called, [entry.uri for entry in usable])
    scrubber = todays_scrubber(settings, as_rules(rules))
    scrubber.use_addresses(callers.addresses(settings), settings.header_prefix)
    scrubber.known.add_texts(secrets)
    noted = list(callers.noted(entry.interaction for entry in usable if entry.interaction is not None))
    result = cleaned(noted, [hint for entry in entries for hint in entry.hints], scrubber)
    if result.data:
        _write(path, result.data, scrubber, replace=replace)
    reasons = {entry.number: entry.reason for entry in chosen if entry.interaction is None}
    reasons |= {usable[position].number: reason for position, reason in result.reasons.items()}
    return ImportReport(
        source=file.path,
        program=file.program,
        path=path if result.data else None,
        imported=result.imported,
        left_out=tuple(_left_out(entry, reasons[entry.number]) for entry in chosen if entry.number in reasons),
        not_chosen=len(entries) - len(chosen),
        replaced=dict(sorted(result.replaced.items())),
        environment=None if callers.environment is None else str(callers.environment),
        hosts=tuple(sorted({_host(entry.uri) for entry in usable if not callers.is_known(entry.uri)})),
    )


def _target(name: str | Path, source: Path, *, replace: bool, settings: Settings) -> Path:
    """Return the path of the new cassette.

    Raises:
        ConfigurationError: if no cassette can be recorded there, or it is the source.
        CassetteError: if it exists.
    """
    path = find_cassette(name, settings)
    if path.suffix == ".json":
        raise ConfigurationError(
            "A cassette is written as YAML, not as JSON.", "Give it a name, or the suffix .yaml.", about="name"
        )
    if os.path.realpath(path) == os.path.realpath(source):
        raise ConfigurationError(
            "The cassette would replace the file that is imported.", "Choose another name.", about="name"
        )
    if path.exists() and not replace:
        raise _exists(path)
    return path


def _write(path: Path, data: bytes, scrubber: Scrubber, *, replace: bool) -> None:
    """Write the cassette in one step.

    Raises:
        CassetteBusy: if somebody records to it.
        CassetteError: if it exists in the meantime, or cannot be written.
    """

    def change(before: bytes) -> bytes:
        if before and not replace:
            raise _exists(path)
        return data

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"Cannot make the folder {path.parent}: {error.strerror or error}."
        raise CassetteError(what, "Choose another place.", about="name") from None
    rewrite(path, scrubber, change)


def _exists(path: Path) -> CassetteError:
    return CassetteError(f"{path} exists.", "Choose another name, or replace it: replace=True.", about="name")


def _left_out(entry: Entry, reason: str) -> LeftOut:
    return LeftOut(entry.number, excerpt(entry.method, _LONGEST), _host(entry.uri), reason)


def _host(uri: str) -> str:
    """Return the host of a URI, safe to print."""
    try:
        return excerpt(urlsplit(uri).hostname or "", _LONGEST)
    except ValueError:
        return ""
