"""The application, with the commands `demo`, `practice`, `record` and `lab`; `toolkit.cli.main` runs it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import warnings
from contextlib import suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from toolkit.auth.credentials import ClientSecret, KeyPair
from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.paths import find_cassette
from toolkit.cli import bundled, credentials_command, keys, terminal, verify
from toolkit.core.document import Environment
from toolkit.core.errors import CassetteError, ConfigurationError, ToolkitError
from toolkit.local.settings import is_offline, variable_name
from toolkit.session.session import Session

# Columns of the practice service. Another service may have other columns; they are then shown in its own order.
_ACCOUNT_COLUMNS = ("account_number", "status", "currency", "cash", "equity", "buying_power")
_RECORDING_MODES = ("once", "new_episodes", "all")

app = typer.Typer(
    name="toolkit",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Call, record, replay and tabulate a family of financial services; no secret reaches a recording.",
    epilog="Start with **toolkit demo**: it needs no network, no credentials and no configuration.",
)
app.add_typer(credentials_command.app, name="credentials")
app.add_typer(keys.app, name="keys")
app.command("verify", epilog=verify.EPILOG)(verify.verify)


def run() -> None:
    """Run the command line; print an error of the toolkit in two lines and exit with status 1."""
    warnings.showwarning = terminal.print_warning  # type: ignore[assignment]
    try:
        app()
    except ToolkitError as error:
        terminal.print_error(error)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # the reader of a pipe, such as head, has stopped reading
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"service-access-toolkit {version('service-access-toolkit')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Take the options of `toolkit` itself."""


@app.command(epilog=terminal.examples("toolkit demo", "toolkit demo --rows 20"))
def demo(
    rows: Annotated[int, typer.Option(min=1, help="Rows to print of a long table.")] = 5,
) -> None:
    """Replay the bundled recording: calls, accounts and token lifetimes. Nothing is sent."""
    console = Console()
    cassette = Cassette(bundled.bundled_folder("cassettes") / f"{bundled.TOUR_CASSETTE}.yaml", mode="none")
    with Session(cassette=cassette) as session:
        terminal.print_opening(console, session)
        console.print("No network, no credentials and no configuration were used.")
        for title, table in bundled.take_tour(session):
            terminal.print_frame(console, title, table, rows=rows, first=_ACCOUNT_COLUMNS)
        _print_calls(console, session)
    toolkit = _command_name()
    extra = "" if find_spec("jupyterlab") else "; first: pip install '.[lab]'"
    terminal.print_next_steps(
        console,
        [
            (f"{toolkit} lab", f"open the same in a notebook, with a panel{extra}"),
            (f"{toolkit} practice", "start a local service to call live, with throwaway credentials"),
            (f"{toolkit} record mine --practice", "make a recording of your own"),
        ],
    )


@app.command(
    epilog=terminal.examples(
        "toolkit practice",
        "toolkit practice --accounts 100 --port 8800",
        "toolkit practice --token-validity 60 --rate-limit 5",
    )
)
def practice(
    accounts: Annotated[int, typer.Option(help="Accounts of each broker partner.")] = 25,
    token_validity: Annotated[float, typer.Option(help="Seconds for which a token is accepted.")] = 900,
    delay: Annotated[float, typer.Option(help="Seconds to wait before each answer.")] = 0.0,
    rate_limit: Annotated[
        float | None, typer.Option(help="Calls a second for each holder; further calls get 429.")
    ] = None,
    port: Annotated[int, typer.Option(help="First of eight consecutive ports; 0 picks free ones.")] = 0,
) -> None:
    """Run the practice service on this machine until Ctrl+C, and print how to call it."""
    from toolkit.practice_service import practice as start_practice  # its server is an extra

    if is_offline():
        raise ConfigurationError(
            "TOOLKIT_OFFLINE is set, so the practice service does not start.",
            "Unset it and run this again.",
            about="TOOLKIT_OFFLINE",
        )
    with start_practice(
        accounts=accounts, token_validity=token_validity, delay=delay, rate_limit=rate_limit, port=port
    ) as service:
        typer.echo("# A practice service, for this machine only. Its credentials stop working when it stops.")
        typer.echo("# Paste into another shell, then run: toolkit record mine --environment broker-sandbox\n")
        for name, address in service.settings.addresses.items():
            typer.echo(f"export {variable_name(name)}={address}")
        for name in ("live", "paper", "broker-secret", "sandbox-secret"):
            for variable, value in _variables(service.credentials[name]):
                typer.echo(f"export {variable}={value}")
        typer.echo("\n# Running. Press Ctrl+C to stop.")
        sys.stdout.flush()
        _wait_for_interrupt()
    typer.echo("# Stopped.")


