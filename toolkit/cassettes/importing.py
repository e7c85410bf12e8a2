"""`tk.import_cassette`: make a clean cassette of a HAR file, or of a cassette that vcrpy recorded without scrubbing.

The file is never changed. A recording of the toolkit says how each call was authorized; an imported cassette gets the
same note, concluded from the addresses, so that it replays in a session without arguments.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from toolkit.auth.credentials import as_environment
from toolkit.cassettes import har
from toolkit.cassettes.catalog.rewriting import ADDRESS, OTHER, rescrubbed, rewrite
from toolkit.cassettes.format import contents
from toolkit.cassettes.format.contents import Contents
from toolkit.cassettes.format.interactions import Interaction
from toolkit.cassettes.har import Entry
from toolkit.cassettes.paths import find_cassette
from toolkit.cassettes.recording.recorder import scrub, todays_scrubber
from toolkit.core.arguments import as_flag, as_texts
from toolkit.core.document import ACCESS, TOKEN_PATH, CredentialKind, Environment
from toolkit.core.errors import CassetteCorrupt, CassetteError, ConfigurationError, SecretLeak
from toolkit.core.ledger import EPOCH, Authorization
from toolkit.core.secret import Secret
from toolkit.core.text import count_text, excerpt
from toolkit.local.files import expanded
from toolkit.local.settings import Settings, as_settings
from toolkit.scrubbing.rules.model import Rules, as_rules

_MOST_BYTES: Final = 256 << 20  # of a file
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
        environment: the environment that was called, or None if the addresses do not tell.
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
        if self.environment:
            lines.append(f"The calls are those of {self.environment}.")
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
        environment: the environment that was called; by default it is concluded from the addresses.
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
    called = None if environment is None else as_environment(environment)
    patterns = as_texts(only, about="only", example='"api.example.com"')
    file = expanded(source, about="source")
    program, entries = _read(file)
    path = _target(name, file, replace=as_flag(replace, about="replace"), settings=settings)
    chosen = [entry for entry in entries if not patterns or any(_fits(entry.uri, pattern) for pattern in patterns)]
    called = _environment_of([entry.uri for entry in chosen if entry.interaction], settings, called)
    scrubber = todays_scrubber(settings, as_rules(rules))
    own = set(called.rules.addresses.values()) if called else set()
    # If two names share an address, that of the environment comes first.
    addresses = sorted(settings.addresses.items(), key=lambda pair: pair[0] not in own)
    scrubber.use_addresses(dict(addresses), settings.header_prefix)
    scrubber.known.add_texts(secrets)
    reasons = {entry.number: entry.reason for entry in entries if entry.interaction is None}
    for entry in entries:  # a later one may name the secret of an earlier
        try:
            if entry.interaction is not None:
                scrub(entry.interaction, scrubber)
        except SecretLeak:
            reasons[entry.number] = "it holds data that cannot be checked for secrets"
        with suppress(SecretLeak):
            if entry.hint is not None:
                scrubber.lookup_request(entry.hint)
    items = [_noted(e.interaction, called, settings) for e in chosen if e.interaction and e.number not in reasons]
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
        hosts=tuple(sorted({_host(e.uri) for e in chosen if e.interaction and not _names_of(e.uri, settings)})),
    )


def _fits(uri: str, pattern: str) -> bool:
    """Check whether a request is to a host, or a host and a path, of a pattern such as `*.example.com/v1/*`."""
    host, slash, path = pattern.partition("://")[2 if "://" in pattern else 0].partition("/")
    try:
        parts = urlsplit(uri)
    except ValueError:
        return False
    called = parts.netloc.rpartition("@")[2].lower()
    return any(
        fnmatchcase(name + (parts.path or "/") if slash else name, host.lower() + slash + path)
        for name in (called, called.partition(":")[0])
    )


def _environment_of(uris: Iterable[str], settings: Settings, named: Environment | None) -> Environment | None:
    """Return the environment that was called: the one that is named, else the only one that has all addresses."""
    called = [candidates for uri in uris if (candidates := _candidates(uri, settings))]
    if named is not None and not any(named in candidates for candidates in called):
        names = ", ".join(named.rules.addresses.values())
        raise ConfigurationError(
            f"No request in the file goes to an address of {named}.",
            f"Set the addresses {names} in toolkit.toml, or leave the environment out.",
            about="environment",
        )
    common = set.intersection(*called) if called else set()
    return named or (next(iter(common)) if len(common) == 1 else None)


def _noted(interaction: Interaction, called: Environment | None, settings: Settings) -> Interaction:
    """Return an interaction with a note of how its call was authorized, if the addresses tell."""
    uri = interaction.request.uri
    environments = _candidates(uri, settings) & ({called} if called else set(Environment))
    if len(environments) != 1 or urlsplit(uri).path.endswith(TOKEN_PATH):
        return interaction
    (environment,) = environments
    has_keys = CredentialKind.KEY_PAIR in environment.rules.credentials
    kind = CredentialKind.KEY_PAIR if has_keys else CredentialKind.CLIENT_SECRET
    return interaction._replace(authorized_by=Authorization(kind, environment, "default"))


def _candidates(uri: str, settings: Settings) -> set[Environment]:
    names = _names_of(uri, settings)
    return {each for each, rules in ACCESS.items() if not names.isdisjoint(rules.addresses.values())}


def _names_of(uri: str, settings: Settings) -> set[str]:
    """Return the names of the longest address that a URI is at."""
    fitting = {
        name: len(address)
        for name, address in settings.addresses.items()
        if uri.startswith(address) and uri[len(address) : len(address) + 1] in ("", "/", "?")
    }
    return {name for name, length in fitting.items() if length == max(fitting.values())}


def _read(path: Path) -> tuple[str, list[Entry]]:
    """Return the name of the program that wrote a file, and its exchanges, in their order."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            what = f"{path} has more than {_MOST_BYTES >> 20} MiB, too much to import at once."
            raise CassetteError(what, "Export fewer requests into a file.", about="source")
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
        if data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{":
            value = json.loads(data.decode("utf-8-sig"))
            if har.is_har(value):
                name = excerpt(har.creator(value), _LONGEST_WORD)
                return f"HAR of {name}" if name else "HAR", list(har.entries(value))
    try:
        opened = contents.read(data, source=str(path))
        if len(opened) and not opened.readable():
            opened.interaction(0)  # raises the error that says what the file is
        return "vcrpy", list(_vcrpy_entries(opened))
    except CassetteCorrupt as error:
        raise error.reworded(error.what, _READABLE) from None


def _vcrpy_entries(recorded: Contents) -> Iterator[Entry]:
    for number in range(len(recorded)):
        interaction = recorded.interaction_or_error(number)
        if isinstance(interaction, CassetteCorrupt):
            yield Entry(number + 1, "", "", None, "it does not have the fields of an interaction")
            continue
        if interaction.recorded_at == EPOCH:  # the file does not say
            interaction = interaction._replace(recorded_at=None)
        yield Entry(number + 1, interaction.request.method, interaction.request.uri, interaction)


def _target(name: str | Path, source: Path, *, replace: bool, settings: Settings) -> Path:
    """Return the path of the new cassette."""
    path = find_cassette(name, settings)
    if path.suffix == ".json":
        what, next_step = "A cassette is written as YAML, not as JSON.", "Give it a name, or the suffix .yaml."
        raise ConfigurationError(what, next_step, about="name")
    if os.path.realpath(path) == os.path.realpath(source):
        what = "The cassette would replace the file that is imported."
        raise ConfigurationError(what, "Choose another name.", about="name")
    if path.exists() and not replace:
        raise CassetteError(f"{path} exists.", "Choose another name, or replace it: replace=True.", about="name")
    return path


def _host(uri: str) -> str:
    """Return the host of a URI, safe to print."""
    try:
        return excerpt(urlsplit(uri).hostname or "", _LONGEST_WORD)
    except ValueError:
        return ""
