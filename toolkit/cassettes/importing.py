"""`tk.import_cassette`: make a clean cassette of a HAR file, or of a cassette that vcrpy recorded without scrubbing.

The file is read within limits, and never changed; its content tells which program wrote it. `har` reads HAR files,
and the readers of `format` those of vcrpy. `imported_calls` chooses calls, concludes who made them, and scrubs them.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from toolkit.auth.credentials import as_environment
from toolkit.cassettes import har
from toolkit.cassettes.catalog.rewriting import rewrite, todays_scrubber
from toolkit.cassettes.format import contents, layout
from toolkit.cassettes.har import Entry
from toolkit.cassettes.imported_calls import Callers, EntryChoice, cleaned
from toolkit.cassettes.paths import find_cassette
from toolkit.core.arguments import as_flag, as_texts
from toolkit.core.document import Environment
from toolkit.core.errors import CassetteCorrupt, CassetteError, ConfigurationError
from toolkit.core.escaping import as_html, excerpt
from toolkit.core.html import badge, card
from toolkit.core.ledger import EPOCH
from toolkit.core.secret import Secret
from toolkit.core.words import count_text
from toolkit.local.files import expanded
from toolkit.local.settings import Settings, as_settings
from toolkit.scrubbing.rules.model import Rules, as_rules
from toolkit.scrubbing.scrubber import Scrubber

if TYPE_CHECKING:
    import pandas as pd

MOST_BYTES: Final = 256 << 20  # of a file
_MOST_VALUES: Final = 20_000_000  # in a JSON file; each takes memory, however short it is
_JSON_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_SIGNS: Final = (b",", b"[", b"{")
_ARCHIVES: Final = {b"PK\x03\x04": "zip", b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_READABLE: Final = "HAR files of browsers are imported, and cassettes of vcrpy. The file was left as it was."
_UNREADABLE: Final = "it does not have the fields of an interaction"
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

    @property
    def reasons(self) -> dict[str, int]:
        """Number of exchanges that were left out, by reason, the most frequent first."""
        return dict(Counter(each.reason for each in self.left_out).most_common())

    def table(self) -> pd.DataFrame:
        """Return one row for each exchange that was left out, with `number`, `method`, `host` and `reason`."""
        import pandas as pd

        types = {"number": "int64", "method": "str", "host": "str", "reason": "str"}
        frame = pd.DataFrame([asdict(each) for each in self.left_out], columns=list(types))
        return frame.astype(types).set_index("number")

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain values, for programs."""
        return {
            **asdict(self),
            "source": str(self.source),
            "path": None if self.path is None else str(self.path),
            "left_out": [asdict(each) for each in self.left_out],
            "hosts": list(self.hosts),
        }

    def lines(self) -> list[str]:
        """Return the report as sentences."""
        target = f" into {self.path}" if self.path is not None else "; no file was written"
        lines = [f"{count_text(self.imported, 'interaction')} imported{target} ({self.program})."]
        lines += [f"{count:,} left out: {reason}." for reason, count in self.reasons.items()]
        if self.not_chosen:
            lines.append(f"{self.not_chosen:,} not chosen.")
        kinds = ", ".join(f"{kind} in {count_text(count, 'place')}" for kind, count in self.replaced.items())
        lines.append(f"Secrets replaced: {kinds or 'none were found'}.")
        if self.environment:
            lines.append(f"The calls are those of {self.environment}.")
        return lines

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        rows = [("Source", as_html(self.source.name)), ("Interactions", f"{self.imported:,}")]
        rows += [("Left out", as_html(f"{count:,}: {reason}")) for reason, count in self.reasons.items()]
        if self.not_chosen:
            rows.append(("Not chosen", f"{self.not_chosen:,}"))
        rows += [(f"Replaced {kind}", f"{count:,}") for kind, count in self.replaced.items()]
        name = self.path.name if self.path is not None else "nothing"
        return card(f"Imported {name}", [badge(self.program)], rows)


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
    choice = EntryChoice(as_texts(only, about="only", example='"api.example.com"'))
    file = expanded(source, about="source")
    program, entries = _read(file)
    path = _target(name, file, replace=as_flag(replace, about="replace"), settings=settings)
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
    left_out = [
        LeftOut(entry.number, excerpt(entry.method, _LONGEST_WORD), _host(entry.uri), reasons[entry.number])
        for entry in chosen
        if entry.number in reasons
    ]
    return ImportReport(
        source=file,
        program=program,
        path=path if result.data else None,
        imported=result.imported,
        left_out=tuple(left_out),
        not_chosen=len(entries) - len(chosen),
        replaced=dict(sorted(result.replaced.items())),
        environment=None if callers.environment is None else str(callers.environment),
        hosts=tuple(sorted({_host(entry.uri) for entry in usable if not callers.is_known(entry.uri)})),
    )