@app.command(
    epilog=terminal.examples(
        "toolkit record mine --practice",
        "toolkit record accounts-today --environment broker-live",
        "toolkit record accounts-today --environment paper --credentials research --mode all",
    )
)
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
    terminal.print_frame(console, "Accounts", accounts, rows=5, first=_ACCOUNT_COLUMNS)
    _print_calls(console, session)
    replay = f'tk.Session(cassette="{name}")'
    terminal.print_next_steps(console, [(replay, f"replay {path} without network and credentials")])


def _print_calls(console: Console, session: Session) -> None:
    calls, tokens = session.calls(), session.tokens()
    columns = ["call", "when", "interface", "path", "status", "elapsed", "token"]
    terminal.print_frame(console, "Calls (elapsed in seconds)", calls, rows=len(calls), only=columns)
    if len(tokens):
        columns = ["token", "issued", "expires", "lifetime", "remaining", "state", "calls"]
        terminal.print_frame(console, "Token lifetimes (in seconds)", tokens, rows=len(tokens), only=columns)


@app.command(
    epilog=terminal.examples("toolkit lab", "toolkit lab --copy-to my-notebooks", "toolkit lab -- --no-browser")
)
def lab(
    copy_to: Annotated[Path | None, typer.Option(help="Folder to copy notebooks and cassettes to first.")] = None,
    arguments: Annotated[list[str] | None, typer.Argument(help="Arguments for JupyterLab.")] = None,
) -> None:
    """Open the notebooks in JupyterLab; from an installed package they are copied to a writable folder first."""
    if find_spec("jupyterlab") is None:
        raise ConfigurationError(
            "JupyterLab is not installed.",
            "Install the extra: pip install 'service-access-toolkit[lab]', or in a checkout pip install '.[lab]'.",
        )
    notebooks = bundled.bundled_folder("notebooks")
    if copy_to is not None or bundled.is_installed():
        notebooks = bundled.copy_to((copy_to or Path("toolkit-notebooks")).absolute())
        typer.echo(f"The notebooks are in {notebooks}")
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={notebooks.parent}", *(arguments or [])]
    command.append(f"--LabApp.default_url=/lab/tree/{notebooks.name}/{bundled.TOUR_NOTEBOOK}")
    raise typer.Exit(subprocess.run(command, check=False).returncode)  # noqa: S603 - our own interpreter


def _command_name() -> str:
    """Return what to type for this command: its name if a shell finds it, else its path."""
    program = Path(sys.argv[0])
    if shutil.which("toolkit") or program.stem != "toolkit":
        return "toolkit"
    try:
        return os.path.relpath(program)
    except ValueError:  # on another drive of Windows
        return str(program)


def _variables(credentials: object) -> list[tuple[str, str]]:
    """Return variables that hold credentials of the practice service. Nothing else prints credentials."""
    if isinstance(credentials, KeyPair):
        values = {"KEY_ID": credentials.key_id.reveal(), "SECRET_KEY": credentials.secret_key.reveal()}
    elif isinstance(credentials, ClientSecret):
        values = {"CLIENT_ID": credentials.client_id, "CLIENT_SECRET": credentials.client_secret.reveal()}
    else:
        return []
    prefix = f"TOOLKIT_{credentials.environment.name}"
    return [(f"{prefix}_{name}", value) for name, value in values.items()]


def _wait_for_interrupt() -> None:
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    while not stopped.wait(0.2):  # on Windows, a wait without a timeout would not see the signal
        pass
