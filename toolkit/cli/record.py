"""`toolkit record`: record the accounts call, or other GET requests, without their secrets."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Final

import httpx
import typer

from toolkit.cassettes.recording.recorder import part_of
from toolkit.cassettes.selection import find_cassette
from toolkit.cli import terminal
from toolkit.core.document import Environment, Interface
from toolkit.core.errors import CassetteError, TabulationError, ToolkitError, as_choice
from toolkit.core.text import excerpt
from toolkit.local.files import write_atomically
from toolkit.session.pages import Pages
from toolkit.session.session import Session
from toolkit.transport.next_page import next_page

EXAMPLES: Final = terminal.examples(
    'toolkit record quotes "/v2/practice/quotes?symbols=ALFA" --interface market_data --practice',
    "toolkit record accounts-today /v2/orders /v2/positions --environment paper --mode new_episodes",
)
_PRACTICE_PROFILES: Final = {Environment.BROKER_LIVE: "broker-secret", Environment.BROKER_SANDBOX: "sandbox-secret"}
_MODES: Final = ("once", "new_episodes", "all")
_INTERFACES: Final = tuple(str(interface) for interface in Interface if interface is not Interface.AUTH)


def record(
    name: Annotated[str, typer.Argument(help="Name of the cassette, in the project's cassettes folder, or a path.")],
    paths: Annotated[list[str] | None, typer.Argument(help="Paths to GET; by default the accounts call.")] = None,
    environment: terminal.OptionalEnvironment = None,
    interface: Annotated[
        str | None,
        typer.Option(help=f"Interface to call: {', '.join(_INTERFACES)}; by default the one for the accounts call."),
    ] = None,
    all_pages: Annotated[bool, typer.Option("--pages", help="Read all pages of each path, as tk.pages does.")] = False,
    credentials: Annotated[str | None, typer.Option(metavar="NAME", help="Name of the profile to record with.")] = None,
    with_practice: Annotated[bool, typer.Option("--practice", help="Record against the practice service.")] = False,
    mode: Annotated[str, typer.Option(help="once, new_episodes (add what is missing) or all (replace it).")] = "once",
) -> None:
    """Record calls without their secrets.

    The recording can be replayed without a network or credentials. If no path is given, the accounts call is recorded.
    Only GET and token requests are sent, to the environment's own addresses. If one fails, nothing is recorded.
    """
    as_choice(mode, _MODES, about="mode")
    if interface is not None:
        as_choice(interface, _INTERFACES, about="interface")
    mistakes = (
        ("PATHS", not all(map(_is_path, paths or ())), "A path begins with one slash, as in /v1/accounts."),
        ("--interface", interface is not None and not paths, "This option needs a path, but none was given."),
        ("--credentials", with_practice and credentials is not None, "The practice service has its own credentials."),
        ("--environment", environment is None and not with_practice, "Name one, or add --practice."),
    )
    for hint, is_made, what in mistakes:
        if is_made:
            raise typer.BadParameter(what, param_hint=hint)
    terminal.check_new_name(name)
    terminal.check_online("nothing is recorded")
    file = find_cassette(name)
    if mode == "once" and file.exists():
        raise CassetteError(
            f"The recording {file} already exists.",
            "Choose another name, or add --mode new_episodes to add to it, or --mode all to replace it.",
            about="name",
        )
    before, session = file.read_bytes() if file.exists() else None, None
    try:
        with _session(environment, credentials, name, mode, with_practice=with_practice) as session:
            if not paths:
                terminal.print_frame("Accounts", session.accounts(), rows=5)
            for path in paths or ():
                _make_call(session, path, interface, all_pages=all_pages)
            terminal.print_calls(session)
    except ToolkitError as error:
        raise _without_recording(error, session, before) from None
    terminal.say(f"\n{session.describe()}")
    terminal.print_next_steps((f'tk.Session(cassette="{name}")', f"replay {file} without a network or credentials"))


def _is_path(text: str) -> bool:
    return text.startswith(("/", "https://", "http://")) and not text.startswith("//") and text.isprintable()


@contextmanager
def _session(
    environment: str | None, credentials: str | None, name: str, mode: str, *, with_practice: bool
) -> Iterator[Session]:
    """Open a recording session, either in an environment of the service or with a practice service."""
    if not with_practice:
        with Session(environment, credentials, cassette=name, mode=mode) as session:
            yield session
        return
    from toolkit.practice_service import practice  # needs the server, which is an optional dependency

    caller = Environment(environment or Environment.BROKER_SANDBOX)
    with practice() as service:
        own = service.credentials[_PRACTICE_PROFILES.get(caller, str(caller))]
        with Session(credentials=own, settings=service.settings, cassette=name, mode=mode) as session:
            yield session


def _without_recording(error: ToolkitError, session: Session | None, before: bytes | None) -> ToolkitError:
    """Restore the recording's earlier content, so that a failed call is never replayed, and return the error."""
    cassette = None if session is None else session.cassette
    if cassette is None or not cassette.recorded_count:
        return error
    part_of(cassette.path).unlink(missing_ok=True)
    if before is None:
        cassette.path.unlink(missing_ok=True)
    else:
        write_atomically(cassette.path, before)
    return error.reworded(error.what, f"{error.next_step} Nothing was recorded.")


def _make_call(session: Session, path: str, interface: str | None, *, all_pages: bool) -> None:
    """Make a call and print its response, or its pages as one table."""
    from toolkit.tables.tabulation import tabulate

    client: httpx.Client = getattr(session, interface or session.environment.rules.accounts[0])
    answers = list(Pages(client, path, only_first=not all_pages))
    title = f"GET {excerpt(path, 80)}"
    try:
        with warnings.catch_warnings(action="ignore"):  # the warning about more pages, which the printed line reports
            terminal.print_frame(title, tabulate(answers), rows=5)
    except TabulationError:
        size = sum(len(answer.content) for answer in answers)
        kind = excerpt(answers[0].headers.get("content-type", "an unknown type"), 40)
        terminal.say(f"\n{title}\n{size:,} bytes of {kind}")
    if not all_pages and next_page(answers[-1]) is not None:
        terminal.say("This is the first of several pages; --pages records all of them.", "yellow")
