"""The cassette of one test: opened before it as its markers choose, and finished, or kept aside, after it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from unittest.mock import patch

from toolkit.cassettes import cell_cassette
from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.format import contents, interactions
from toolkit.cassettes.paths import MODES, find_cassette
from toolkit.cassettes.recording.recorder import part_of
from toolkit.cassettes.replay import differences
from toolkit.cassettes.replay.player import play_log_of
from toolkit.core.errors import CassetteMiss, ConfigurationError, NetworkBlocked
from toolkit.local.files import write_atomically
from toolkit.local.folders import SETTINGS_FILE, find_project
from toolkit.local.settings import Settings, is_offline
from toolkit.scrubbing.scanning import scan_files
from toolkit.scrubbing.scanning.allow import AllowList
from toolkit.session.session import AsyncSession, Session
from toolkit.sharing.pytest_plugin.blocking import network_blocked

MARKER: Final = "toolkit_cassette"
FOLDER: Final = "cassettes"  # beside the tests, as pytest-recording has it
FAILED: Final = ".failed"  # between the name of a cassette and its suffix, for the recording of a failed test
_OPTION: Final = "--toolkit-record"
_NOT_IN_NAMES: Final = re.compile(r"""[\x00-\x1f<>?%*:|"'/\\]""")
_LONGEST: Final = 200  # bytes of a name; systems allow 255, and suffixes are added
_MOST_FINDINGS: Final = 10  # shown


@dataclass(frozen=True, slots=True)
class CassetteChoice:
    """The choices of the markers of a test: the arguments of the marker, with the first ones as `names`."""

    names: tuple[Any, ...] = ()
    environment: str | None = None
    credentials: Any = None
    mode: str | None = None
    strict: bool = True
    match_on: Any = None
    secrets: Any = ()
    rules: Any = None
    allowed_hosts: tuple[str, ...] = ()


def choice_of(marks: Iterable[Any]) -> CassetteChoice:
    """Return the choices of the markers of a test, the closest first: a closer one wins, argument by argument.

    Raises:
        ConfigurationError: if a marker has an unknown argument or mode.
    """
    chosen: dict[str, Any] = {}
    for mark in reversed(list(marks)):
        chosen |= {**({"names": mark.args} if mark.args else {}), **mark.kwargs}
    if "name" in chosen:
        chosen["names"] = (chosen.pop("name"),)
    known = [field.name for field in fields(CassetteChoice)]
    wrong = [f"no argument {name!r}" for name in chosen if name not in known]
    wrong += [f"no mode {chosen['mode']!r}"] if chosen.get("mode") not in (None, *MODES) else []
    if wrong:
        advice = f"It takes {', '.join(known)}; modes are {', '.join(MODES)}."
        raise ConfigurationError(f"The marker {MARKER} has {wrong[0]}.", advice, about=MARKER)
    hosts = chosen.get("allowed_hosts", ())
    return CassetteChoice(**{**chosen, "allowed_hosts": (hosts,) if isinstance(hosts, str) else tuple(hosts)})


def default_file(module: Path, test: str, class_name: str | None = None) -> Path:
    """Return the cassette of a test that names none: `cassettes/<module>/<test>.yaml` beside its module.

    It is named as pytest-recording names it, unless it is long: characters that systems do not allow become "-".
    """
    name = _NOT_IN_NAMES.sub("-", f"{class_name}.{test}" if class_name else test)
    encoded = name.encode("utf-8", "replace")
    if len(encoded) > _LONGEST:
        name = f"{encoded[: _LONGEST - 13].decode('utf-8', 'ignore')}-{hashlib.sha256(encoded).hexdigest()[:12]}"
    return module.parent / FOLDER / module.stem / f"{name}.yaml"


def project_settings(module: Path) -> Settings:
    """Return the settings of the project that a test module is in, whatever the working directory is.

    Raises:
        ConfigurationError: if a setting is malformed.
    """
    project = find_project(module.parent)
    file = project / SETTINGS_FILE
    return Settings.load(file) if file.is_file() else replace(Settings.load(), project=project)


