"""`toolkit cassettes drift`: repeat recorded reads live, and say what changed."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Final

import typer
from rich.console import Console

from toolkit.cassettes.catalog.reading import read_cassette
from toolkit.cli import terminal
from toolkit.cli.cassettes_diff import FailOnOption, kinds_of, print_changes
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError
from toolkit.core.text import count_text, excerpt
from toolkit.local.settings import Settings
from toolkit.local.variables import is_offline
from toolkit.session.session import Session
from toolkit.sharing.drift import Drift, drift

EPILOG: Final = terminal.examples(
    "toolkit cassettes drift accounts-monday",
    "toolkit cassettes drift orders --environment paper --credentials research --fail-on removed,type,status",
)
_EXIT_CHANGED: Final = 1


def drift_(
    name: Annotated[str, typer.Argument(help="Name of a cassette, or a path.")],
    environment: Annotated[
        Environment | None,
        terminal.environment_option(
            f"Environment to call: {terminal.ENVIRONMENTS}; by default the one that was recorded."
        ),
    ] = None,
    credentials: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of a profile; by default the one in the recording.")
    ] = None,
    per_second: Annotated[float | None, typer.Option(help="The most calls a second.")] = None,
    fail_on: FailOnOption = "",
    as_json: terminal.JsonOption = False,
) -> None:
    """Repeat the recorded GET and HEAD requests live, and say what the service answers differently today.

    Other calls are listed and never sent, and so are calls with a placeholder or pseudonym in them. Compared are the
    status, the members of JSON and their types, the media type of other bodies, and the time if it at least doubled or
    halved; not values. Nothing is recorded, and the cassette stays as it is.

    JSON has `path`, `environment`, `repeated` (a count), `changes` with `kind`, `method`, `uri`, `place`, `before`,
    `after` and `old` (the number of the call), and `not_repeated` with `number`, `method`, `uri` and `reason`.

    Exit status: 0, also if there are changes; 1 if there is a change of a kind in --fail-on; 2 if the recording cannot
    be read or the service not be called.
    """
    with terminal.errors_exit_with(2):
        failing = kinds_of(fail_on)
        if is_offline():
            raise ConfigurationError(
                "TOOLKIT_OFFLINE is set, so calls cannot be repeated live.",
                "Unset it and run this again.",
                about="TOOLKIT_OFFLINE",
            )
        settings = Settings.load()
        recorded = _callers(name, settings)
        called = environment or _only_environment(name, recorded)
        if credentials is None:
            profiles = {profile for each, profile in recorded if each == called}
            credentials = _saved(profiles, called)
        with Session(called, credentials, settings=settings, per_second=per_second) as session:
            result = drift(name, session)
    if as_json:
        terminal.print_json(result.to_json())
    else:
        _print_result(result)
    if any(change.kind in failing for change in result.changes):
        raise typer.Exit(_EXIT_CHANGED)


def _callers(name: str, settings: Settings) -> set[tuple[str, str]]:
    """Return environment and profile of each caller in a recording."""
    contents = read_cassette(name, settings).contents
    interactions = map(contents.interaction, range(len(contents)))
    callers = {interaction.authorized_by for interaction in interactions if interaction.authorized_by is not None}
    return {(str(caller.environment), caller.profile) for caller in callers}


def _only_environment(name: str, callers: set[tuple[str, str]]) -> Environment:
    environments = sorted({environment for environment, _ in callers})
    if len(environments) == 1:
        return Environment(environments[0])
    content = (
        f"holds calls of {', '.join(environments)}" if environments else "does not say which environment was called"
    )
    raise ConfigurationError(
        f"The cassette {name} {content}.",
        f"Add --environment with one of {', '.join(environments or Environment)}.",
        about="environment",
    )


def _saved(profiles: set[str], environment: str) -> str | None:
    """Return the only profile of the recording that is saved here; None for the only one that is saved.

    Raises:
        ConfigurationError: if several are saved, and the recording does not say which to use. The one named default
            may be another account.
    """
    from toolkit.auth.profiles.saving import saved_credentials

    saved = {profile.name for profile in saved_credentials() if profile.environment == environment}
    here = profiles & saved
    if profiles and len(saved) > 1 and len(here) != 1:
        recorded = excerpt(", ".join(sorted(profiles)))
        raise ConfigurationError(
            f"The calls were recorded as {recorded}, and the profiles here are {', '.join(sorted(saved))}.",
            "Add --credentials with one of them.",
            about="credentials",
        )
    return next(iter(here)) if len(here) == 1 else None


def _print_result(result: Drift) -> None:
    console = Console()
    words = f"{count_text(result.repeated, 'call')} repeated in {result.environment}."
    console.print(terminal.escape(words), highlight=False)
    print_changes(list(result.changes), is_live=True)
    for reason, count in Counter(call.reason for call in result.not_repeated).most_common():
        console.print(f"[dim]{count:,} not repeated: {terminal.escape(reason)}.[/]", highlight=False, soft_wrap=True)
