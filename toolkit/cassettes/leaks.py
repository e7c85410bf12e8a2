"""The leak check: reads the very bytes about to be written, and refuses on a hit.

Also `scan`, which looks through files that are there already.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolkit.cassettes.scrub import KnownSecrets
from toolkit.errors import ConfigurationError, SecretLeak
from toolkit.secret import Secret

_SPACE: Final = re.compile(rb"\s+")
_PLACES: Final = (
    ("private key", re.compile(rb"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----")),
    ("bearer token", re.compile(rb"(?i)\bbearer +(?!<)[A-Za-z0-9._~+/=-]{8,}")),
    ("basic credentials", re.compile(rb"(?i)authorization['\"]?\s*[:=\-]+\s*['\"]?basic +(?!<)[A-Za-z0-9+/=]{8,}")),
    ("signed token", re.compile(rb"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}")),
    (
        "secret field",
        re.compile(
            rb"(?i)(?:client_secret|client_assertion|access_token|refresh_token|secret_key|api-secret-key|api-key-id|password)"
            rb"(?:\\*[\"'])?\s*(?:=|:|:\s*\n\s*-)\s*(?:\\*[\"'])?(?!<|%3C|None\b|null\b|\*|Secret\()[A-Za-z0-9._~+/=%-]{8,}"
        ),
    ),
)


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
        where: what is about to be written, for the message.

    Raises:
        SecretLeak: says of what kind and in what form, not what.
    """
    # Once more without white space: a binary body is base64 with line breaks in it.
    for bytes_to_search in (data, _SPACE.sub(b"", data)):
        hit = known.find(bytes_to_search)
        if hit is not None:
            placeholder, form = hit
            raise SecretLeak(
                f"{where} would hold the secret that {placeholder} stands for, {form}; nothing was written.",
                "Please report this with the shape of the request; the live response is in the error's `response`.",
            )


def scan(paths: str | Path | Iterable[str | Path], *, secrets: Iterable[str | Secret] = ()) -> list[Finding]:
    """Look for secrets in files: those given by value, and what looks like one by its place.

    Args:
        paths: files and folders, searched whole; hidden folders and caches are passed over.
        secrets: texts to look for in every form.

    Returns:
        Findings by file and line; empty when there are none.

    Raises:
        ConfigurationError: a path does not exist or cannot be read.
    """
    known = KnownSecrets(("SECRET", secret if isinstance(secret, Secret) else Secret(secret)) for secret in secrets)
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    return [finding for path in given for file in _files(Path(path)) for finding in _scan_file(file, known)]


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif path.is_dir():
        for child in sorted(path.iterdir()):
            if child.is_dir() and (child.name.startswith(".") or child.name == "__pycache__"):
                continue
            yield from _files(child)
    else:
        raise ConfigurationError(f"There is nothing to scan at {path}.", "Give a file or a folder.")


def _scan_file(path: Path, known: KnownSecrets) -> list[Finding]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"Cannot read {path}: {error.strerror}.", "Mend its permissions or leave it out.") from None
    found = {(data.count(b"\n", 0, match.start()) + 1, kind) for kind, place in _PLACES for match in place.finditer(data)}
    for number, line in enumerate(data.split(b"\n"), start=1):
        hit = known.find(line)
        if hit is not None:
            found.add((number, f"known secret, {hit[1]}"))
    squeezed = known.find(_SPACE.sub(b"", data))
    if squeezed is not None and not any(kind.startswith("known secret") for _, kind in found):
        found.add((1, f"known secret across lines, {squeezed[1]}"))
    return [Finding(path, line, kind) for line, kind in sorted(found)]
