"""Copy recordings and a notebook for others, replace values in the copies, and check that none of them are left.

The recordings are scrubbed again with the current rules. Every value that a rule replaces in the recordings is also
replaced in the notebook's text and code, wherever it occurs as a whole word or phrase. If the value consists of several
words, words of five letters or more are also replaced individually. Finally, the copies are searched for these values.
"""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from toolkit.cassettes.catalog.rewriting import rescrubbed
from toolkit.cassettes.format import contents, interactions
from toolkit.cassettes.format.interactions import HEADER, Interaction
from toolkit.core.document import Environment, symbolic_address
from toolkit.core.errors import ConfigurationError, PublishError, SecretLeak
from toolkit.core.secret import SHORTEST_SECRET, Secret
from toolkit.core.text import count_text
from toolkit.local.settings import Settings
from toolkit.scrubbing.compression import decompress_body
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.rules.model import project_rules
from toolkit.scrubbing.scrubber import Scrubber
from toolkit.verification.compare import with_texts, without_png_metadata

_SHORTEST: Final = 4  # characters; shorter values are not replaced in strings
_SHORTEST_PART: Final = 5  # letters; shorter words of a name are not replaced on their own
_MOST_WORDS: Final = 4  # words of a value for which a stand-in is looked up
_PIECE: Final = re.compile(r"[^\s\"'<>,;()\[\]{}]+")
BODY_HEADERS: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})
_KEPT_OF_CELLS: Final = ("tags", "slideshow", "jupyter", "raw_mimetype", "format")
ADVICE: Final = (
    "Nothing was written. Remove the value from the notebook, or name its field under [scrubbing] in toolkit.toml."
)
# The hosts of the addresses that only real accounts use (section 1 of the service document).
_REAL_HOSTS: Final = {urlsplit(symbolic_address(name)).netloc for name in ("trading_live", "broker", "auth")}


class Replacements:
    """Values and their replacements; values of fewer than four characters are left out.

    `ordinary` contains lower-case strings that are left out too. The copied recordings show them as field names, path
    segments or values of other fields, so they are published anyway.
    """

    def __init__(self, values: Mapping[str, str], ordinary: Collection[str] = ()) -> None:
        self._new: dict[str, str] = {}
        for value, new in values.items():
            words, others = ([word.strip(".,") for word in text.split()] for text in (value, new))
            named = others if len(words) == len(others) else [new] * len(words)
            parts = [
                (word, other)
                for word, other in zip(words, named, strict=True)
                if len(words) > 1 and len(word) >= _SHORTEST_PART and word.isalpha()
            ]
            for text, other in ((value, new), *parts):
                if len(text) >= _SHORTEST and text != other and text.casefold() not in ordinary:
                    self._new.setdefault(text, other)
        alternatives = "|".join(map(re.escape, sorted(self._new, key=len, reverse=True)))
        pattern = rf"(?<![^\W_])(?:{alternatives})(?![^\W_])" if alternatives else r"(?!)"
        self._exact, self._any_case = re.compile(pattern), re.compile(pattern, re.IGNORECASE)

    def text(self, text: str) -> str:
        return self._exact.sub(lambda match: self._new[match[0]], text)

    def count(self, text: str) -> int:
        return len(self._exact.findall(text))

    def line_of(self, text: str) -> int | None:
        """Return the number, from 1, of the first line that contains a value, ignoring case, or None."""
        match = self._any_case.search(text)
        return match and text.count("\n", 0, match.start()) + 1


@dataclass(frozen=True)
class CopiedCassettes:
    """The recordings to publish, keyed by path within the project, and the replacements in them."""

    files: dict[str, bytes]
    environments: tuple[str, ...]
    replacements: Replacements
    places: tuple[str, ...]  # what was replaced where, in words