def _read(path: Path) -> tuple[str, list[Entry]]:
    """Return the name of the program that wrote a file, and its exchanges, in their order.

    Raises:
        ConfigurationError: if the file cannot be read, is an archive, or is a cassette of the toolkit already.
        CassetteCorrupt: if it is neither a HAR file nor a cassette of vcrpy.
    """
    data = _data(path)
    if not data.strip():
        raise _unimportable(path, "it is empty")
    try:
        if data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{":
            _check_size(data)
            value = json.loads(data.decode("utf-8-sig"))
            if har.is_har(value):
                name = excerpt(har.creator(value), _LONGEST_WORD)
                return f"HAR of {name}" if name else "HAR", list(har.entries(value))
        return "vcrpy", list(_vcrpy_entries(contents.read(data, source=str(path))))
    except CassetteCorrupt as error:
        raise error.reworded(error.what, _READABLE) from None
    except UnicodeDecodeError:
        why = "it is not UTF-8 text"
    except json.JSONDecodeError as error:
        why = f"it is not valid JSON (line {error.lineno}: {error.msg})"
    except (RecursionError, MemoryError):
        why = "it is nested too deeply"
    except ValueError as error:
        why = str(error)
    raise _unimportable(path, why)


def _unimportable(path: Path, why: str) -> CassetteCorrupt:
    return CassetteCorrupt(f"{path} cannot be imported: {why}.", _READABLE, about="source")


def _data(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise CassetteError(
                f"{path} has {size >> 20:,} MiB; at most {MOST_BYTES >> 20} MiB are imported at once.",
                "Export fewer requests into a file.",
                about="source",
            )
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "no file can have that name"
        what = f"Cannot read {path}: {why}."
        raise ConfigurationError(what, "Name a HAR file or a cassette.", about="source") from None
    for beginning, name in _ARCHIVES.items():
        if data.startswith(beginning):
            raise ConfigurationError(f"{path} is a {name} file.", "Unpack it first.", about="source")
    if layout.is_ours(data):
        raise ConfigurationError(
            f"{path} is a cassette of the toolkit already.",
            "Copy it; `toolkit cassettes scrub` scrubs it again under today's rules.",
            about="source",
        )
    return data


def _check_size(data: bytes) -> None:
    """Refuse JSON with so many values that they would fill the memory."""
    if sum(map(data.count, _SIGNS)) > _MOST_VALUES:
        outside = _JSON_STRING.sub(b"", data)
        if sum(map(outside.count, _SIGNS)) > _MOST_VALUES:
            raise ValueError("it holds too many values")


def _vcrpy_entries(recorded: contents.Contents) -> Iterator[Entry]:
    for number in range(len(recorded)):
        try:
            interaction = recorded.interaction(number)
        except CassetteCorrupt:
            yield Entry(number + 1, "", "", None, _UNREADABLE)
            continue
        if interaction.recorded_at == EPOCH:  # the file does not say
            interaction = interaction._replace(recorded_at=None)
        yield Entry(number + 1, interaction.request.method, interaction.request.uri, interaction)


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


def _host(uri: str) -> str:
    """Return the host of a URI, safe to print."""
    try:
        return excerpt(urlsplit(uri).hostname or "", _LONGEST_WORD)
    except ValueError:
        return ""
