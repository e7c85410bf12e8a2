"""The leak check: reads the very bytes about to be written, and refuses on a hit.

Also `scan`, which looks through files that are there already.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from toolkit.cassettes.encodings import AFTER_THE_CALL
from toolkit.cassettes.fields import NAMES_IN_SMALL_LETTERS
from toolkit.cassettes.findings import FindingList
from toolkit.cassettes.known import KnownSecrets
from toolkit.cassettes.lines import joined
from toolkit.cassettes.packed import contents_of, may_be_packed
from toolkit.cassettes.shapes import BEARER, PRIVATE_KEY, SIGNED_TOKEN
from toolkit.errors import ConfigurationError, SecretLeak
from toolkit.long_work import progress
from toolkit.secret import Secret

# For patterns that ignore case, or are searched in small letters. A value; in angle brackets it is a placeholder.
_VALUE: Final = rb"(?!<|%3c)[a-z0-9._~+/=%-]{8,}"
# What stands in its place in code: names of variables, functions and attributes.
_NO_CODE: Final = rb"(?![a-z_]+(?:\.[a-z_]+)+(?![a-z0-9._~+/=%-])|[a-z_]+\s*[,()\[])"
_BETWEEN: Final = rb"(?:\\*[\"'])?(?:\s*[=:]\s*)(?:\[\s*|-\s+)?(?:\\*[\"'])?"
# Kind, what is in every match in small letters, and the pattern.
_PLACES: Final = tuple(
    (kind, stem, re.compile(pattern, re.IGNORECASE))
    for kind, stem, pattern in (
        ("private key", b"private key", PRIVATE_KEY.encode("ascii")),
        ("bearer token", b"bearer ", BEARER.encode("ascii") + _VALUE),
        ("basic credentials", b"basic ", rb"authorization" + _BETWEEN + rb"basic +(?!<)[a-z0-9+/=]{8,}"),
        ("signed token", b".eyj", SIGNED_TOKEN.encode("ascii")),
    )
)
_SECRET_FIELD: Final = re.compile(NAMES_IN_SMALL_LETTERS + _BETWEEN + _NO_CODE + _VALUE)


@dataclass(frozen=True, slots=True)
class Finding:
    """A secret, or what looks like one, in a file.

    Attributes:
        path: the file.
        line: line number, from 1.
        kind: what it is; never the text itself.
    """

    path: Path
    line: int
    kind: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.kind}"


def check(data: bytes, known: KnownSecrets, *, where: str) -> None:
    """Refuse bytes that hold a known secret.

    Args:
        data: what is about to be written.
        known: the secrets.
        where: what it is, for the message.

    Raises:
        SecretLeak: says of what kind and in what form, not what.
    """
    # Also without white space: a binary body is base64 with line breaks in it.
    hit = known.find_across_lines(data)
    if hit is not None:
        placeholder, form = hit
        raise SecretLeak(
            f"{where} would hold the secret that {placeholder} stands for, {form}; nothing was written.",
            f"{AFTER_THE_CALL} make it without a cassette, and please report this with the shape of the request.",
        )
    check_packed(joined(data), known)  # such as a compressed body, recorded before a secret in it was known


def check_packed(data: bytes, known: KnownSecrets) -> None:
    """Refuse something compressed with a known secret in it, which cannot be taken out of there.

    Raises:
        SecretLeak: says of what kind; or what is compressed cannot be opened.
    """
    if not len(known) or not may_be_packed(data):
        return
    for inner in contents_of(data):
        hit = known.find_across_lines(inner)
        if hit is not None:
            raise SecretLeak(
                f"Something compressed in a body holds the secret that {hit[0]} stands for; nothing was written.",
                f"{AFTER_THE_CALL} ask for it uncompressed, or make it without a cassette.",
            )


def check_wide(data: bytes, known: KnownSecrets) -> None:
    """Refuse a known secret in UTF-16 or UTF-32, in which it is not looked for elsewhere.

    Args:
        data: a body from which what is in it in other ways was taken out already.

    Raises:
        SecretLeak: says of what kind.
    """
    if not len(known) or b"\0" not in data:
        return
    hit = known.find_across_lines(data.replace(b"\0", b""))
    if hit is not None:
        raise SecretLeak(
            f"A body in UTF-16 or UTF-32 holds the secret that {hit[0]} stands for; nothing was written.",
            f"It is not rewritten in there. {AFTER_THE_CALL} ask for UTF-8, or make it without a cassette.",
        )


def scan(
    paths: str | Path | Iterable[str | Path], *, secrets: str | Secret | Iterable[str | Secret] = ()
) -> list[Finding]:
    """Look for secrets in files: those given by value, and what looks like one by its place.

    Args:
        paths: files and folders, searched whole; hidden folders and caches in them are passed over.
        secrets: texts to look for in every form.

    Returns:
        Findings by file and line; empty when there are none. A long search shows its progress.

    Raises:
        ConfigurationError: a path does not exist or cannot be read.
    """
    known = KnownSecrets()
    known.add_texts(secrets)
    given = [paths] if isinstance(paths, str | os.PathLike) or not isinstance(paths, Iterable) else list(paths)
    if not all(isinstance(path, str | os.PathLike) for path in given):
        raise ConfigurationError("What is to be scanned is a path, or a list of paths.", 'For example tk.scan(".").')
    files = [file for path in given for file in _files(Path(path))]
    return FindingList(finding for file in progress(files, label="files") for finding in _scan_file(file, known))


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif path.is_dir():
        yield from _files_in(path)
    else:
        raise ConfigurationError(f"There is nothing to scan at {path}.", "Give a file or a folder.")


def _files_in(folder: Path) -> Iterator[Path]:
    try:
        children = sorted(folder.iterdir())
    except OSError as error:
        raise _unreadable(folder, error) from None
    for child in children:
        if child.is_file():
            yield child
        elif child.name.startswith(".") or child.name == "__pycache__":
            continue
        elif child.is_dir() and not child.is_symlink():  # a link may lead back up; what it leads to stands elsewhere
            yield from _files_in(child)


def _scan_file(path: Path, known: KnownSecrets) -> list[Finding]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from None
    lower = data.lower()
    places = [(match.start(), kind) for kind, stem, place in _PLACES if stem in lower for match in place.finditer(data)]
    places += [(match.start(), "secret field") for match in _SECRET_FIELD.finditer(lower)]
    found = {(data.count(b"\n", 0, start) + 1, kind) for start, kind in places}
    whole = known.find_across_lines(data)
    if whole is not None:
        hits = [known.find(line) for line in data.split(b"\n")]
        # Of a key that goes on over several lines, the first.
        told = [secret for secret, _ in known.told_after(0)]
        of_lines = {known.placeholder_of(secret) for secret in told if "\n" in secret.reveal().strip()}
        begins = [
            (number, hit)
            for number, (before, hit) in enumerate(pairwise([None, *hits]), start=1)
            if hit is not None and (hit != before or hit[0] not in of_lines)
        ]
        in_lines = {(number, f"known secret, {form}") for number, (_, form) in begins}
        found |= in_lines or {(1, f"known secret across lines, {whole[1]}")}
    return [Finding(path, line, kind) for line, kind in sorted(found)]


def _unreadable(path: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(f"Cannot read {path}: {error.strerror}.", "Mend its permissions or leave it out.")
