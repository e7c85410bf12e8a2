"""`publish`: make a copy of a notebook that anyone may have."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from toolkit.cassettes.format.interactions import Interaction
from toolkit.cassettes.replay.play_log import read_play_log
from toolkit.core.document import symbolic_address
from toolkit.core.errors import ConfigurationError, PublishError
from toolkit.core.secret import SHORTEST_SECRET, Secret
from toolkit.core.words import count_text
from toolkit.local.files import shown
from toolkit.local.folders import SETTINGS_FILE, find_project
from toolkit.local.settings import Settings
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.rules.model import project_rules
from toolkit.scrubbing.scrubber import Scrubber
from toolkit.sharing.publishing import checking, companions, copied_cassettes, copied_notebook, targets, values
from toolkit.sharing.publishing.copied_cassettes import PlayedCassette
from toolkit.sharing.publishing.publication import Publication
from toolkit.sharing.publishing.replacements import Replacements, names_in
from toolkit.sharing.publishing.targets import Shape
from toolkit.verification import Verdict, verify
from toolkit.verification.normalize import as_bytes
from toolkit.verification.notebook_files import SUFFIX, NotANotebook, StoredNotebook, read_notebook
from toolkit.verification.run_notebook import need_kernels
from toolkit.verification.verifier import TIMEOUT

_MARKERS: Final = (SETTINGS_FILE, "pyproject.toml")
_AS_IS: Final = "as is"


def publish(
    notebook: str | Path,
    to: str | Path,
    *,
    overwrite: bool = False,
    secrets: str | Secret | Iterable[str | Secret] = (),
    timeout: float = TIMEOUT,
    watch: Callable[[str], None] = lambda _: None,
) -> Publication:
    """Make a copy of a notebook to give away, with the recordings that it plays.

    The notebook runs offline, in fresh kernels without your variables and folders. The rules in `[scrubbing]` of
    `toolkit.toml` are applied anew to the recordings that it plays, and the same values are replaced in its texts and
    its code. Its outputs are then made again from those recordings. The copy has no widget state and nothing of the
    machine. All of it is searched for the values that were replaced, for known secrets and for what looks like one.

    Args:
        notebook: the notebook, in a project.
        to: a folder, an archive that ends in `.zip`, or a page that ends in `.html`.
        overwrite: replace an earlier publication.
        secrets: one or several further texts that must not be in the copy in any form.
        timeout: seconds for each cell.
        watch: called with each step in words.

    Returns:
        What was published, and what its author should know.

    Raises:
        ConfigurationError: if there is no such notebook, it is not in a project, the target exists, or the extra `lab`
            is not installed.
        PublishError: if the notebook does not run offline, plays no recording, or plays recordings of real accounts
            while no rule names pseudonyms and `toolkit.toml` does not say `publish = "as is"`.
        SecretLeak: if the copy would hold a secret or a value that was replaced. Nothing is left.
    """
    source, target = Path(notebook).absolute(), Path(to).absolute()
    shape = targets.shape_of(target)
    targets.check_target(target, shape, overwrite=overwrite)
    need_kernels()
    if shape is Shape.PAGE:
        from toolkit.sharing.publishing.page import need_converter

        need_converter()
    return _Publishing(source, shown_name=str(notebook), secrets=secrets, timeout=timeout, watch=watch).publish(
        target, shape
    )


@dataclass(frozen=True)
class _Copy:
    """What is given away.

    Attributes:
        files: bytes by path in the folder, with "/".
        notebook: the path of the notebook.
        environments: names of the environments.
        replaced: number of values.
        notes: what the author should know.
    """

    files: dict[str, bytes]
    notebook: str
    environments: tuple[str, ...]
    replaced: int
    notes: tuple[str, ...]


class _Publishing:
    """One call of `publish`."""

    def __init__(
        self,
        source: Path,
        *,
        shown_name: str,
        secrets: str | Secret | Iterable[str | Secret],
        timeout: float,
        watch: Callable[[str], None],
    ) -> None:
        self._name = shown_name
        self._source = source
        self._timeout, self._watch = timeout, watch
        self._stored = _read(source, shown_name)
        self._project = _project_of(source, shown_name)
        self._settings = _settings_of(self._project)
        self._known = KnownSecrets()
        self._known.add_texts(secrets)
        _learn_credentials(self._settings)
        self._scrubber = Scrubber(
            self._known,
            addresses=self._settings.addresses,
            header_prefix=self._settings.header_prefix,
            rules=project_rules(self._settings),
        )
        self._replacements = Replacements({})

    def publish(self, target: Path, shape: Shape) -> Publication:
        self._watch("Running the notebook offline")
        cassettes = self._played()
        self._refuse_real_accounts(cassettes)
        self._watch("Copying what it plays")
        copy = self._copy(cassettes)
        with tempfile.TemporaryDirectory(prefix="publish-", ignore_cleanup_errors=True) as folder:
            stage = Path(folder).resolve() / "copy"
            targets.write_files(stage, copy.files)
            self._watch("Running the copy")
            self._run_copy(stage, copy)
            copy.files[copy.notebook] = (stage / copy.notebook).read_bytes()
            files = self._given_away(copy, shape, target)
            self._watch("Checking the copy")
            checking.check_files(files, self._known, self._replacements)
            given = Path(folder).resolve() / "given"
            targets.write_files(given, files)
            checking.check_with_scan(given)
        if shape is Shape.FOLDER:
            targets.write_folder(target, files)
        else:
            data = targets.archive_of(files, target.stem) if shape is Shape.ARCHIVE else next(iter(files.values()))
            targets.write_file(target, data)
        command = "" if shape is Shape.PAGE else companions.run_command(copy.notebook)
        sizes = {name: len(files[name]) for name in sorted(files)}
        return Publication(target, sizes, copy.environments, copy.replaced, copy.notes, command)

    def _played(self) -> list[PlayedCassette]:
        """Run the notebook, and return the cassettes that it plays.

        Raises:
            PublishError: if it cannot run, or plays none.
        """
        with tempfile.TemporaryDirectory(prefix="publish-", ignore_cleanup_errors=True) as folder:
            log = Path(folder).resolve() / "plays"
            log.mkdir()
            verdict = self._verify(self._source, play_log=log)
            if verdict.failure is not None:
                raise _failed(f"{self._name} does not run offline", verdict)
            played = read_play_log(log)
        if not any(played.values()):
            raise PublishError(
                f"{self._name} plays no recording, so there is nothing that it could run from elsewhere.",
                'Record its calls first, with tk.Session(..., cassette="name"), and save it.',
                about="notebook",
            )
        return copied_cassettes.read_played(played, self._project)

    def _verify(self, path: Path, *, update: bool = False, play_log: Path | None = None) -> Verdict:
        def run() -> list[Verdict]:
            return verify([path], update=update, timeout=self._timeout, jobs=1, play_log=play_log)

        return _outside_of_loop(run)[0]

    def _refuse_real_accounts(self, cassettes: list[PlayedCassette]) -> None:
        if self._settings.publish == _AS_IS or self._settings.scrubbing.get("pseudonyms"):
            return
        for cassette in cassettes:
            real = copied_cassettes.real_environments(cassette.interactions)
            if real:
                raise PublishError(
                    f"{cassette.place.as_posix()} was recorded in {' and '.join(real)}, so it holds data of real "
                    "accounts.",
                    'Name the fields with personal data in toolkit.toml, such as pseudonyms = ["account_number", '
                    '"name", "email"] under [scrubbing]; or, if anyone may see all of it, set publish = "as is".',
                    about="publish",
                )

    def _copy(self, cassettes: list[PlayedCassette]) -> _Copy:
        scrubbed = copied_cassettes.scrubbed(cassettes, self._scrubber)
        every = [interaction for recorded in scrubbed for interaction in recorded]
        replaced = self._replaced()
        sources = copied_notebook.sources_of(self._stored.content)
        long = Replacements(replaced)  # what remains of names in the code once the long values are gone is ordinary
        ordinary = values.ordinary_words(every).union(*(names_in(long.source(source)) for source in sources))
        self._replacements = Replacements(
            {**values.values_for_texts(replaced, ordinary), **self._addresses()}, scrub=self._known.scrub_text
        )
        recorded = [
            [copied_cassettes.with_replacements(each, self._replacements) for each in items] for items in scrubbed
        ]
        notebook, notes = copied_notebook.copied(self._stored.content, self._replacements, self._places())
        files = {
            self._place(cassette.place): copied_cassettes.encoded(items)
            for cassette, items in zip(cassettes, recorded, strict=True)
        }
        environments = _environments(interaction for items in recorded for interaction in items)
        place = self._place(self._source.resolve().relative_to(self._project.resolve()))
        contents = companions.Contents(place, tuple(sorted(files)), environments, len(replaced))
        folder = self._place(self._cassettes_folder())
        files |= {
            place: as_bytes(notebook),
            SETTINGS_FILE: companions.settings_text(folder).encode(),
            companions.REQUIREMENTS: companions.requirements(copied_notebook.sources_of(notebook)).encode(),
            companions.README: companions.readme_text(contents).encode(),
        }
        notes += _unplayed_notes(cassettes)
        if self._settings.scrubbing.get("pseudonyms") and not replaced:
            notes.append("No field of the recordings has a name for which toolkit.toml has a rule.")
        return _Copy(files, place, environments, len(replaced), tuple(notes))

    def _replaced(self) -> dict[str, str]:
        """Return all values that are replaced in the recordings, and those behind the stand-ins of the recordings."""
        pairs = [(secret.reveal(), replacement) for secret, replacement in self._scrubber.replaced()]
        stand_ins = {value for value, _ in pairs}
        texts = [text for _, _, text in copied_notebook.texts_of_notebook(self._stored.content)]
        pairs += self._scrubber.values_behind(stand_ins, values.candidates(texts)).items()
        replaced = values.settled(pairs)
        self._known.add_stand_ins(
            [(Secret(value), new) for value, new in replaced.items() if len(value) >= SHORTEST_SECRET]
        )
        return replaced

    def _addresses(self) -> dict[str, str]:
        """Return the addresses of the service and their hosts, each with its symbol."""
        symbols: dict[str, str] = {}
        for name, address in sorted(self._settings.addresses.items()):
            symbol = symbolic_address(name)
            symbols.setdefault(address, symbol)
            host = urlsplit(address).hostname or ""
            if "." in host and not host.replace(".", "").isdigit():
                symbols.setdefault(host, urlsplit(symbol).netloc)
        self._known.add_stand_ins(
            [(Secret(text), symbol) for text, symbol in symbols.items() if len(text) >= SHORTEST_SECRET]
        )
        return symbols

    def _places(self) -> dict[str, str]:
        """Return the folders of this machine that prose may name."""
        places = {str(self._project): "…", str(self._project.resolve()): "…"}
        with suppress(RuntimeError):  # a user without a home folder
            home = Path.home()
            places |= {str(home): "~"} if len(home.parts) > 2 else {}
        return dict(sorted(places.items(), key=lambda item: -len(item[0])))

    def _cassettes_folder(self) -> Path:
        """Return the folder of the cassettes in the project, as a kernel without variables finds it."""
        settings = (
            Settings.load(self._settings.file, environ={}) if self._settings.file else Settings(project=self._project)
        )
        return settings.cassettes_folder.resolve().relative_to(self._project.resolve())

    def _place(self, path: Path) -> str:
        """Return a path in the copy: as in the project, with values replaced as in the code that opens the file."""
        return "/".join(self._replacements.text(part) for part in path.parts) or "."

    def _run_copy(self, stage: Path, copy: _Copy) -> None:
        """Make the outputs of the copy from its own recordings, twice.

        Raises:
            PublishError: if it cannot run there, plays something else, or two runs differ.
        """
        with tempfile.TemporaryDirectory(prefix="publish-", ignore_cleanup_errors=True) as folder:
            log = Path(folder).resolve() / "plays"
            log.mkdir()
            verdict = self._verify(stage / copy.notebook, update=True, play_log=log)
            played = read_play_log(log)
        if verdict.failure is not None:
            raise _failed("The copy does not run in its own folder", verdict)
        strangers = [path for path in sorted(played) if not path.is_relative_to(stage)]
        if strangers:
            raise PublishError(
                f"The notebook opens {shown(strangers[0])} by a path of this machine.",
                "Open it by its name, or by a path relative to the notebook.",
                about="notebook",
            )
        if not verdict.outcome.is_good:
            places = ", ".join(
                f"{item.cell}, {item.place}" if item.cell else item.place for item in verdict.differences[:3]
            )
            raise PublishError(
                f"Two runs of the copy give different outputs: {places}.",
                "Remove from the notebook what depends on the clock, on chance or on the machine.",
                about="notebook",
            )

    def _given_away(self, copy: _Copy, shape: Shape, target: Path) -> dict[str, bytes]:
        if shape is not Shape.PAGE:
            return copy.files
        from toolkit.sharing.publishing.page import page_of

        content: dict[str, Any] = dict(read_notebook_bytes(copy.files[copy.notebook]).content)
        return {target.name: page_of(content, title=Path(copy.notebook).stem, environments=copy.environments)}


def read_notebook_bytes(data: bytes) -> StoredNotebook:
    """Return the notebook in the bytes that a run stored."""
    from toolkit.verification.notebook_files import parse_notebook

    return parse_notebook(data)


def _outside_of_loop(run: Callable[[], list[Verdict]]) -> list[Verdict]:
    """Run a function that runs an event loop: in a thread of its own if this one, as in a notebook, has a loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run()
    result: list[list[Verdict]] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            result.append(run())
        except BaseException as error:  # noqa: BLE001 - raised again below
            errors.append(error)

    thread = threading.Thread(target=work, name="publish")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return result[0]