def copied_cassettes(
    played: Mapping[Path, Collection[int]], settings: Settings, known: KnownSecrets, texts: Collection[str]
) -> CopiedCassettes:
    """Return copies of recordings that contain only the played interactions, scrubbed with the current rules.

    Replaced values are added to `known`. `texts` are the strings in the notebook, which are searched for values whose
    stand-ins the recordings contain.
    """
    root = settings.project.resolve()
    scrubber = Scrubber(
        known, addresses=settings.addresses, header_prefix=settings.header_prefix, rules=project_rules(settings)
    )
    opened = {path: contents.read(path.read_bytes(), source=path.name) for path in sorted(played)}
    recorded = {path: {number: opened[path].interaction(number) for number in sorted(played[path])} for path in opened}
    for path, items in recorded.items():
        if not path.is_relative_to(root):
            raise PublishError(
                f"The notebook replays {path.name}, which is outside the project.",
                f"Move the recording to a folder inside {root}, and open it by name.",
                about="notebook",
            )
        if settings.publish != "as is" and not settings.scrubbing.get("pseudonyms"):
            _refuse_real_accounts(path.name, items.values())
    known_count = -1
    while known_count != len(known):  # a value of one recording may be in the text of another
        known_count = len(known)
        results = {path: rescrubbed(opened[path], scrubber, recorded[path]) for path in opened}
    scrubbed = {
        path.relative_to(root).as_posix(): list(contents.read(data, source=path.name).readable().values())
        for path, (data, _) in results.items()
    }
    everything = [each for items in scrubbed.values() for each in items]
    stand_ins = set[str]().union(*(scrubber.stand_ins_in(message) for each in everything for message in each[:2]))
    values = {secret.reveal(): new for secret, new in scrubber.replaced()}
    values |= scrubber.values_behind(stand_ins | {*values.values()}, _candidates(texts))
    symbols = {address: symbolic_address(name) for name, address in settings.addresses.items()}
    symbols |= {urlsplit(address).netloc: urlsplit(symbol).netloc for address, symbol in symbols.items()}
    known.add_stand_ins((Secret(old), new) for old, new in {**values, **symbols}.items() if len(old) >= SHORTEST_SECRET)
    replacements = Replacements({**symbols, **values}, {text.casefold() for text in _ordinary(everything)})
    files = {
        name: HEADER + b"".join(interactions.encode(_replaced(each, replacements)) for each in items)
        for name, items in scrubbed.items()
    }
    callers = {str(each.authorized_by.environment) for each in everything if each.authorized_by is not None}
    places = []
    for path, (_, replaced) in results.items():
        counts = sum((Counter(each) for _, each in replaced), Counter[str]())
        words = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
        places += [f"{path.relative_to(root).as_posix()}: {words}"] if words else []
    return CopiedCassettes(files, tuple(sorted(callers)), replacements, tuple(places))


