"""The cassette for one test, opened before the test as its markers specify, and finished or set aside afterwards.

While the test replays, connections to other machines and to servers on this machine are blocked in all threads. To do
so, the `socket` functions that httpx, requests, urllib and asyncio use are replaced. Unix sockets and listening sockets
remain allowed. This catches code that should replay but does not; it is not a sandbox.
"""

from __future__ import annotations

import re
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from unittest.mock import patch

from toolkit.cassettes import selection
from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.format import contents, interactions
from toolkit.cassettes.recording.recorder import part_of
from toolkit.cassettes.replay import differences
from toolkit.cassettes.replay.player import note_opened
from toolkit.cassettes.selection import find_cassette
from toolkit.core.errors import CassetteMiss, ConfigurationError, NetworkBlocked
from toolkit.local.files import write_atomically
from toolkit.local.folders import SETTINGS_FILE, project_of
from toolkit.local.settings import Settings, is_offline
from toolkit.scrubbing.scanning import scan_files
from toolkit.session.session import AsyncSession, Session

MARKER: Final = "toolkit_cassette"
FOLDER: Final = "cassettes"  # beside the tests, as in pytest-recording
FAILED: Final = ".failed"  # between the name of a cassette and its suffix, for the recording of a failed test
_OPTION: Final = "--toolkit-record"
_NOT_IN_NAMES: Final = re.compile(r"""[\x00-\x1f<>?%*:|"'/\\]""")
_ADDRESS: Final = re.compile(r"[0-9.]+|.*:.*")


@dataclass(frozen=True, slots=True)
class CassetteChoice:
    """The arguments of a test's markers. Positional arguments are in `names`."""

    names: tuple[Any, ...] = ()
    environment: str | None = None
    credentials: Any = None
    mode: str | None = None
    strict: bool = True
    match_on: Any = None
    secrets: Any = ()
    rules: Any = None
    allowed_hosts: str | Sequence[str] = ()


def choice_of(marks: Iterable[Any]) -> CassetteChoice:
    """Return the arguments of a test's markers. Each argument is taken from the closest marker that sets it."""
    chosen: dict[str, Any] = {}
    for mark in reversed(list(marks)):
        chosen |= {**({"names": mark.args} if mark.args else {}), **mark.kwargs}
    known = [field.name for field in fields(CassetteChoice)]
    if wrong := [name for name in chosen if name not in known]:
        what = f"The marker {MARKER} has no argument {wrong[0]!r}."
        raise ConfigurationError(what, f"It takes {', '.join(known)}.", about=MARKER)
    return CassetteChoice(**chosen)


def project_settings(module: Path) -> Settings:
    """Return the settings of the project that a test module is in, regardless of the working directory."""
    project = project_of(module.parent) or module.parent
    file = project / SETTINGS_FILE
    return Settings.load(file) if file.is_file() else replace(Settings.load(), project=project)