def _read(path: Path, name: str) -> StoredNotebook:
    if path.suffix != SUFFIX or not path.is_file():
        what = f"{name} is not a notebook." if path.exists() else f"{name} does not exist."
        raise ConfigurationError(what, f"Name a notebook, a file that ends in {SUFFIX}.", about="notebook")
    try:
        return read_notebook(path)
    except NotANotebook as error:
        raise ConfigurationError(f"{name}: {error.what}", error.next_step, about="notebook") from None


def _project_of(path: Path, name: str) -> Path:
    project = find_project(path.resolve().parent)
    if not any((project / marker).is_file() for marker in _MARKERS):
        raise ConfigurationError(
            f"{name} is not in a project, whose rules say what is personal.",
            f"Put a file {SETTINGS_FILE} into the project's folder; it may be empty.",
            about="notebook",
        )
    return project


def _settings_of(project: Path) -> Settings:
    file = project / SETTINGS_FILE
    return Settings.load(file) if file.is_file() else Settings(project=project)


def _learn_credentials(settings: Settings) -> None:
    """Let the process know the saved credentials, which must not be in the copy either."""
    from toolkit.auth.profiles.lookup import profiles_in_order

    with suppress(Exception):
        for profile in profiles_in_order(settings, None):
            with suppress(Exception):
                profile.credentials()


def _failed(what: str, verdict: Verdict) -> PublishError:
    failure = verdict.failure
    assert failure is not None  # noqa: S101 - the caller has checked
    place = f" at {failure.cell}" if failure.cell else ""
    return PublishError(f"{what}{place}: {failure.what}", failure.next_step, about="notebook")


def _environments(recorded: Iterable[Interaction]) -> tuple[str, ...]:
    callers = (interaction.authorized_by for interaction in recorded)
    return tuple(sorted({str(caller.environment) for caller in callers if caller is not None}))


def _unplayed_notes(cassettes: Iterable[PlayedCassette]) -> list[str]:
    counts = ((cassette, len(cassette.interactions) - len(cassette.played)) for cassette in cassettes)
    return [
        f"{cassette.place.as_posix()} is given away whole; the notebook does not play "
        f"{count_text(count, 'interaction')} of it."
        for cassette, count in counts
        if count
    ]
