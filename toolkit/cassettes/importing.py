"""`tk.import_cassette`: make a clean cassette of a HAR file, or of a cassette that vcrpy recorded without scrubbing.

The file is never changed. A recording of the toolkit says how each call was authorized. An imported cassette gets the
same note for the calls of the environment that the caller names, so that it replays in a session without arguments.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from toolkit.cassettes import har
from toolkit.cassettes.catalog.rewriting import ADDRESS, OTHER, check_rewritable, rescrubbed, rewrite
from toolkit.cassettes.format import contents
from toolkit.cassettes.format.contents import Contents
from toolkit.cassettes.format.interactions import Interaction, is_uri
from toolkit.cassettes.har import Entry
from toolkit.cassettes.paths import find_cassette
from toolkit.cassettes.recording.recorder import scrub, todays_scrubber
from toolkit.core.document import TOKEN_PATH, CredentialKind, Environment
from toolkit.core.errors import CassetteCorrupt, CassetteError, ConfigurationError, SecretLeak, as_flag, as_several
from toolkit.core.ledger import Authorization
from toolkit.core.secret import Secret
from toolkit.core.text import count_text, excerpt
from toolkit.local.files import expanded
from toolkit.local.settings import Settings, as_settings
from toolkit.scrubbing.rules.model import Rules, as_rules
from toolkit.scrubbing.scrubber import Scrubber

_READABLE: Final = "HAR files of browsers are imported, and cassettes of vcrpy. The file was left as it was."
_LONGEST_WORD: Final = 60  # characters of a method, host or program


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An exchange that was not imported.

    Attributes:
        number: its number in the file, from 1.
        method: HTTP method, safe to print.
        host: the host that was called, safe to print.
        reason: why it was left out; completes the sentence `it was left out, because ...`.
    """

    number: int
    method: str
    host: str
    reason: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of an import. Its texts are safe to print and hold no secret.

    Attributes:
        source: the file that was imported; it is unchanged and still holds its secrets.
        program: what wrote it, such as "HAR of Firefox", or "vcrpy".
        path: the new cassette; None if nothing could be imported, and then no file was written.
        imported: number of interactions in the new cassette.
        left_out: what could not be imported, in the order of the file.
        not_chosen: number of exchanges that `only` did not choose.
        replaced: number of places where a secret was replaced, by its kind, such as ACCESS_TOKEN.
        environment: the environment that was named; None without one.
        hosts: hosts that are not among the addresses of the settings, and stay as they are.
    """

    source: Path
    program: str
    path: Path | None
    imported: int
    left_out: tuple[LeftOut, ...] = ()
    not_chosen: int = 0
    replaced: Mapping[str, int] = field(default_factory=dict)
    environment: str | None = None
    hosts: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain values, for programs."""
        path = None if self.path is None else str(self.path)
        return {**asdict(self), "source": str(self.source), "path": path}

    def lines(self) -> list[str]:
        """Return the report as sentences."""
        target = f" into {self.path}" if self.path is not None else "; no file was written"
        lines = [f"{count_text(self.imported, 'interaction')} imported{target} ({self.program})."]
        reasons = Counter(each.reason for each in self.left_out).most_common()
        lines += [f"{count:,} left out: {reason}." for reason, count in reasons]
        if self.not_chosen:
            lines.append(f"{self.not_chosen:,} not chosen.")
        kinds = ", ".join(f"{kind} in {count_text(count, 'place')}" for kind, count in self.replaced.items())
        lines.append(f"Secrets replaced: {kinds or 'none were found'}.")
        if self.hosts:
            lines.append(f"{count_text(len(self.hosts), 'host')} kept as in the file: {', '.join(self.hosts)}.")
        if self.replaced:
            lines.append(f"{self.source} still holds its secrets: keep it out of git, and delete it once not needed.")
        return lines

    def __repr__(self) -> str:
        return "\n".join(self.lines())


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
    """Make a clean cassette of a HAR file, or of a cassette of vcrpy that was recorded without scrubbing.

    HAR 1.2 is read as browsers write it, and cassettes of vcrpy and pytest-recording. Secrets are removed as in a
    recording, and addresses of the settings become symbolic; other hosts stay as they are. What cannot be replayed,
    such as an entry without a stored body, is left out and reported. The original is not changed.

    Args:
        source: path of the file.
        name: name of the new cassette in the project's cassettes folder, or its path.
        environment: the environment that was called. A session replays the cassette without naming it again.
        only: hosts, or hosts and paths, of the requests to import: "api.example.com", "*.example.com/v1/*".
        secrets: one or several further texts that must not be in the cassette in any form.
        rules: what to keep out of the cassette besides credentials and what the project's rules name.
        replace: True to replace a cassette that exists.
        settings: by default those of the project.

    Raises:
        ConfigurationError: if the source cannot be read, or an argument is malformed.
        CassetteCorrupt: if the source is neither a HAR file nor a cassette of vcrpy. It names other programs whose
            recordings are known, such as Ruby's VCR, betamax and go-vcr.
        CassetteBusy: if another process is recording to the cassette.
        CassetteError: if the cassette exists, or cannot be written.
        SecretLeak: if a secret would have reached the cassette; nothing was written.
    """
    settings = as_settings(settings)
    called = None if environment is None else Environment(environment)
    patterns = as_several(only, str, about="only", example='"api.example.com"')
    file = expanded(source, about="source")
    program, entries = _read(file)
    path = _target(name, file, replace=as_flag(replace, about="replace"), settings=settings)
    chosen = [entry for entry in entries if not patterns or any(_fits(entry.uri, pattern) for pattern in patterns)]
    names = called.rules.addresses.values() if called else ()
    own = {name: address for name, address in settings.addresses.items() if name in names}
    if called is not None and not any(_is_at(entry.uri, own.values()) for entry in chosen):
        raise ConfigurationError(
            f"No request in the file goes to an address of {called}.",
            f"Set the addresses {', '.join(names)} in toolkit.toml, or leave the environment out.",
            about="environment",
        )
    scrubber = todays_scrubber(settings, as_rules(rules))
    # If two names share an address, that of the environment comes first.
    scrubber.use_addresses({**own, **settings.addresses}, settings.header_prefix)
    scrubber.known.add_texts(secrets)
    reasons = _look_at(entries, scrubber)
    items = [_noted(e.interaction, called, own.values()) for e in chosen if e.interaction and e.number not in reasons]
    data, replacements = rescrubbed(b"", Contents(items, is_foreign=True), scrubber, source=path)
    replaced = sum((Counter(counts) for _, counts in replacements), Counter())
    if items:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            what = f"Cannot make the folder {path.parent}: {error.strerror or error}."
            raise CassetteError(what, "Choose another place.", about="name") from None
        rewrite(path, scrubber, lambda _: data)
    return ImportReport(
        source=file,
        program=program,
        path=path if items else None,
        imported=len(items),
        left_out=tuple(
            LeftOut(entry.number, excerpt(entry.method, _LONGEST_WORD), _host(entry.uri), reasons[entry.number])
            for entry in chosen
            if entry.number in reasons
        ),
        not_chosen=len(entries) - len(chosen),
        replaced={kind: replaced[kind] for kind in sorted(replaced.keys() - {ADDRESS, OTHER})},
        environment=None if called is None else str(called),
        hosts=tuple(
            sorted(
                {_host(each.request.uri) for each in items if not _is_at(each.request.uri, settings.addresses.values())}
            )
        ),
    )


