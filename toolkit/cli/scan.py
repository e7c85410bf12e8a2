"""`toolkit scan`: look for secrets in files, and report where they are, as text or in machine-readable formats."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Final

import typer

from toolkit.cli import terminal
from toolkit.core.errors import as_choice
from toolkit.core.secret import SHORTEST_SECRET
from toolkit.scrubbing.scanning.findings import FORMATS
from toolkit.sharing.saved_secrets import scan as scan_files

EXAMPLES: Final = terminal.examples(
    "toolkit scan",
    "toolkit scan . --format github --save-sarif scan.sarif",
    "toolkit scan . --secret-from DATABASE_PASSWORD",
)
_FORMATS: Final = ("text", "github", "sarif")
_FOUND, _UNUSABLE = 1, 2  # exit statuses


@terminal.errors_exit_with(_UNUSABLE)
def scan(
    paths: Annotated[
        list[Path] | None, typer.Argument(readable=False, help="Files and folders; by default the current folder.")
    ] = None,
    form: Annotated[
        str,
        typer.Option(
            "--format", help="text; `github` annotates the lines in a pull request; `sarif` is for code scanning."
        ),
    ] = "text",
    as_json: terminal.JsonOption = False,
    save_sarif: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also save the report as SARIF in this file.")
    ] = None,
    secret_from: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Environment variable with a secret to look for.")
    ] = None,
    stdin: Annotated[
        bool, typer.Option("--stdin", help="Read secrets to look for from standard input, one per line.")
    ] = False,
) -> None:
    """Look for secrets in files.

    Notebooks, recordings, settings, logs, archives and all other files are searched. The secrets in your saved
    credentials are searched for in every form.

    A finding gives the place and kind of a secret and says what to do, but never shows the secret. The report includes
    entries for the project's `toolkit.toml` that allow harmless findings, and lists what was not searched.

    The JSON output has `version`, `findings`, `unreadable`, `skipped`, `unused_allowances`, `files` and `allowed`.

    The exit status is 0 if nothing is found, 1 if something is found, and 2 if a file cannot be read or the command
    line is invalid.
    """
    as_choice(form, _FORMATS, about="format")
    secrets = [os.environ.get(name, "").strip() for name in secret_from or ()]
    if not all(secrets):  # the name is not quoted: somebody may have written the secret in its place
        raise typer.BadParameter("Pass a variable that is set, not the secret itself.", param_hint="--secret-from")
    if stdin:
        secrets += [line.strip() for line in terminal.read_pipe().reveal().splitlines() if line.strip()]
    if any(len(secret) < SHORTEST_SECRET for secret in secrets):
        raise typer.BadParameter(f"A secret needs at least {SHORTEST_SECRET} characters: shorter ones match too often.")
    with terminal.status("Scanning"):
        findings = scan_files(paths or [Path()], secrets=secrets)
    checkout = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
    if save_sarif is not None:
        terminal.save_report(save_sarif, FORMATS["sarif"](findings, checkout))
    typer.echo(FORMATS["json" if as_json else form](findings, checkout), nl=False)
    raise typer.Exit(_FOUND if findings else _UNUSABLE if findings.unreadable else 0)