def with_parameters(content: dict[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the notebook with values set in a new cell after the one tagged `parameters`, as in papermill."""
    if not parameters:
        return content
    cells = content["cells"]
    at = next((at for at, cell in enumerate(cells) if "parameters" in cell["metadata"].get("tags", ())), None)
    if wrong := [name for name in parameters if not name.isidentifier()]:
        raise ConfigurationError(f"{wrong[0]!r} is not a Python name.", "Use a variable's name.", about="parameters")
    if at is None:
        what = "No cell in the notebook has the tag parameters."
        raise ConfigurationError(what, "Tag the cell that sets the default values.", about="parameters")
    source = "\n".join(["# Parameters", *(f"{name} = {value!r}" for name, value in parameters.items())])
    kept = [cell for cell in cells[at + 1 :] if "injected-parameters" not in cell["metadata"].get("tags", ())]
    cell = {"cell_type": "code", "id": "parameters", "metadata": {"tags": ["injected-parameters"]}, "source": source}
    return content | {"cells": [*cells[: at + 1], cell | {"outputs": [], "execution_count": None}, *kept]}


def copied_notebook(content: Mapping[str, Any], replacements: Replacements) -> tuple[dict[str, Any], list[str]]:
    """Return a copy of a notebook to publish, without outputs, and a list of the replacements by cell.

    Metadata about the machine, its programs and people is left out.
    """
    notebook: dict[str, Any] = copy.deepcopy(dict(content)) | {"metadata": {}}
    places = []
    for number, cell in enumerate(notebook["cells"], start=1):
        if count := replacements.count(cell["source"]):
            places.append(f"cell {number}: {count_text(count, 'value')}")
        cell["source"] = replacements.text(cell["source"])
        kept = {name: value for name, value in cell["metadata"].items() if name in _KEPT_OF_CELLS}
        cell["metadata"] = with_texts(kept, replacements.text)
        cell["id"] = f"cell-{number}"
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
        for attached in cell.get("attachments", {}).values():
            if "image/png" in attached:
                attached["image/png"] = without_png_metadata(attached["image/png"])
    return notebook, places


def check_notebook(name: str, content: Mapping[str, Any], known: KnownSecrets, replacements: Replacements) -> None:
    """Raise an error that names the cell and line if a notebook still contains a secret or a replaced value."""
    for number, cell in enumerate(content["cells"], start=1):
        for part in ("source", "outputs", "attachments", "metadata"):
            where = f"{name}, cell {number}, line {{}} of its {part.removesuffix('s')},"
            for text in texts_in(cell.get(part)):
                check_text(where, text, known, replacements)


def check_text(where: str, text: str, known: KnownSecrets, replacements: Replacements) -> None:
    """Raise an error if text contains a secret in any supported form, or a value that was replaced.

    The message contains `where`, with the line number in place of "{}", but not the value.
    """
    line = replacements.line_of(text)
    if line is None and known.find(text.encode("utf-8", "replace")) is not None:
        lines = (line.encode("utf-8", "replace") for line in text.split("\n"))
        line = next((number for number, line in enumerate(lines, start=1) if known.find(line) is not None), 1)
    if line is not None:
        what = f"{where.replace('{}', str(line))} would contain a secret or a value that the rules replace."
        raise SecretLeak(what, ADVICE, about="notebook")


def texts_in(value: Any) -> Iterator[str]:
    """Yield the strings in a JSON value, including member names."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield str(name)
            yield from texts_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item)


def _candidates(texts: Iterable[str]) -> Iterator[str]:
    """Yield the parts of strings that may be values: words and sequences of words."""
    for text in texts:
        pieces = [piece.strip(".:!?*_`|") for piece in _PIECE.findall(text)]
        for size in range(1, _MOST_WORDS + 1):
            yield from (" ".join(pieces[at : at + size]) for at in range(len(pieces) - size + 1))


def _refuse_real_accounts(name: str, recorded: Collection[Interaction]) -> None:
    callers = {
        caller.environment for each in recorded for caller in (each.authorized_by, each.token_obtained) if caller
    }
    real = sorted({Environment.LIVE, Environment.BROKER_LIVE} & callers)
    if real or any(urlsplit(each.request.uri).netloc in _REAL_HOSTS for each in recorded):
        raise PublishError(
            f"{name} was recorded in {' and '.join(real) or 'production'}, so it has data from real accounts.",
            'Name the fields with personal data in toolkit.toml, such as pseudonyms = ["account_number", "name", '
            '"email"] under [scrubbing]. If all of the data may be public, set publish = "as is" instead.',
            about="publish",
        )


def _ordinary(recorded: Iterable[Interaction]) -> Iterator[str]:
    """Yield the field names, path segments and complete values in scrubbed recordings."""
    for each in recorded:
        yield from map(unquote, re.split(r"[/?&=.]", each.request.uri))
        for message in each[:2]:
            yield from (text for pair in message.headers for text in pair)
            with suppress(ValueError, RecursionError):  # not JSON
                yield from texts_in(json.loads(decompress_body(message.headers, message.body)))


def _replaced(each: Interaction, replacements: Replacements) -> Interaction:
    request = each.request._replace(uri=replacements.text(each.request.uri))
    messages: dict[str, Any] = {"request": request, "response": each.response}
    for name, message in messages.items():
        with suppress(UnicodeDecodeError):  # a picture, for example
            text = decompress_body(message.headers, message.body).decode()
            if replacements.count(text):
                body = replacements.text(text).encode()
                kept = [pair for pair in message.headers if pair[0].lower() not in BODY_HEADERS]
                headers = (*kept, ("Content-Length", str(len(body))))
                messages[name] = message._replace(headers=headers, body=body)
    return each._replace(**messages)
