"""Make the copy of a notebook and of what it plays, with values replaced everywhere; nothing is run or written."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from toolkit.cassettes.format.interactions import Interaction
from toolkit.core.document import symbolic_address
from toolkit.core.secret import SHORTEST_SECRET, Secret
from toolkit.core.text import count_text
from toolkit.local.folders import SETTINGS_FILE
from toolkit.local.settings import Settings
from toolkit.scrubbing.known import PROCESS_SECRETS, KnownSecrets
from toolkit.scrubbing.rules.model import project_rules
from toolkit.scrubbing.scrubber import Scrubber
from toolkit.sharing.publishing import companions, copied_cassettes, copied_notebook, values
from toolkit.sharing.publishing.copied_cassettes import PlayedCassette
from toolkit.sharing.publishing.replacements import Replacements, ordinary_names
from toolkit.verification.notebooks import as_bytes


@dataclass(frozen=True)
class Copy:
    """The notebook and recordings that are given away.

    Attributes:
        files: bytes by path in the folder, with "/".
        notebook: the path of the notebook.
        environments: names of the environments that its recordings were made in.
        replacements: the values that were replaced in texts.
        replaced: number of values that were replaced.
        notes: what the author should know.
    """

    files: dict[str, bytes]
    notebook: str
    environments: tuple[str, ...]
    replacements: Replacements
    replaced: int
    notes: tuple[str, ...]


class Copier:
    """Copies one notebook of a project.

    Args:
        settings: the settings of the project.
        known: the secrets known so far; what is personal in the recordings is added.
    """

    def __init__(self, settings: Settings, known: KnownSecrets) -> None:
        self._settings = settings
        self._known = known
        self._scrubber = Scrubber(
            known,
            addresses=settings.addresses,
            header_prefix=settings.header_prefix,
            rules=project_rules(settings),
        )

    def copy(self, content: dict[str, Any], place: Path, cassettes: list[PlayedCassette]) -> Copy:
        """Return the copy of a notebook, still without outputs.

        Args:
            content: the notebook.
            place: where it is in the project.
            cassettes: what it plays.

        Raises:
            PublishError: if an interaction cannot be checked for secrets.
        """
        scrubbed = copied_cassettes.scrubbed(cassettes, self._scrubber)
        replaced = self._replaced(content, scrubbed)
        replacements = self._replacements(content, scrubbed, replaced)
        met = len(self._known.replaced())
        recorded = [[copied_cassettes.with_replacements(each, replacements) for each in items] for items in scrubbed]
        notebook, notes = copied_notebook.copied(content, replacements, self._places())

        def named(path: Path) -> str:
            """Return a path in the copy: as in the project, with values replaced as in the code that opens it."""
            return "/".join(replacements.text(part) for part in path.parts) or "."

        files = {
            named(cassette.place): copied_cassettes.encoded(items)
            for cassette, items in zip(cassettes, recorded, strict=True)
        }
        environments = _environments(each for items in recorded for each in items)
        count = len(replaced) + len(self._known.replaced()) - met  # with the secrets that only texts have
        contents = companions.CopiedContents(named(place), tuple(sorted(files)), environments, count)
        files |= {
            contents.notebook: as_bytes(notebook),
            SETTINGS_FILE: companions.settings_text(named(self._cassettes_folder())).encode(),
            companions.REQUIREMENTS: companions.requirements(copied_notebook.sources_of(notebook)).encode(),
            companions.README: companions.readme_text(contents).encode(),
        }
        notes += [*_secret_notes(content, place, cassettes), *_unplayed_notes(cassettes)]
        if self._settings.scrubbing.get("pseudonyms") and not replaced and not self._stand_ins(scrubbed):
            notes.append("No field of the recordings has a name for which toolkit.toml has a rule.")
        return Copy(files, contents.notebook, environments, replacements, count, tuple(notes))

    def _replacements(
        self, content: dict[str, Any], scrubbed: list[list[Interaction]], replaced: dict[str, str]
    ) -> Replacements:
        long = Replacements(replaced)  # what remains of names in the code once the long values are gone is ordinary
        names = ordinary_names(map(long.source, copied_notebook.sources_of(content)))
        ordinary = values.ordinary_words(each for items in scrubbed for each in items) | names
        return Replacements(
            {**values.values_for_texts(replaced, ordinary), **self._addresses()},
            parts=values.parts_of_names(replaced, ordinary),
            scrub=self._known.scrub_text,
        )

    def _replaced(self, content: dict[str, Any], scrubbed: list[list[Interaction]]) -> dict[str, str]:
        """Return all values that are replaced in the recordings, and those of the notebook behind their stand-ins."""
        pairs = [(secret.reveal(), replacement) for secret, replacement in self._scrubber.replaced()]
        # A recording that does not say under which rules it was made may hold stand-ins that were replaced again.
        stand_ins = {value for value, _ in pairs} | self._stand_ins(scrubbed)
        texts = [text for _, _, text in copied_notebook.texts_of_notebook(content)]
        pairs += self._scrubber.values_behind(stand_ins, values.candidates(texts)).items()
        replaced = values.settled(pairs)
        self._learn(replaced)
        return replaced

    def _stand_ins(self, scrubbed: list[list[Interaction]]) -> set[str]:
        """Return the values in places for which the rules name pseudonyms."""
        messages = (message for items in scrubbed for each in items for message in each[:2])
        return set[str]().union(*map(self._scrubber.stand_ins_in, messages))

    def _addresses(self) -> dict[str, str]:
        """Return the addresses of the service and their hosts, each with its symbol."""
        symbols: dict[str, str] = {}
        for name, address in sorted(self._settings.addresses.items()):
            symbol = symbolic_address(name)
            symbols.setdefault(address, symbol)
            host = urlsplit(address).hostname or ""
            if urlsplit(address).port:
                symbols.setdefault(urlsplit(address).netloc, urlsplit(symbol).netloc)
            if "." in host and not host.replace(".", "").isdigit():
                symbols.setdefault(host, urlsplit(symbol).netloc)
        self._learn(symbols)
        return symbols

    def _learn(self, replaced: dict[str, str]) -> None:
        pairs = [(Secret(value), new) for value, new in replaced.items() if len(value) >= SHORTEST_SECRET]
        self._known.add_stand_ins(pairs)

    def _places(self) -> dict[str, str]:
        """Return the folders of this machine that prose may name."""
        project = self._settings.project
        places = {str(project): "…", str(project.resolve()): "…"}
        with suppress(RuntimeError):  # a user without a home folder
            home = Path.home()
            places |= {str(home): "~"} if len(home.parts) > 2 else {}
        return dict(sorted(places.items(), key=lambda item: -len(item[0])))

    def _cassettes_folder(self) -> Path:
        """Return the folder of the cassettes in the project, as a kernel without variables finds it."""
        project, file = self._settings.project, self._settings.file
        settings = Settings.load(file, environ={}) if file else Settings(project=project)
        return settings.cassettes_folder.resolve().relative_to(project.resolve())


def _environments(recorded: Iterable[Interaction]) -> tuple[str, ...]:
    callers = (interaction.authorized_by for interaction in recorded)
    return tuple(sorted({str(caller.environment) for caller in callers if caller is not None}))


def _secret_notes(content: dict[str, Any], place: Path, cassettes: Iterable[PlayedCassette]) -> list[str]:
    """Return what to tell about each original that holds a known secret, which its copy does not."""
    originals = [(place, [text for _, _, text in copied_notebook.texts_of_notebook(content)])]
    originals += [(each.place, list(copied_cassettes.texts_of(each.interactions))) for each in cassettes]
    found = [(path, PROCESS_SECRETS.find("\n".join(texts).encode("utf-8", "replace"))) for path, texts in originals]
    return [
        f"{path.as_posix()} itself holds a secret ({hit[0]}), and its copy does not. Remove it there, and change the "
        "secret if anyone else has that file."
        for path, hit in found
        if hit is not None
    ]


def _unplayed_notes(cassettes: Iterable[PlayedCassette]) -> list[str]:
    counts = ((cassette, len(cassette.interactions) - len(cassette.played)) for cassette in cassettes)
    return [
        f"{cassette.place.as_posix()} is given away whole; the notebook does not play "
        f"{count_text(count, 'interaction')} of it."
        for cassette, count in counts
        if count
    ]
