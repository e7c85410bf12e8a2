"""The command line: `toolkit demo`, `practice`, `record`, `lab`, `verify`, `credentials`, `keys`.

Thin: each command wires parts of the package and prints. Errors of the toolkit are two lines on
standard error and exit status 1, never a traceback.
"""

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
from toolkit.cli import bundled, terminal, tour
from toolkit.cli.commands import credentials, keys, verify
from toolkit.core.document import Environment
from toolkit.core.errors import CassetteError, ConfigurationError, ToolkitError
from toolkit.local.settings import is_offline, variable_name
from toolkit.session.session import Session

# What the practice service calls them; a real service's may have other names, which then come in its order.
_ACCOUNT_COLUMNS = ("account_number", "status", "currency", "cash", "equity", "buying_power")


_RECORDING = "once, new_episodes, all"

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
app.add_typer(credentials.app, name="credentials")
app.add_typer(keys.app, name="keys")
app.command("verify", epilog=verify.EPILOG)(verify.verify)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"service-access-toolkit {version('service-access-toolkit')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of the command itself."""


@app.command(epilog=terminal.examples("toolkit demo", "toolkit demo --rows 20"))
def demo(
    rows: Annotated[int, typer.Option(min=1, help="Rows to print of a long table.")] = 5,
) -> None:
    """Replay the shipped recording: each call, the accounts and the token lifetimes. Nothing is sent."""
    console = Console()
    cassette = Cassette(bundled.shipped("cassettes") / f"{tour.CASSETTE}.yaml", mode="none")
    with Session(cassette=cassette) as session:
        terminal.print_opening(console, session)
        console.print("No network, no credentials, no configuration was used.")
        for step, table in tour.take(session):
            terminal.print_table(console, step.title, table, rows=rows, first=_ACCOUNT_COLUMNS)
        _print_calls(console, session)
    toolkit = _called()
    extra = "" if find_spec("jupyterlab") else "; first: pip install '.[lab]'"
    terminal.print_next_steps(
        console,
        [
            (f"{toolkit} lab", f"the same in a notebook, with a panel{extra}"),
            (f"{toolkit} practice", "a local service to call live, with throwaway credentials"),
            (f"{toolkit} record mine --practice", "make a recording of your own"),
        ],
    )


@app.command(
    epilog=terminal.examples(
        "toolkit practice", "toolkit practice --accounts 100 --port 8800", "toolkit practice --token-validity 60"
    )
)
def practice(
    accounts: Annotated[int, typer.Option(help="Accounts of each broker partner.")] = 25,
    token_validity: Annotated[float, typer.Option(help="Seconds for which a token is accepted.")] = 900,
    delay: Annotated[float, typer.Option(help="Seconds by which every answer is late.")] = 0.0,
    port: Annotated[int, typer.Option(help="First of eight consecutive ports; 0 takes any free ones.")] = 0,
) -> None:
    """Run the practice service on this machine until Ctrl+C, and print how to call it."""
    from toolkit.practice_service import practice as start_practice  # its server is an extra

    if is_offline():
        raise ConfigurationError("TOOLKIT_OFFLINE is set, so no service is started.", "Unset it and run this again.")
    with start_practice(accounts=accounts, token_validity=token_validity, delay=delay, port=port) as service:
        typer.echo("# A practice service for this machine only. These credentials end with it, and open nothing else.")
        typer.echo("# Paste into another shell, then: toolkit record mine --environment broker-sandbox\n")
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
    mode: Annotated[str, typer.Option(help=f"{_RECORDING} (vcrpy's record modes).")] = "once",
) -> None:
    """Record the accounts call, scrubbed of every secret, for replay without network and credentials."""
    console = Console()
    if mode not in _RECORDING.split(", "):
        raise ConfigurationError(f"There is no record mode {mode!r} that records.", f"Choose one of {_RECORDING}.")
    if with_practice:
        from toolkit.practice_service import practice as start_practice  # its server is an extra

        chosen = environment or Environment.BROKER_SANDBOX
        profile = {"broker-live": "broker-secret", "broker-sandbox": "sandbox-secret"}.get(chosen, str(chosen))
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
            "The environment to record is not given.",
            f"Add --environment with one of {', '.join(Environment)}, or --practice.",
        )
    with Session(environment, credentials, cassette=name, mode=mode) as session:
        _record(console, session, name)


