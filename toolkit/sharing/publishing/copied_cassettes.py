"""Copy cassettes with the project's rules applied anew, and note every value that is replaced."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from toolkit.cassettes.format import contents, interactions
from toolkit.cassettes.format.interactions import HEADER, Interaction
from toolkit.cassettes.recording.recorder import scrub
from toolkit.core.document import Environment, symbolic_address
from toolkit.core.errors import PublishError, SecretLeak
from toolkit.core.ledger import Authorization
from toolkit.scrubbing.compression import decompress_body
from toolkit.scrubbing.messages import HeaderList
from toolkit.scrubbing.scrubber import Scrubber
from toolkit.sharing.publishing.replacements import Replacements

_REAL: Final = (Environment.LIVE, Environment.BROKER_LIVE)
# The addresses that real accounts alone have (section 1 of the service document).
_REAL_HOSTS: Final = {
    urlsplit(symbolic_address(name)).netloc: environment
    for name, environment in (
        ("trading_live", Environment.LIVE),
        ("broker", Environment.BROKER_LIVE),
        ("auth", Environment.BROKER_LIVE),
    )
}
_JSON_VALUE: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|(?<![\w.+-])\d++(?![\w.])', re.DOTALL)
_BODY_HEADERS: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})


@dataclass(frozen=True)
class PlayedCassette:
    """A cassette that a notebook plays.

    Attributes:
        path: the file.
        place: where it is in the project.
        interactions: what it holds, as it is.
        played: numbers of the interactions that the notebook plays, from 0.
    """

    path: Path
    place: Path
    interactions: tuple[Interaction, ...]
    played: frozenset[int]


def read_played(played: dict[Path, set[int]], project: Path) -> list[PlayedCassette]:
    """Read the cassettes that a notebook plays.

    Raises:
        PublishError: if one lies outside the project.
        CassetteCorrupt: if one cannot be read.
    """
    root, cassettes = project.resolve(), []
    for path in sorted(played):
        if not path.is_relative_to(root):
            raise PublishError(
                f"The notebook plays {path.name}, which is outside the project.",
                f"Put it into the project's folder for cassettes in {root}, and open it by its name.",
                about="notebook",
            )
        opened = contents.read(path.read_bytes(), source=str(path))
        recorded = tuple(opened.interaction(number) for number in range(len(opened)))
        cassettes.append(PlayedCassette(path, path.relative_to(root), recorded, frozenset(played[path])))
    return cassettes


def real_environments(recorded: Iterable[Interaction]) -> list[Environment]:
    """Return the environments of real accounts that interactions belong to."""
    environments: set[Environment | None] = set()
    for interaction in recorded:
        callers = (interaction.authorized_by, interaction.token_obtained)
        environments.update(caller.environment for caller in callers if caller is not None)
        environments.add(_REAL_HOSTS.get(urlsplit(interaction.request.uri).netloc))
    return [environment for environment in _REAL if environment in environments]


def scrubbed(cassettes: Iterable[PlayedCassette], scrubber: Scrubber) -> list[list[Interaction]]:
    """Return the interactions of each cassette with secrets and what the rules name replaced, everywhere the same.

    A value of one cassette may stand in the text of another, so all are scrubbed again until nothing new is found.

    Raises:
        PublishError: if an interaction cannot be checked for secrets.
    """
    cassettes = list(cassettes)
    while True:
        count = len(scrubber.known)
        result = [[_scrubbed(each, scrubber, cassette) for each in cassette.interactions] for cassette in cassettes]
        if len(scrubber.known) == count:
            return result


def _scrubbed(interaction: Interaction, scrubber: Scrubber, cassette: PlayedCassette) -> Interaction:
    try:
        return scrub(interaction, scrubber)
    except SecretLeak as error:
        raise PublishError(
            f"{cassette.place.as_posix()} cannot be copied: {error.what}",
            "Remove that interaction from the recording, or record it again.",
            about="cassette",
        ) from None


def with_replacements(interaction: Interaction, replacements: Replacements) -> Interaction:
    """Return an interaction with values replaced in its bodies and in the names of profiles, too."""
    request, response = interaction.request, interaction.response
    headers, body = _message(request.headers, request.body, replacements)
    request = request._replace(headers=headers, body=body)
    headers, body = _message(response.headers, response.body, replacements)
    return interaction._replace(
        request=request,
        response=response._replace(headers=headers, body=body),
        authorized_by=_caller(interaction.authorized_by, replacements.text),
        token_obtained=_caller(interaction.token_obtained, replacements.text),
    )


def encoded(recorded: Iterable[Interaction]) -> bytes:
    """Return the bytes of a cassette."""
    return HEADER + b"".join(map(interactions.encode, recorded))


def texts_of(recorded: Iterable[Interaction]) -> Iterator[str]:
    """Yield the texts of interactions in which a value may stand: URIs, headers and bodies."""
    for interaction in recorded:
        yield interaction.request.uri
        for headers, body in (interaction.request[2:4], interaction.response[2:4]):
            yield "\n\n".join(value for _, value in headers)
            text = _text_of(headers, body)
            if text is not None:
                yield text


def _caller(caller: Authorization | None, change: Callable[[str], str]) -> Authorization | None:
    return caller and caller._replace(profile=change(caller.profile))


def _message(headers: HeaderList, body: bytes, replacements: Replacements) -> tuple[HeaderList, bytes]:
    text = _text_of(headers, body)
    if text is None:
        return headers, body
    changed = _in_json(text, replacements) if _is_json(text) else replacements.text(text)
    if changed == text:
        return headers, body
    body = changed.encode()
    kept = tuple((name, value) for name, value in headers if name.lower() not in _BODY_HEADERS)
    return (*kept, ("Content-Length", str(len(body)))), body


def _in_json(text: str, replacements: Replacements) -> str:
    """Return JSON with values replaced in its texts and whole numbers, each by itself."""

    def replace(match: re.Match[str]) -> str:
        written = match[0]
        value = json.loads(written, strict=False) if written[0] == '"' else written
        changed = replacements.text(value)
        if changed == value:
            return written
        return changed if written[0] != '"' and changed.isdecimal() else json.dumps(changed, ensure_ascii=False)

    return _JSON_VALUE.sub(replace, text)


def _is_json(text: str) -> bool:
    try:
        json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return False
    return True


def _text_of(headers: HeaderList, body: bytes) -> str | None:
    try:
        return decompress_body(headers, body).decode()
    except UnicodeDecodeError:
        return None
