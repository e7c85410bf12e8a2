"""`toolkit record`: record the accounts call, or other GET requests, without their secrets."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import httpx
import typer
from rich.console import Console

from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.catalog.rewriting import prune
from toolkit.cassettes.recording.recorder import part_of
from toolkit.cli import terminal
from toolkit.core.document import Environment, Interface
from toolkit.core.errors import CassetteError, ConfigurationError, ServiceError, TabulationError, ToolkitError
from toolkit.core.ledger import NO_TABLE, recording_note
from toolkit.core.text import count_text, excerpt
from toolkit.local.variables import is_offline
from toolkit.session.pages import Pages
from toolkit.session.session import Session
from toolkit.transport.next_page import next_page

EPILOG: Final = terminal.examples(
    "toolkit record mine --practice",
    "toolkit record accounts-today --environment broker-live",
    'toolkit record quotes "/v2/practice/quotes?symbols=ALFA" --interface market_data --practice',
    "toolkit record accounts-today /v2/orders /v2/positions --environment paper --mode new_episodes",
)
_SUFFIXES: Final = (".yaml", ".yml", ".json")
_RECORDING_MODES: Final = ("once", "new_episodes", "all")
_INTERFACES: Final = tuple(str(interface) for interface in Interface if interface is not Interface.AUTH)
_PRACTICE_PROFILES: Final = {"broker-live": "broker-secret", "broker-sandbox": "sandbox-secret"}


class _Call(NamedTuple):
    """A path to read.

    Attributes:
        path: the path, with its query.
        interface: its interface; None for that of the accounts call.
        all_pages: True to read the pages after the first, too.
    """

    path: str
    interface: str | None
    all_pages: bool


def record(
    name: Annotated[str, typer.Argument(help="Name of the cassette, in the project's cassettes folder, or a path.")],
    paths: Annotated[
        list[str] | None,
        typer.Argument(help="Paths to GET, such as /v2/positions; by default the accounts call."),
    ] = None,
    environment: Annotated[
        Environment | None,
        terminal.environment_option(f"Environment to call: {terminal.ENVIRONMENTS}."),
    ] = None,
    interface: Annotated[
        str | None,
        typer.Option(help=f"Interface of the paths: {', '.join(_INTERFACES)}; by default that of the accounts call."),
    ] = None,
    all_pages: Annotated[bool, typer.Option("--pages", help="Read all pages of each path, as tk.pages does.")] = False,
    credentials: Annotated[str | None, typer.Option(metavar="NAME", help="Name of the profile to record with.")] = None,
    with_practice: Annotated[bool, typer.Option("--practice", help="Record against the practice service.")] = False,
    mode: Annotated[
        str,
        typer.Option(help="once: make a new recording; new_episodes: add what it does not have; all: replace it."),
    ] = "once",
) -> None:
    """Record calls without their secrets, to replay them without network and credentials.

    Without a path, the accounts call is recorded. Only GET requests are sent, to the environment's own addresses. If
    one of them is refused, nothing is recorded.
    """
    calls = [_Call(path, interface, all_pages) for path in paths or ()]
    if Path(name).name != name and Path(name).suffix not in _SUFFIXES:
        raise ConfigurationError(
            f"The path {excerpt(name, 60)} has no suffix of a cassette.", f"Write {name}.yaml.", about="name"
        )
    _check(mode, interface, calls)
    if is_offline():
        raise ConfigurationError(
            "TOOLKIT_OFFLINE is set, so nothing is recorded.", "Unset it and run this again.", about="TOOLKIT_OFFLINE"
        )
    if environment is None and not with_practice:
        raise ConfigurationError(
            "The environment to record is missing.",
            f"Add --environment with one of {', '.join(Environment)}, or --practice.",
            about="environment",
        )
    cassette, before = None, 0
    try:
        with _session(environment, credentials, name, mode, with_practice=with_practice) as session:
            cassette = session.cassette
            if cassette is not None:
                before = len(cassette) if cassette.path.exists() else 0
                _record(Console(), session, cassette, name, calls)
    except ToolkitError as error:
        if cassette is None or not cassette.recorded_count:
            raise
        raise _without_recording(error, cassette, before=before) from None


def _check(mode: str, interface: str | None, calls: Sequence[_Call]) -> None:
    """Check the arguments before a service is started or called.

    Raises:
        ConfigurationError: if one of them is malformed.
    """
    if mode not in _RECORDING_MODES:
        raise ConfigurationError(
            f"The mode {excerpt(mode, 40)!r} does not record.",
            f"Choose one of {', '.join(_RECORDING_MODES)}.",
            about="mode",
        )
    if interface is not None and interface not in _INTERFACES:
        raise ConfigurationError(
            f"The interface {excerpt(interface, 40)!r} cannot be recorded.",
            f"Choose one of {', '.join(_INTERFACES)}.",
            about="interface",
        )
    if interface is not None and not calls:
        raise ConfigurationError(
            "--interface says where the paths are, but no path is named.",
            f"Add a path, as in: toolkit record NAME /v1/... --interface {interface}",
            about="interface",
        )
    for call in calls:
        _check_path(call.path)


def _check_path(path: str) -> None:
    shown = excerpt(path, 60)
    if not path.startswith(("/", "https://", "http://")) or path.startswith("//"):
        raise ConfigurationError(
            f"{shown!r} is not a path of the service.",
            'A path begins with one slash, as in /v1/accounts or "/v2/orders?status=open".',
            about="paths",
        )
    try:
        httpx.URL(path)
    except httpx.InvalidURL as error:
        raise ConfigurationError(
            f"{shown!r} is not a path of the service: {excerpt(str(error))}",
            "Escape characters that a URL does not have, such as %0A for a line end.",
            about="paths",
        ) from None


@contextmanager
def _session(
    environment: Environment | None, credentials: str | None, name: str, mode: str, *, with_practice: bool
) -> Iterator[Session]:
    """Open a session that records: in an environment of the service, or of a practice service of its own."""
    if not with_practice:
        with Session(environment, credentials, cassette=name, mode=mode) as session:
            yield session
        return
    if credentials is not None:
        raise ConfigurationError(
            "The practice service has credentials of its own.",
            "Leave out --credentials or --practice.",
            about="credentials",
        )
    from toolkit.practice_service import practice  # its server is an extra

    caller = environment or Environment.BROKER_SANDBOX
    profile = _PRACTICE_PROFILES.get(caller, str(caller))
    with (
        practice() as service,
        Session(
            credentials=service.credentials[profile], settings=service.settings, cassette=name, mode=mode
        ) as session,
    ):
        yield session


def _record(console: Console, session: Session, cassette: Cassette, name: str, calls: Sequence[_Call]) -> None:
    """Make the calls, or the accounts call if there are none, and print the answers and what was recorded."""
    if session.replays_only:
        raise CassetteError(
            f"The recording {cassette.path} exists already.",
            "Choose another name, or add --mode new_episodes to add to it, or --mode all to replace it.",
            about="name",
        )
    if not calls:
        terminal.print_frame(console, "Accounts", session.accounts(), rows=5, first=terminal.ACCOUNT_COLUMNS)
    for call in calls:
        _print_answers(console, call, _read(session, call))
    terminal.print_calls(console, session)
    recorded = count_text(cassette.recorded_count, "interaction")
    console.print(f"\nrecorded {recorded}, replayed {cassette.play_count}", highlight=False)
    replay = f'tk.Session(cassette="{name}")'
    terminal.print_next_steps(console, [(replay, f"replay {cassette.path} without network and credentials")])


def _read(session: Session, call: _Call) -> list[httpx.Response]:
    """Return the answers to a call: one, or one for each page.

    Raises:
        InterfaceNotAllowed: if the environment does not have the interface.
        UnsafeAddress: if the path is an address elsewhere; nothing was sent.
        ServiceError: if the answer has an error status.
        Unreachable: if the service cannot be reached.
    """
    interface = call.interface or session.environment.rules.accounts[0]
    client: httpx.Client = getattr(session, interface)
    try:
        return list(Pages(client, call.path, only_first=not call.all_pages))
    except ServiceError as error:
        if not error.status:
            raise
        what, next_step = error.what.replace(NO_TABLE, ""), error.next_step
        if error.status == httpx.codes.NOT_FOUND and call.interface is None:
            next_step += f" It was looked for at the interface {interface}; --interface names another."
        raise error.reworded(what, next_step) from None


def _print_answers(console: Console, call: _Call, answers: list[httpx.Response]) -> None:
    from toolkit.tables.tabulation import tabulate

    title = f"GET {excerpt(call.path, 80)}"
    try:
        with warnings.catch_warnings(action="ignore"):  # about more pages, of which the line below tells
            table = tabulate(answers)
    except TabulationError:
        size = sum(len(answer.content) for answer in answers)
        kind = excerpt(answers[0].headers.get("content-type", "an unknown type"), 40)
        console.print(f"\n[bold]{terminal.escape(title)}[/]", highlight=False)
        console.print(terminal.escape(f"{size:,} bytes of {kind}"), highlight=False)
    else:
        terminal.print_frame(console, title, table, rows=5, first=terminal.ACCOUNT_COLUMNS)
    if not call.all_pages and next_page(answers[-1]) is not None:
        console.print("This is the first of several pages; --pages records all of them.", style="yellow")


def _without_recording(error: ToolkitError, cassette: Cassette, *, before: int) -> ToolkitError:
    """Remove what was recorded before an error, since nobody wants to replay a refusal.

    Returns:
        The error, which says what happened to the recording; `before` is the number of interactions that it had.
    """
    end = "Nothing was recorded."
    try:
        if cassette.mode == "all":
            part_of(cassette.path).unlink()
        elif before == 0:
            cassette.path.unlink()
        else:
            prune(cassette.path, range(before, before + cassette.recorded_count), cassette.scrubber)
            end = f"Nothing was added to {cassette.path}."
    except (OSError, ToolkitError):
        end = f"{count_text(cassette.recorded_count, 'interaction')}, this answer included, could not be removed again."
    next_step = error.next_step.replace(recording_note(getattr(error, "response", None)), "")
    return error.reworded(error.what, f"{next_step} {end}")
