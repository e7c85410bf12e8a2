"""`toolkit credentials`: save, list, test and remove credentials, and allow destinations for them.

No value is ever printed, and no option takes a secret: it would end up in the shell history, and every user of the
machine could see it in the process list. Secrets are typed in a terminal or piped in.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Final, NamedTuple
from urllib.parse import urlencode

import httpx
import typer
from rich.text import Text

from toolkit.auth.credentials import as_profile_name, as_secret, ask_secret, can_ask, field_in_words
from toolkit.auth.destinations import Change, allow_destinations, changes, new_in_environment, uses_of
from toolkit.auth.profiles.fields import PASSPHRASE, REQUIRED, Profile, ProfileFields, variables_to_set
from toolkit.auth.profiles.saved import profile_at
from toolkit.auth.profiles.saving import (
    destinations_to_save,
    load_credentials,
    remove_credentials,
    save_credentials,
    survey,
)
from toolkit.auth.tokens.single_flight import MemoryTokenStore
from toolkit.cli import terminal
from toolkit.core.document import DEFAULT_HEADER_PREFIX, CredentialKind, Environment, Interface
from toolkit.core.errors import ConfigurationError, ToolkitError, as_choice
from toolkit.core.secret import Secret
from toolkit.local.files import expanded, read_text
from toolkit.local.settings import Settings
from toolkit.session.session import Session
from toolkit.transport.failures import as_toolkit_error, status_error

_KINDS: Final = {kind.replace(" ", "-"): kind for kind in CredentialKind}
# RFC 7468 section 11, and RFC 1421 section 4.6.1.1 for the older form.
_ENCRYPTED: Final = re.compile(r"-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type:\s*4,\s*ENCRYPTED")
# The piped text for a field. A PEM ends with its END line; a JWK may have several lines, and ends with the input.
_REFUSALS: Final = {401: "refused: these credentials are not accepted", 403: "refused: no permission for this call"}
_LINE: Final = re.compile(r"[^\n]*\n?")
_KEY: Final = re.compile(r".*?-----END [A-Z ]*-----[^\n]*\n?|.*", re.DOTALL)
app = terminal.command_group("credentials", help="Save, list, test and remove credentials.")


@app.command(
    epilog=terminal.examples(
        "toolkit credentials add default --environment paper",
        "toolkit credentials add fund -e broker-live --key-file ~/keys/broker.pem --key-id key-1 --scope accounts.read",
        "pass show broker | toolkit credentials add fund -e broker-live --client-id CLIENT_ID --stdin",
    )
)
def add(
    name: Annotated[str, typer.Argument(help="Name of the profile to save; not a secret.")],
    environment: terminal.EnvironmentOption,
    kind: Annotated[str | None, typer.Option(help=f"{', '.join(_KINDS)}; by default implied by the options.")] = None,
    client_id: Annotated[str | None, typer.Option(help="Client ID, not a secret; asked for if missing.")] = None,
    key_file: Annotated[Path | None, typer.Option(help="Private key file (PEM or JWK); the key is copied.")] = None,
    key_id: Annotated[str | None, typer.Option(help="Key ID (kid) that the public key was registered with.")] = None,
    algorithm: Annotated[str | None, typer.Option(help="JWS algorithm; defaults to the key's algorithm.")] = None,
    audience: Annotated[str | None, typer.Option(help="Audience: token-endpoint (default), issuer or other.")] = None,
    assertion_typ: Annotated[str | None, typer.Option(help="Type of assertions: JWT (the default) or none.")] = None,
    assertion_lifetime: Annotated[int | None, typer.Option(help="Seconds for which an assertion is valid.")] = None,
    scope: Annotated[str | None, typer.Option(help="Scope of the tokens to request.")] = None,
    form_field: Annotated[list[str] | None, typer.Option(help="Extra field for token requests: NAME=TEXT.")] = None,
    scheme: Annotated[str | None, typer.Option(help="How a key pair is sent: headers (the default) or basic.")] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="Read the values from standard input, one per line.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Replace an existing profile without asking.")] = False,
    yes: terminal.YesOption = False,
) -> None:
    """Save credentials under a name.

    Only you can read the file, which is encrypted with a key in the system's keyring if there is one. The command asks
    for the secret values and hides what you type. No option takes a secret: it would end up in the shell history, and
    every user of the machine could see it in the process list.

    With --stdin, the values are read from a pipe, one per line: for a key pair, the key ID and the secret key; for a
    client secret, the client ID and the secret; for a client key, the client ID, the private key and, if the key is
    encrypted, its passphrase. Leave out the values that you give as options. Extra lines are ignored.
    """
    settings, environment = Settings.load(), Environment(environment)
    options = {
        "client_id": client_id,
        "private_key_id": key_id,
        "algorithm": algorithm,
        "audience": audience,
        "assertion_typ": assertion_typ,
        "assertion_lifetime": None if assertion_lifetime is None else str(assertion_lifetime),
        "form_fields": _form(scope, form_field or ()),
        "scheme": scheme,
    }
    values = {field: Secret(text) for field, text in options.items() if text is not None}
    if key_file is not None:
        values["private_key"] = _read_key_file(key_file)
    fields = ProfileFields(environment, name, "your input", values, field_in_words, Path())
    chosen = fields.intended_kind(None if kind is None else _KINDS[as_choice(kind, _KINDS, about="kind")])
    as_profile_name(name)
    missing = [field for field in REQUIRED[chosen] if field not in values]
    if missing and not stdin and not can_ask():
        what = "Secret values can be entered only in a terminal."
        next_step = f"Add --stdin and pipe one value per line, or set {variables_to_set(environment, None)}."
        raise ConfigurationError(what, next_step, about="stdin")
    if profile_at(environment, name).file.exists():
        question = f"The profile {name} already exists for {environment}. Replace it?"
        terminal.confirm(question, yes=replace, option="--replace", piped=stdin)
    _confirm_destinations(environment, chosen, name, settings, yes=yes, piped=stdin)
    value = _piped(terminal.read_pipe()) if stdin else _typed(environment)
    for field in missing:
        values[field] = value(field)
    if chosen is CredentialKind.CLIENT_KEY and _ENCRYPTED.search(values["private_key"].reveal()):
        values[PASSPHRASE] = value(PASSPHRASE)
    saved = save_credentials(fields.credentials(), name, settings=settings)
    terminal.say(f"Saved {name} for {environment} ({saved.kind}) in {saved.source}.")
    terminal.print_next_steps(
        (f"toolkit credentials test {name} --environment {environment}", "call each interface once"),
        (f'tk.Session("{environment}", "{name}")', "use them in Python"),
    )


@app.command("list", epilog=terminal.examples("toolkit credentials list", "toolkit credentials list -e broker-live"))
def list_(environment: terminal.OptionalEnvironment = None) -> None:
    """List profiles and where they come from.

    No value is shown, and no keyring is opened.
    """
    environment = environment and Environment(environment)
    entries = [entry for entry in survey(Settings.load(), None) if environment in (None, entry.environment)]
    if not entries:
        terminal.say(f"No profile exists{f' for {environment}' if environment else ''}.")
        example = f"toolkit credentials add default --environment {environment or Environment.PAPER}"
        terminal.print_next_steps((example, "save yours"))
        return
    rows, steps = [], []
    for entry in entries:
        profile = entry.outcome
        if isinstance(profile, Profile):
            remark = "" if entry.comes_first else "not used: an earlier source has a profile of that name"
            rows.append((entry.environment, entry.name, str(profile.kind), profile.source, remark))
        else:
            rows.append((entry.environment, entry.name, "", "", f"broken: {profile.what}"))
            steps.append(f"{entry.name}: {profile.next_step}")
    terminal.print_table(("environment", "profile", "kind", "source", "remark"), rows)
    for step in steps:
        terminal.say(terminal.pasteable(step))


@app.command("test", epilog=terminal.examples("toolkit credentials test fund --environment broker-live"))
def try_(
    name: Annotated[
        str | None, typer.Argument(help="Name of the profile; by default the only one, or `default`.")
    ] = None,
    environment: terminal.OptionalEnvironment = None,
) -> None:
    """Call each interface once, live, and show what works.

    The environment is needed only if several environments have a matching profile. The calls are read-only, and no
    response body is shown. The exit status is 1 if an interface refuses the call, fails or is unreachable, or if
    nothing was called. An interface whose address is not set is not called, and does not count as a failure.
    """
    terminal.check_online("nothing is sent")
    settings = Settings.load()
    environment = environment or _only_environment(name, settings)
    with Session(environment, name, settings=settings, token_store=MemoryTokenStore()) as session:
        terminal.say(repr(session))
        results = list(_probes(session))
        caller = session.credentials
    rows = [(each.interface, each.call, each.status or "", Text(each.meaning, _colour_of(each))) for each in results]
    terminal.print_table(("interface", "call", "status", "meaning"), rows)
    steps = [each.next_step for each in results]
    if caller is not None and any(each.status == 401 for each in results):
        steps.append(caller.where_to_correct())
    for step in dict.fromkeys(filter(None, steps)):
        terminal.say(terminal.pasteable(step))
    if caller is not None:
        _say_missing_addresses(caller.environment, caller.name, settings)
    if any(each.works is False for each in results) or not any(each.works for each in results):
        raise typer.Exit(1)


@app.command(epilog=terminal.examples("toolkit credentials allow default --environment paper"))
def allow(
    name: Annotated[str, typer.Argument(help="Name of the profile.")],
    environment: terminal.EnvironmentOption,
    yes: terminal.YesOption = False,
) -> None:
    """Allow credentials to be sent to this project's addresses.

    Credentials from variables and `.env` need this for each address that is set only in a project file. Saved
    credentials need it for each address that was not set when they were saved. Run it in the project folder. Addresses
    that were allowed earlier stay allowed.
    """
    settings, environment = Settings.load(), Environment(environment)
    credentials = load_credentials(environment, name, settings=settings, anywhere=True)
    destinations = destinations_to_save(environment, credentials.kind, settings)
    new = changes(destinations, uses_of(credentials))
    who = f"{name} for {environment} ({credentials.loaded_from})"
    if not new:
        terminal.say(f"The credentials {who} are already allowed for this project's addresses.")
        return
    terminal.say(f"The credentials {who} would go to new destinations:")
    _confirm_changes(new, yes=yes)
    allow_destinations(credentials, destinations)
    terminal.say("Allowed.")


@app.command(epilog=terminal.examples("toolkit credentials remove fund --environment broker-live"))
def remove(
    name: Annotated[str, typer.Argument(help="Name of the saved profile.")],
    environment: terminal.EnvironmentOption,
    yes: terminal.YesOption = False,
) -> None:
    """Remove a saved profile.

    Environment variables and `.env` files are not changed.
    """
    environment = Environment(environment)
    terminal.confirm(f"Remove the profile {name} for {environment}?", yes=yes)
    remove_credentials(name, environment)
    terminal.say(f"Removed {name} for {environment}.")


def _only_environment(name: str | None, settings: Settings) -> Environment:
    """Return the only environment that has a profile of this name (or, if None, of any name); else raise an error."""
    found = dict.fromkeys(each.environment for each in survey(settings, None) if name in (None, each.name))
    if len(found) != 1:
        what = f"{len(found)} environments have a matching profile." if found else "No matching profile exists."
        next_step = "`toolkit credentials list` shows all profiles; use --environment to choose between several."
        raise ConfigurationError(what, next_step, about="environment")
    return next(iter(found))


def _form(scope: str | None, fields: Iterable[str]) -> str | None:
    """Return a scope and other form fields (NAME=TEXT), URL-encoded, or None if none are given."""
    if any("=" not in field for field in fields):
        raise typer.BadParameter("Write a field with an equals sign: resource=orders", param_hint="--form-field")
    pairs = [("scope", scope)] if scope is not None else []
    pairs += [(name, text) for name, _, text in (field.partition("=") for field in fields)]
    return urlencode(pairs) if pairs else None


def _typed(environment: Environment) -> Callable[[str], Secret]:
    """Return a function that asks for the value of a field; secrets are not shown while they are typed."""

    def value(field: str) -> Secret:
        if field == "private_key":
            question = f"Private key file for {environment} (PEM or JWK): "
            return _read_key_file(Path(ask_secret(question, input).reveal().strip()))
        prompt = input if field == "client_id" else None
        answer = ask_secret(f"{field_in_words(field)} for {environment}: ", prompt, next_step="Add --stdin to pipe it.")
        # Pasted values often have spaces around them. Only in a passphrase can these be part of the value.
        return answer if field == PASSPHRASE else as_secret(Secret(answer.reveal().strip()), field)

    return value


def _piped(rest: Secret) -> Callable[[str], Secret]:
    """Return a function that takes field values from piped input, one after another."""

    def value(field: str) -> Secret:
        nonlocal rest
        match = (_KEY if field == "private_key" else _LINE).match(rest.reveal())
        text = Secret(match[0] if match else "")
        rest = Secret(rest.reveal()[len(text.reveal()) :])
        text = Secret(text.reveal().rstrip("\r\n") if field == PASSPHRASE else text.reveal().strip())
        if not text:
            what = f"{field_in_words(field)} is missing from the piped input."
            raise ConfigurationError(what, "Pipe one value per line; --help shows their order.", about="stdin")
        return text

    return value


def _read_key_file(file: Path) -> Secret:
    """Return the text of a key file. Errors do not quote the path, in case the key itself was pasted instead."""
    what, next_step = "the private key file", "Enter the full path of a file that you can read."
    return Secret(read_text(expanded(file, about="key_file"), what, next_step).strip())


class _Probe(NamedTuple):
    """The result of one call, with a human-readable description."""

    interface: Interface
    call: str  # method and path
    works: bool | None  # None if nothing was called
    meaning: str
    next_step: str = ""
    status: int | None = None


def _probes(session: Session) -> Iterator[_Probe]:
    """Call each interface of a live session once; the first call of a broker partner requests a token.

    The service document shows no market data path (section 4.2), so the base address of that interface is called. A
    response only proves that it was reached and did not refuse the caller. Failures are yielded, and no body is read.
    """
    rules = session.environment.rules
    for interface in rules.addresses:
        if interface is not Interface.AUTH:
            path = rules.accounts[1] if interface is rules.accounts[0] else "/"
            try:
                yield _called(session, interface, path)
            except ToolkitError as error:  # raised during authentication, not by the client
                yield _Probe(interface, f"GET {path}", False, error.what, error.next_step)


def _called(session: Session, interface: Interface, path: str) -> _Probe:
    call = f"GET {path}"
    try:
        client: httpx.Client = getattr(session, interface)
    except ToolkitError as error:  # its address is not set, for example
        return _Probe(interface, call, None, f"not called: {error.what}", error.next_step)
    try:
        with client.stream("GET", path) as response:
            status = response.status_code
    except httpx.TransportError as error:
        raise as_toolkit_error(error, client.base_url) from None
    if response.is_success:
        return _Probe(interface, call, True, "works", status=status)
    if path == "/" and status not in _REFUSALS:
        meaning = "reached and not refused; the service document names no call that could be tested"
        return _Probe(interface, call, True, meaning, status=status)
    meaning = _REFUSALS.get(status, "an error other than a refusal")
    return _Probe(interface, call, False, meaning, status_error(response).next_step, status)


def _colour_of(result: _Probe) -> str:
    is_success = result.works and (result.status or 0) < 300
    return "green" if is_success else "red" if result.works is False else "yellow"


def _say_missing_addresses(environment: Environment, name: str, settings: Settings) -> None:
    if missing := [name for name in environment.rules.addresses.values() if not settings.addresses.get(name)]:
        command = f"`toolkit credentials allow {shlex.quote(name)} --environment {environment}`"
        terminal.say(terminal.pasteable(f"Addresses not set: {', '.join(missing)}. Once you set one, run {command}."))


def _confirm_destinations(
    environment: Environment, kind: CredentialKind, name: str, settings: Settings, *, yes: bool, piped: bool
) -> None:
    """Say where secrets will be sent, and ask about new addresses, since the project may come from a stranger."""
    destinations = destinations_to_save(environment, kind, settings)
    terminal.say("Secrets are sent only to these addresses:")
    for to in (each for each in destinations if each.text != DEFAULT_HEADER_PREFIX):
        terminal.say(f"  {to.label}  {to.text}  ({to.place_in_words})")
    _say_missing_addresses(environment, name, settings)
    new = new_in_environment(environment, kind, settings)
    if any(change.earlier for change in new):  # the first addresses of an environment are printed without a question
        _confirm_changes(new, yes=yes, piped=piped)


def _confirm_changes(new: list[Change], *, yes: bool, piped: bool = False) -> None:
    for change in new:
        terminal.say(change.in_words())
    terminal.confirm("Do you trust this destination with your credentials?", yes=yes, piped=piped)