class Playing:
    """The cassette of a test that runs; None if it does not exist and `is_needed` is False.

    While the test replays, connections are refused. Sessions without a cassette of their own use this one. If the test
    fails, its recording is moved to `aside`.
    """

    def __init__(self, item: Any, *, is_needed: bool = True) -> None:
        self.choice, self.settings = choice_of(item.iter_markers(MARKER)), project_settings(item.path)
        self.cassette: Cassette | None = None
        self._before: bytes | None = None  # the old file, if the recording is added to it
        self._guard = ExitStack()
        self.path = self._file(item)
        self.aside = self.path.with_name(f"{self.path.stem}{FAILED}{self.path.suffix}")
        option = None if len(self.choice.names) > 1 else item.config.getoption("toolkit_record")
        has_recording = self.path.is_file() and bool(self.path.read_bytes().strip())
        mode = mode_in_force(option, self.choice.mode, has_recording=has_recording)
        if has_recording or mode != "none" or is_needed or is_offline():
            self._before = self.path.read_bytes() if mode == "new_episodes" and has_recording else None
            self.cassette = self._open(mode)
            cell_cassette.put_in_place(self.cassette)
        if self.cassette is None or not self.cassette.records:
            hosts = (*item.config.getini("toolkit_allowed_hosts"), *self.choice.allowed_hosts)
            self._guard.enter_context(network_blocked(hosts, self._refusal))

    def session_arguments(self, live: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the session of the test; `live` has those for recording."""
        arguments: dict[str, Any] = {"settings": self.settings, **live, "cassette": self.cassette}
        arguments["environment"] = self.choice.environment or live.get("environment")
        if self.cassette is not None and self.cassette.records and self.choice.credentials is not None:
            arguments["credentials"] = self.choice.credentials
        return arguments

    def end(self, *, well: bool) -> str:
        """Finish the recording, and return what is wrong with it or the replay; empty if nothing is.

        If the test failed, or something is wrong, the new recording is kept aside and the old one stays in place.
        """
        self._guard.close()
        cassette = self.cassette
        if cassette is None:
            return ""
        cell_cassette.remove(cassette)
        has_recorded = cassette.recorded_count > 0
        problem = self._problem(cassette, has_recorded=has_recorded) if well else ""
        if well and not problem:
            cassette.strict = False  # `_problem` has looked for unplayed interactions
            cassette.close()
            if has_recorded:
                self.aside.unlink(missing_ok=True)
            return ""
        cassette.abandon()
        if has_recorded:
            self._recorded_file().replace(self.aside)
            if self._before is not None:
                write_atomically(self.path, self._before, like=self.aside)
        return problem

    def _file(self, item: Any) -> Path:
        module, names = Path(item.path), self.choice.names
        if not names:
            if item.get_closest_marker("vcr") is not None:
                # pytest-recording would write to the same file, and it does not remove secrets.
                raise ConfigurationError(
                    f"{item.nodeid} has the marker vcr too, and both would use the same cassette.",
                    f'Remove one of the markers, or name a cassette: @pytest.mark.{MARKER}("...").',
                    about="name",
                )
            return default_file(module, item.name, getattr(getattr(item, "cls", None), "__name__", None))
        files = [module.parent / find_cassette(name, self.settings) for name in names]
        if len(files) == 1:
            return files[0]
        joined = Path(self._guard.enter_context(TemporaryDirectory())) / f"{'+'.join(file.stem for file in files)}.yaml"
        pieces = [interactions.HEADER]
        for file in files:
            if not file.is_file():
                raise CassetteMiss(f"The cassette {file} does not exist.", "Record it by itself first.")
            play_log_of(file)
            opened = contents.read(file.read_bytes(), source=file.name)
            pieces += [interactions.encode(opened.interaction(number)) for number in range(len(opened))]
        joined.write_bytes(b"".join(pieces))
        return joined

    def _open(self, mode: str) -> Cassette:
        choice = self.choice
        try:
            return Cassette(
                self.path,
                mode,
                match_on=choice.match_on,
                secrets=choice.secrets,
                strict=choice.strict,
                rules=choice.rules,
                settings=self.settings,
            )
        except CassetteMiss as error:
            if is_offline():
                raise
            raise error.reworded(error.what, f"Record it while online: pytest {_OPTION}.") from None

    def _problem(self, cassette: Cassette, *, has_recorded: bool) -> str:
        """Return what is wrong after a test that passed: something was not played, or looks like a secret."""
        if has_recorded:
            found = scan_files(self._recorded_file(), settings=replace(self.settings, scan={}))
            allowed = AllowList(self.settings.scan, self.settings.project)
            findings = [each for each in found if not allowed.allows(replace(each, path=self.path))]
            lines = [f"line {each.line}: {each.kind}" for each in findings[:_MOST_FINDINGS]]
            if findings:
                return (
                    f"The new recording of {self.path.name} has what looks like a secret: {'; '.join(lines)}\n"
                    "It is kept aside. Name what to remove in [scrubbing] of toolkit.toml and record again; what is "
                    "not a secret, allow in [scan]."
                )
        if cassette.strict and cassette.replays and cassette.unplayed:
            left = differences.left_over(cassette.path.name, len(cassette), cassette.unplayed)
            return f"{left.what}\nMake the missing calls; or, if they are gone, record again: pytest {_OPTION}=all."
        return ""

    def _recorded_file(self) -> Path:
        part = part_of(self.path)
        return part if self.cassette is not None and self.cassette.mode == "all" and part.exists() else self.path

    def _refusal(self, host: str) -> NetworkBlocked:
        if self.cassette is None:
            what = f"This test has no recording yet ({self.path.name}), so it may not connect to {host}."
            return NetworkBlocked(what, f"Record it: pytest {_OPTION}.", about="network")
        return NetworkBlocked(
            f"This test replays {self.path.name}, so it may not connect to {host}.",
            "Call through toolkit_session or toolkit_cassette.transport(); or allow the host: "
            f'@pytest.mark.{MARKER}(allowed_hosts=["..."]).',
            about="network",
        )


def mode_in_force(option: str | None, marked: str | None, *, has_recording: bool) -> str:
    """Return the mode to open a cassette with; None is replay, and a marked `none` holds against the command line.

    A new recording has the mode `all`, which records beside the old file and replaces it at the end. So `once` is
    `all` without a recording, and `none` with one.
    """
    mode = marked if option is None or marked == "none" else option
    if mode == "once" or (mode == "new_episodes" and not has_recording):
        return "none" if has_recording else "all"
    return mode or "none"


@contextmanager
def live_sessions(live: Mapping[str, Any]) -> Iterator[None]:
    """Let sessions that the code under test opens take from `live` what they do not name themselves."""

    def with_defaults(original: Callable[..., None]) -> Callable[..., None]:
        def opened(self: Any, *args: Any, **options: Any) -> None:
            named = {**dict(zip(("environment", "credentials"), args, strict=False)), **options}
            original(self, **{**live, **{name: value for name, value in named.items() if value is not None}})

        return opened

    with ExitStack() as stack:
        for kind in (Session, AsyncSession):
            stack.enter_context(patch.object(kind, "__init__", with_defaults(kind.__init__)))
        yield


def closing(session: AsyncSession, test: Callable[..., Any]) -> Callable[..., Any]:
    """Return an async test that closes the connections of a session in the event loop that they belong to."""

    @wraps(test)
    async def run(*args: Any, **kwargs: Any) -> None:
        async with session:
            await test(*args, **kwargs)

    return run


def close_without_loop(session: Any) -> None:
    """Close an async session outside of its event loop, which is over."""
    steps = session.close()
    with suppress(StopIteration, RuntimeError):
        steps.send(None)
    steps.close()