class Playing:
    """Opens the running test's cassette. `cassette` is None if there is no recording and `is_needed` is False.

    While the test replays, connections are blocked. Sessions without their own cassette use this one. If the test
    fails, its recording is moved to `aside`.
    """

    def __init__(self, item: Any, *, is_needed: bool = True) -> None:
        self.choice, self.settings = choice_of(item.iter_markers(MARKER)), project_settings(item.path)
        self.cassette: Cassette | None = None
        self._before: bytes | None = None  # the old file, while a new one is recorded
        self._guard = ExitStack()
        self.path = self._file(item)
        self.aside = self.path.with_name(f"{self.path.stem}{FAILED}{self.path.suffix}")
        option = None if len(self.choice.names) > 1 else item.config.getoption("toolkit_record")
        has_recording = self.path.is_file() and bool(self.path.read_bytes().strip())
        mode = mode_in_force(option, self.choice.mode, has_recording=has_recording)
        if has_recording or mode != "none" or is_needed or is_offline():
            self._before = self.path.read_bytes() if has_recording and mode != "none" else None
            self.cassette = self._open(mode)
            selection.put_in_place(self.cassette)
        if self.cassette is None or not self.cassette.records:
            own = self.choice.allowed_hosts
            hosts = [*item.config.getini("toolkit_allowed_hosts"), *([own] if isinstance(own, str) else own)]
            self._guard.enter_context(network_blocked(hosts, self._refusal))

    def session_arguments(self, live: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments for the test's session. `live` contains the arguments for recording."""
        arguments: dict[str, Any] = {"settings": self.settings, **live, "cassette": self.cassette}
        arguments["environment"] = self.choice.environment or live.get("environment")
        if self.cassette is not None and self.cassette.records and self.choice.credentials is not None:
            arguments["credentials"] = self.choice.credentials
        return arguments

    def end(self, *, well: bool) -> str:
        """Finish the recording, and return any problem with it or with the replay, or an empty string.

        If the test failed or there is a problem, the new recording is set aside and the old one stays in place.
        """
        self._guard.close()
        cassette = self.cassette
        if cassette is None:
            return ""
        selection.remove(cassette)
        has_recorded, is_strict = cassette.recorded_count > 0, cassette.strict
        cassette.strict = False  # what was not played is reported here
        if well:
            cassette.close()
        else:
            cassette.abandon()
        part = part_of(self.path)
        recorded = part if part.exists() else self.path
        problem = self._secrets_in(recorded) if well and has_recorded else ""
        if well and is_strict and not problem and cassette.replays and cassette.unplayed:
            left = differences.left_over(cassette.path.name, len(cassette), cassette.unplayed)
            advice = f"Make the missing calls or, if the test no longer needs them, record again: pytest {_OPTION}=all."
            problem = f"{left.what}\n{advice}"
        if has_recorded and well and not problem:
            self.aside.unlink(missing_ok=True)
        elif has_recorded:
            recorded.replace(self.aside)
            if self._before is not None:
                write_atomically(self.path, self._before, like=self.aside)
        return problem

    def _file(self, item: Any) -> Path:
        module, names = Path(item.path), self.choice.names
        if not names:
            if item.get_closest_marker("vcr") is not None:
                # pytest-recording would write to the same file, and it does not remove secrets.
                raise ConfigurationError(
                    f"{item.nodeid} also has the marker vcr, and both markers would use the same cassette.",
                    f'Remove one of the markers, or name a cassette: @pytest.mark.{MARKER}("...").',
                    about="name",
                )
            # As pytest-recording names it: characters that systems do not allow become "-".
            name = f"{item.cls.__name__}.{item.name}" if getattr(item, "cls", None) else item.name
            return module.parent / FOLDER / module.stem / f"{_NOT_IN_NAMES.sub('-', name)}.yaml"
        files = [module.parent / find_cassette(name, self.settings) for name in names]
        if len(files) == 1:
            return files[0]
        joined = Path(self._guard.enter_context(TemporaryDirectory())) / f"{'+'.join(file.stem for file in files)}.yaml"
        pieces = [interactions.HEADER]
        for file in files:
            if not file.is_file():
                raise CassetteMiss(f"The cassette {file} does not exist.", "Record it on its own first.")
            note_opened(file)
            opened = contents.read(file.read_bytes(), source=file.name)
            pieces += [interactions.encode(opened.interaction(number)) for number in range(len(opened))]
        joined.write_bytes(b"".join(pieces))
        return joined

    def _open(self, mode: str) -> Cassette:
        choice = self.choice
        options = {"match_on": choice.match_on, "secrets": choice.secrets, "rules": choice.rules}
        try:
            return Cassette(self.path, mode, strict=choice.strict, settings=self.settings, **options)
        except CassetteMiss as error:
            if is_offline():
                raise
            raise error.reworded(error.what, f"Record it while online: pytest {_OPTION}.") from None

    def _secrets_in(self, recorded: Path) -> str:
        """Return a description of what looks like a secret in a new recording, or an empty string."""
        findings = scan_files(recorded, settings=self.settings)
        lines = [f"line {each.line}: {each.kind}" for each in findings]
        if not lines:
            return ""
        return (
            f"The new recording of {self.path.name} contains what looks like a secret: {'; '.join(lines)}\n"
            "The recording was set aside. Name the fields to remove under [scrubbing] in toolkit.toml and record "
            "again. If a value is not a secret, allow it under [scan]."
        )

    def _refusal(self, host: str) -> NetworkBlocked:
        if self.cassette is None:
            what = f"This test has no recording yet ({self.path.name}), so it may not connect to {host}."
            return NetworkBlocked(what, f"Record it: pytest {_OPTION}.", about="network")
        return NetworkBlocked(
            f"This test replays {self.path.name}, so it may not connect to {host}.",
            "Use toolkit_session or toolkit_cassette.transport(), or allow the host: "
            f'@pytest.mark.{MARKER}(allowed_hosts=["..."]).',
            about="network",
        )


def mode_in_force(option: str | None, marked: str | None, *, has_recording: bool) -> str:
    """Return the mode to open a cassette with; `none` by default. A marker with `none` overrides the command line.

    A new recording uses the mode `all`, which writes a new file and replaces the old one at the end. So `once` becomes
    `all` if there is no recording, and `none` if there is one.
    """
    mode = marked if option is None or marked == "none" else option
    if mode == "once" or (mode == "new_episodes" and not has_recording):
        return "none" if has_recording else "all"
    return mode or "none"


@contextmanager
def live_sessions(live: Mapping[str, Any]) -> Iterator[None]:
    """Use `live` to fill in the missing arguments of sessions that the code under test opens."""

    def with_defaults(original: Callable[..., None]) -> Callable[..., None]:
        def opened(self: Any, *args: Any, **options: Any) -> None:
            named = {**dict(zip(("environment", "credentials"), args, strict=False)), **options}
            original(self, **{**live, **{name: value for name, value in named.items() if value is not None}})

        return opened

    with ExitStack() as stack:
        for kind in (Session, AsyncSession):
            stack.enter_context(patch.object(kind, "__init__", with_defaults(kind.__init__)))
        yield


@contextmanager
def network_blocked(allowed: Sequence[str], refusal: Callable[[str], NetworkBlocked]) -> Iterator[None]:
    """Block connections and lookups until the context ends, and raise the error that `refusal` returns for the host.

    `allowed` contains host names or addresses. "*" matches any characters, and "localhost" every loopback address.
    """
    patterns = [*map(str.lower, allowed), *(["127.*", "::1"] if "localhost" in allowed else [])]
    resolved = set[str]()  # addresses of the hosts that are allowed by name
    lookup = socket.getaddrinfo

    def is_allowed(host: str) -> bool:
        return host in resolved or any(fnmatchcase(host, pattern) for pattern in patterns)

    def guarded(original: Callable[..., Any]) -> Callable[..., Any]:
        def use(connection: socket.socket, *args: Any) -> Any:
            # The address is a host and a port. Without an address, the socket is already connected.
            address = args[-1] if args and isinstance(args[-1], tuple) else None
            # On Windows, the socket pair of each event loop is connected over loopback.
            is_pair = "socketpair" in sys._getframe(1).f_code.co_name  # noqa: SLF001 - cheapest way to find caller
            is_local = is_pair or connection.family not in (socket.AF_INET, socket.AF_INET6)
            if address and not is_local and not is_allowed(str(address[0]).lower()):
                raise refusal(":".join(map(str, address[:2])))
            return original(connection, *args)

        return use

    def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        name = str(host or "localhost").lower()
        if not is_allowed(name) and name != "localhost" and not _ADDRESS.fullmatch(name):
            raise refusal(name)
        answers = lookup(host, *args, **kwargs)
        resolved.update(str(answer[4][0]) for answer in answers if is_allowed(name))
        return answers

    with ExitStack() as stack:
        for name in ("connect", "connect_ex", "sendto", "sendmsg"):
            if hasattr(socket.socket, name):  # Windows has no sendmsg
                stack.enter_context(patch.object(socket.socket, name, guarded(getattr(socket.socket, name))))
        stack.enter_context(patch.object(socket, "getaddrinfo", getaddrinfo))
        yield
