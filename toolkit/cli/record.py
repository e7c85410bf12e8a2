"""`toolkit record`: record calls without their secrets."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Final

import typer
from rich.console import Console

from toolkit.cassettes.paths import find_cassette
from toolkit.cli import terminal
from toolkit.core.document import Environment
from toolkit.core.errors import CassetteError, ConfigurationError, ToolkitError
from toolkit.session.session import Session

EPILOG: Final = terminal.examples(
    "toolkit record mine --practice",
    "toolkit record accounts-today --environment broker-live",
    "toolkit record accounts-today --environment paper --credentials research --mode all",
)
_RECORDING_MODES: Final = ("once", "new_episodes", "all")


def record(
    name: Annotated[str, typer.Argument(help="Name of the cassette, in the project's cassettes folder, or a path.")],
    environment: Annotated[Environment | None, typer.Option("--environment", "-e", help="Environment to call.")] = None,
    credentials: Annotated[str | None, typer.Option(help="Name of saved credentials.")] = None,
    with_practice: Annotated[bool, typer.Option("--practice", help="Record against the practice service.")] = False,
    mode: Annotated[str, typer.Option(help=f"{', '.join(_RECORDING_MODES)} (vcrpy's record modes).")] = "once",
) -> None:
    """Record the accounts call without its secrets, to replay it without network and credentials."""
    console = Console()
    if mode not in _RECORDING_MODES:
        raise ConfigurationError(
            f"The mode {mode!r} does not record.",
            f"Choose one of {', '.join(_RECORDING_MODES)}.",
            about="mode",
        )
    if with_practice:
        from toolkit.practice_service import practice as start_practice  # its server is an extra

        caller = environment or Environment.BROKER_SANDBOX
        profile = {"broker-live": "broker-secret", "broker-sandbox": "sandbox-secret"}.get(caller, str(caller))
        with (
            start_practice() as service,
            Session(
                credentials=service.credentials[profile], settings=service.settings, cassette=name, mode=mode
            ) as session,
        ):
            _record(console, session, name)
        return
    if environment is None:
        raise ConfigurationError(
            "The environment to record is missing.",
            f"Add --environment with one of {', '.join(Environment)}, or --practice.",
            about="environment",
        )
    with Session(environment, credentials, cassette=name, mode=mode) as session:
        _record(console, session, name)


def _record(console: Console, session: Session, name: str) -> None:
    path = find_cassette(name, session.settings)
    if session.replays_only:
        raise CassetteError(
            f"There is already a recording in {path}.",
            "Choose another name, or add --mode all to replace it.",
            about="name",
        )
    is_new = not path.exists()
    try:
        accounts = session.accounts()
    except ToolkitError:
        if is_new:
            with suppress(OSError):
                path.unlink()  # nobody wants to replay a refusal
        raise
    terminal.print_frame(console, "Accounts", accounts, rows=5, first=terminal.ACCOUNT_COLUMNS)
    terminal.print_calls(console, session)
    replay = f'tk.Session(cassette="{name}")'
    terminal.print_next_steps(console, [(replay, f"replay {path} without network and credentials")])