def _record(console: Console, session: Session, name: str) -> None:
    path = find_cassette(name, session.settings)
    if session.replays_only:
        raise CassetteError(
            f"There is a recording in {path} already.", "Choose another name, or add --mode all to replace it."
        )
    is_new = not path.exists()
    try:
        accounts = session.accounts()
    except ToolkitError:
        if is_new:
            with suppress(OSError):
                path.unlink()  # a refusal is no recording that somebody wants to replay
        raise
    terminal.print_table(console, "Accounts", accounts, rows=5, first=_ACCOUNT_COLUMNS)
    _print_calls(console, session)
    replay = f'tk.Session(cassette="{name}")'
    terminal.print_next_steps(console, [(replay, f"replays {path}, without network and credentials")])


def _print_calls(console: Console, session: Session) -> None:
    calls, tokens = session.calls(), session.tokens()
    columns = ["call", "when", "interface", "path", "status", "elapsed", "token"]
    terminal.print_table(console, "Calls (elapsed in seconds)", calls, rows=len(calls), only=columns)
    if len(tokens):
        columns = ["token", "issued", "expires", "lifetime", "remaining", "state", "calls"]
        terminal.print_table(console, "Token lifetimes (in seconds)", tokens, rows=len(tokens), only=columns)


@app.command(
    epilog=terminal.examples("toolkit lab", "toolkit lab --copy-to my-notebooks", "toolkit lab -- --no-browser")
)
def lab(
    copy_to: Annotated[Path | None, typer.Option(help="Folder to copy notebooks and cassettes to first.")] = None,
    arguments: Annotated[list[str] | None, typer.Argument(help="Passed on to JupyterLab.")] = None,
) -> None:
    """Open the notebooks in JupyterLab; installed from a wheel, they are copied to a writable folder first."""
    if find_spec("jupyterlab") is None:
        raise ConfigurationError(
            "JupyterLab is not installed.",
            "Install the extra: pip install 'service-access-toolkit[lab]', or in a checkout pip install '.[lab]'.",
        )
    notebooks = bundled.shipped("notebooks")
    if copy_to is not None or bundled.is_installed():
        notebooks = bundled.copy_to((copy_to or Path("toolkit-notebooks")).absolute())
        typer.echo(f"The notebooks are in {notebooks}")
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={notebooks.parent}", *(arguments or [])]
    command.append(f"--LabApp.default_url=/lab/tree/{notebooks.name}/{tour.NOTEBOOK}")
    raise typer.Exit(subprocess.run(command, check=False).returncode)  # noqa: S603 - our own interpreter


def _called() -> str:
    """How this command is called here: by its name where a shell finds it, else by its path."""
    program = Path(sys.argv[0])
    if shutil.which("toolkit") or program.stem != "toolkit":
        return "toolkit"
    try:
        return os.path.relpath(program)
    except ValueError:  # on another drive of Windows
        return str(program)


def _variables(credentials: object) -> list[tuple[str, str]]:
    """Environment variables that hold the credentials of the practice service; the one place that prints them."""
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
    while not stopped.wait(0.2):  # a wait without end would not see the signal on Windows
        pass


def main() -> None:
    """Run the command; errors of the toolkit are shown in two lines."""
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    try:
        app()
    except ToolkitError as error:
        Console(stderr=True).print(
            f"[bold red]Error:[/] {terminal.escape(error.what)}\n{terminal.escape(error.next_step)}", soft_wrap=True
        )
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def _show_warning(message: Warning | str, *_: object) -> None:
    Console(stderr=True).print(f"[yellow]Note:[/] {terminal.escape(str(message))}", soft_wrap=True)
