"""`toolkit record`: record the accounts call, or other GET requests, without their secrets."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import httpx
import typer

from toolkit.cassettes.paths import find_cassette
from toolkit.cassettes.recording.recorder import part_of
from toolkit.cli import terminal
from toolkit.core.document import Environment, Interface
from toolkit.core.errors import CassetteError, ConfigurationError, ServiceError, TabulationError, ToolkitError
from toolkit.core.ledger import NO_TABLE, recording_note
from toolkit.core.text import count_text, excerpt
from toolkit.local.files import write_atomically
from toolkit.session.pages import Pages
from toolkit.session.session import Session
from toolkit.transport.next_page import next_page

EXAMPLES: Final = terminal.examples(
    "toolkit record mine --practice",
    "toolkit record accounts-today --environment broker-live",
    'toolkit record quotes "/v2/practice/quotes?symbols=ALFA" --interface market_data --practice',
    "toolkit record accounts-today /v2/orders /v2/positions --environment paper --mode new_episodes",
)
_SUFFIXES: Final = (".yaml", ".yml", ".json")
_RECORDING_MODES: Final = ("once", "new_episodes", "all")
_INTERFACES: Final = tuple(str(interface) for interface in Interface if interface is not Interface.AUTH)
_PRACTICE_PROFILES: Final = {Environment.BROKER_LIVE: "broker-secret", Environment.BROKER_SANDBOX: "sandbox-secret"}


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
    """Record calls without their secrets.

    The recording replays without network and credentials. Without a path, the accounts call is recorded. Only GET
    requests are sent, to the environment's own addresses. If one of them is refused, nothing is recorded.
    """
    _check(name, paths or (), environment, interface, credentials, mode, with_practice=with_practice)
    terminal.check_online("nothing is recorded")
    file = find_cassette(name)
    if mode == "once" and file.exists():
        raise CassetteError(
            f"The recording {file} exists already.",
            "Choose another name, or add --mode new_episodes to add to it, or --mode all to replace it.",
            about="name",
        )
    before, session = file.read_bytes() if file.exists() else None, None
    try:
        with _session(environment, credentials, name, mode, with_practice=with_practice) as session:
            if not paths:
                terminal.print_frame("Accounts", session.accounts(), rows=5)
            for path in paths or ():
                _print_answers(path, _read(session, path, interface, all_pages=all_pages), all_pages=all_pages)
            terminal.print_calls(session)
    except ToolkitError as error:
        if _recorded_and_played(session)[0] == 0:
            raise
        raise _without_recording(error, file, before) from None
    recorded, played = _recorded_and_played(session)
    terminal.say(f"\nrecorded {count_text(recorded, 'interaction')}, replayed {played}")
    terminal.print_next_steps(
        (f'tk.Session(cassette="{name}")', f"replay {file} without network and credentials"),
    )


def _check(
    name: str,
    paths: Sequence[str],
    environment: Environment | None,
    interface: str | None,
    credentials: str | None,
    mode: str,
    *,
    with_practice: bool,
) -> None:
    """Check arguments before anything is sent.

    Raises:
        ConfigurationError: if one of them is wrong, or does not go with another.
    """
    if Path(name).name != name and Path(name).suffix not in _SUFFIXES:
        what = f"The path {excerpt(name, 60)} has no suffix of a cassette."
        raise ConfigurationError(what, f"Write {excerpt(name, 60)}.yaml.", about="name")
    if mode not in _RECORDING_MODES:
        what = f"The mode {excerpt(mode, 30)!r} does not record."
        raise ConfigurationError(what, f"Choose one of {', '.join(_RECORDING_MODES)}.", about="mode")
    if interface is not None and interface not in _INTERFACES:
        what = f"The interface {excerpt(interface, 30)!r} cannot be recorded."
        raise ConfigurationError(what, f"Choose one of {', '.join(_INTERFACES)}.", about="interface")
    if interface is not None and not paths:
        what = "--interface says where the paths are, but no path is named."
        next_step = f"Add a path, as in: toolkit record NAME /v1/... --interface {interface}"
        raise ConfigurationError(what, next_step, about="interface")
    for path in paths:
        if not path.startswith(("/", "https://", "http://")) or path.startswith("//") or not path.isprintable():
            what = f"{excerpt(path, 60)!r} is not a path of the service."
            next_step = 'A path begins with one slash, as in /v1/accounts or "/v2/orders?status=open".'
            raise ConfigurationError(what, next_step, about="paths")
    if with_practice and credentials is not None:
        what = "The practice service has credentials of its own."
        raise ConfigurationError(what, "Leave out --credentials or --practice.", about="credentials")
    if environment is None and not with_practice:
        what = "The environment to record is missing."
        next_step = f"Add --environment with one of {', '.join(Environment)}, or --practice."
        raise ConfigurationError(what, next_step, about="environment")


@contextmanager
def _session(
    environment: Environment | None, credentials: str | None, name: str, mode: str, *, with_practice: bool
) -> Iterator[Session]:
    """Open a session that records: in an environment of the service, or of a practice service of its own."""
    if not with_practice:
        with Session(environment, credentials, cassette=name, mode=mode) as session:
            yield session
        return
    from toolkit.practice_service import practice  # its server is an extra

    caller = environment or Environment.BROKER_SANDBOX
    with practice() as service:
        own = service.credentials[_PRACTICE_PROFILES.get(caller, str(caller))]
        with Session(credentials=own, settings=service.settings, cassette=name, mode=mode) as session:
            yield session


def _recorded_and_played(session: Session | None) -> tuple[int, int]:
    cassette = None if session is None else session.cassette
    return (0, 0) if cassette is None else (cassette.recorded_count, cassette.play_count)


def _without_recording(error: ToolkitError, file: Path, before: bytes | None) -> ToolkitError:
    """Give a recording its earlier content back, since nobody wants to replay a refusal; return the error that says so.

    Args:
        error: the error.
        file: the recording.
        before: its earlier content; None if there was no file.
    """
    part_of(file).unlink(missing_ok=True)
    if before is None:
        file.unlink(missing_ok=True)
    else:
        write_atomically(file, before)
    next_step = error.next_step.replace(recording_note(getattr(error, "response", None)), "")
    return error.reworded(error.what, f"{next_step} Nothing was recorded.")


def _read(session: Session, path: str, interface: str | None, *, all_pages: bool) -> list[httpx.Response]:
    """Return the answers to a call: one, or one for each page.

    Raises:
        InterfaceNotAllowed: if the environment does not have the interface.
        UnsafeAddress: if the path is an address elsewhere; nothing was sent.
        ServiceError: if the answer has an error status.
        Unreachable: if the service cannot be reached.
    """
    name = interface or session.environment.rules.accounts[0]
    client: httpx.Client = getattr(session, name)
    try:
        return list(Pages(client, path, only_first=not all_pages))
    except ServiceError as error:
        next_step = error.next_step
        if error.status == httpx.codes.NOT_FOUND and interface is None:
            next_step += f" It was looked for at the interface {name}; --interface names another."
        raise error.reworded(error.what.replace(NO_TABLE, ""), next_step) from None


def _print_answers(path: str, answers: list[httpx.Response], *, all_pages: bool) -> None:
    from toolkit.tables.tabulation import tabulate

    title = f"GET {excerpt(path, 80)}"
    try:
        with warnings.catch_warnings(action="ignore"):  # about more pages, of which the line below tells
            terminal.print_frame(title, tabulate(answers), rows=5)
    except TabulationError:
        size = sum(len(answer.content) for answer in answers)
        kind = excerpt(answers[0].headers.get("content-type", "an unknown type"), 40)
        terminal.say(f"\n{title}", "bold")
        terminal.say(f"{size:,} bytes of {kind}")
    if not all_pages and next_page(answers[-1]) is not None:
        terminal.say("This is the first of several pages; --pages records all of them.", "yellow")
