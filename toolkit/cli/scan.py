"""`toolkit scan`: look for secrets in files, and report where they are in the format that people or programs need."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from toolkit.cli import terminal, values
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import SHORTEST_SECRET, Secret
from toolkit.local.files import write_atomically
from toolkit.scrubbing.scanning import scan_files
from toolkit.scrubbing.scanning.findings import FORMATS
from toolkit.sharing.saved_secrets import learn_credentials

EPILOG: Final = terminal.examples(
    "toolkit scan",
    "toolkit scan notebooks/ cassettes/ --format github",
    "toolkit scan . --format github --save-sarif scan.sarif",
    "toolkit scan . --secret-from DATABASE_PASSWORD",
)
_EXIT_FOUND, _EXIT_UNUSABLE = 1, 2


class FindingFormat(StrEnum):
    """The formats in which findings are printed."""

    TEXT = "text"
    GITHUB = "github"
    SARIF = "sarif"


def scan(
    paths: Annotated[
        list[Path] | None, typer.Argument(readable=False, help="Files and folders; by default this folder.")
    ] = None,
    form: Annotated[
        FindingFormat,
        typer.Option("--format", help="`github` annotates the lines in a pull request; `sarif` is for code scanning."),
    ] = FindingFormat.TEXT,
    as_json: terminal.JsonOption = False,
    save_sarif: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the report as SARIF too, beside standard output.")
    ] = None,
    secret_from: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Variable with a secret to look for in every form.")
    ] = None,
    stdin: Annotated[
        bool, typer.Option("--stdin", help="Read secrets to look for from standard input, one per line.")
    ] = False,
) -> None:
    """Look for secrets in files: notebooks, recordings, settings, logs, archives and anything else.

    The secrets of your saved credentials are looked for in every form.

    A finding names file, place and kind, and what to do; never the secret. The report has the entries that allow its
    findings in the project's `toolkit.toml`, for those that are harmless. It names what was not looked at.

    JSON has `version`, `findings`, `unreadable`, `skipped`, `unused_allowances`, `files` and `allowed`.

    Exit status: 0 if there are no findings; 1 if there are some; 2 if something could not be read, or the command is
    wrong.
    """
    with terminal.errors_exit_with(_EXIT_UNUSABLE):
        terminal.check_one_format(as_json, form)
        secrets = [*_secrets_from(secret_from or [], os.environ), *(_piped_secrets() if stdin else [])]
        _check_lengths(secrets)
        with Console(stderr=True).status("Scanning …"):  # at a terminal only
            learn_credentials()
            findings = scan_files(paths or [Path()], secrets=secrets)
        checkout = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
        if save_sarif is not None:
            _save(save_sarif, FORMATS["sarif"](findings, checkout))
        _print(FORMATS["json" if as_json else form](findings, checkout))
    raise typer.Exit(_EXIT_FOUND if findings else _EXIT_UNUSABLE if findings.unreadable else 0)


def _save(path: Path, text: str) -> None:
    try:
        write_atomically(path, text.encode())
    except OSError as error:
        raise ConfigurationError(
            f"Cannot write the report to {path}: {error.strerror}.",
            "Name a file in a folder of yours.",
            about="save_sarif",
        ) from None


def _secrets_from(names: list[str], environ: Mapping[str, str]) -> list[Secret]:
    """Return the values of variables.

    Raises:
        ConfigurationError: if a variable is missing or empty. The message does not quote the name, because somebody
            may have written the secret in its place.
    """
    if not all(environ.get(name, "").strip() for name in names):
        raise ConfigurationError(
            "A variable that --secret-from names is not set.",
            "Name the variable, not the secret: --secret-from DATABASE_PASSWORD. Or add --stdin and pipe the secret.",
            about="secret_from",
        )
    return [Secret(environ[name].strip()) for name in names]


def _piped_secrets() -> list[Secret]:
    if sys.stdin is None or sys.stdin.isatty():
        raise ConfigurationError(
            "--stdin reads a pipe, but standard input is a terminal, where typed secrets would be visible.",
            "Pipe the secrets in, one per line, or use --secret-from.",
            about="stdin",
        )
    text = values.read_pipe()
    return [Secret(line.strip()) for line in text.reveal().splitlines() if line.strip()]


def _check_lengths(secrets: list[Secret]) -> None:
    if any(len(secret.reveal()) < SHORTEST_SECRET for secret in secrets):
        raise ConfigurationError(
            f"A secret to look for has fewer than {SHORTEST_SECRET} characters, which occur in any text.",
            "Leave it out; where a credential stands, it is a finding without being named.",
            about="secret",
        )


def _print(text: str) -> None:
    """Write to standard output. A reader that stops early, such as head, does not change the exit status."""
    stream = sys.stdout
    if stream is None:  # somebody closed it; the exit status says enough
        return
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # or Python complains again when it ends
        if not isinstance(error, BrokenPipeError):
            raise ConfigurationError(
                f"Cannot write the report: {error.strerror}.", "Write it to another place.", about="stdout"
            ) from None