def _look_at(entries: Iterable[Entry], scrubber: Scrubber) -> dict[int, str]:
    """Let a scrubber learn the secrets of all entries; return why entries are left out, by their numbers.

    A later entry may name the secret of an earlier one, and one that is left out that of another.
    """
    reasons = {entry.number: entry.reason for entry in entries if entry.interaction is None}
    for entry in entries:
        try:
            if entry.interaction is not None:
                scrub(entry.interaction, scrubber)
        except SecretLeak:
            reasons[entry.number] = "it holds data that cannot be checked for secrets"
        with suppress(SecretLeak):
            if entry.hint is not None:
                scrubber.lookup_request(entry.hint)
    return reasons


def _fits(uri: str, pattern: str) -> bool:
    """Check whether a request is to a host, or a host and a path, of a pattern such as `*.example.com/v1/*`."""
    parts = urlsplit(uri if is_uri(uri) else "")
    return fnmatchcase(f"{parts.hostname}{parts.path or '/'}", pattern if "/" in pattern else f"{pattern}/*")


def _is_at(uri: str, addresses: Iterable[str]) -> bool:
    return any(uri == address or uri.startswith((f"{address}/", f"{address}?")) for address in addresses)


def _noted(interaction: Interaction, called: Environment | None, addresses: Iterable[str]) -> Interaction:
    """Return an interaction with a note of how its call was authorized, if it is a call of the environment."""
    uri = interaction.request.uri
    if called is None or not _is_at(uri, addresses) or urlsplit(uri).path.endswith(TOKEN_PATH):
        return interaction
    has_keys = CredentialKind.KEY_PAIR in called.rules.credentials
    kind = CredentialKind.KEY_PAIR if has_keys else CredentialKind.CLIENT_SECRET
    return interaction._replace(authorized_by=Authorization(kind, called, "default"))


def _read(path: Path) -> tuple[str, list[Entry]]:
    """Return the name of the program that wrote a file, and its exchanges, in their order."""
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "no file can have that name"
        raise ConfigurationError(
            f"Cannot read {path}: {why}.", "Name a HAR file or a cassette.", about="source"
        ) from None
    if contents.is_ours(data):
        raise ConfigurationError(
            f"{path} is a cassette of the toolkit already.",
            "Copy it; `toolkit cassettes scrub` scrubs it again under today's rules.",
            about="source",
        )
    with suppress(ValueError, RecursionError):  # `contents.read` says what is wrong
        value = json.loads(data.decode("utf-8-sig"))
        if har.is_har(value):
            name = excerpt(har.creator(value), _LONGEST_WORD)
            return f"HAR of {name}" if name else "HAR", list(har.entries(value))
    try:
        opened = contents.read(data, source=str(path))
        if len(opened) and not opened.readable():
            opened.interaction(0)  # raises the error that says what the file is
    except CassetteCorrupt as error:
        raise error.reworded(error.what, _READABLE) from None
    entries = []
    for number, interaction in ((number, opened.interaction_or_error(number)) for number in range(len(opened))):
        if isinstance(interaction, CassetteCorrupt):
            entries.append(Entry(number + 1, "", "", None, "it does not have the fields of an interaction"))
        else:
            entries.append(Entry(number + 1, interaction.request.method, interaction.request.uri, interaction))
    return "vcrpy", entries


def _target(name: str | Path, source: Path, *, replace: bool, settings: Settings) -> Path:
    path = find_cassette(name, settings)
    check_rewritable(path)
    if os.path.realpath(path) == os.path.realpath(source):
        what = "The cassette would replace the file that is imported."
        raise ConfigurationError(what, "Choose another name.", about="name")
    if path.exists() and not replace:
        raise CassetteError(f"{path} exists.", "Choose another name, or replace it: replace=True.", about="name")
    return path


def _host(uri: str) -> str:
    """Return the host of a URI, safe to print."""
    return excerpt(urlsplit(uri).hostname or "", _LONGEST_WORD) if is_uri(uri) else ""
