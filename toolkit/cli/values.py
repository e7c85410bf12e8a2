"""Read the values of credentials at a terminal or from a pipe, never from arguments.

An argument would land in the shell's history, and every user of the machine sees it in the list of processes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

import typer

from toolkit.auth import checks
from toolkit.auth.profiles.fields import PASSPHRASE, REQUIRED, ProfileFields, variables_to_set
from toolkit.auth.typed_secrets import Prompt, ask_secret, can_ask, field_in_words
from toolkit.core.document import CredentialKind
from toolkit.core.errors import ConfigurationError, CredentialsMismatch
from toolkit.core.secret import Secret
from toolkit.core.tracebacks import frameless
from toolkit.local.files import expanded, read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from toolkit.core.document import Environment

_TRIES: Final = 3  # to type a value
_LARGEST_INPUT: Final = 1 << 20  # bytes
# RFC 7468 section 11, and RFC 1421 section 4.6.1.1 for the older form.
_ENCRYPTED: Final = re.compile(r"-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type:\s*4,\s*ENCRYPTED")
_CHECK_THE_PATH: Final = "Give the full path of a file that you can read."
_PIPE: Final = "Pipe one value per line; --help shows their order."
# Fields that have an option, and how it is written.
_OPTIONS: Final = {
    "scheme": "--scheme",
    "client_id": "--client-id",
    "private_key": "--key-file",
    "private_key_id": "--key-id",
    "algorithm": "--algorithm",
    "audience": "--audience",
    "assertion_typ": "--assertion-typ",
    "assertion_lifetime": "--assertion-lifetime",
    "form_fields": "--scope or --form-field",
}


class KindOption(StrEnum):
    """Kinds of credentials, as the option `--kind` spells them."""

    KEY_PAIR = "key-pair"
    CLIENT_SECRET = "client-secret"  # noqa: S105 - the name of a kind
    CLIENT_KEY = "client-key"

    @property
    def credential_kind(self) -> CredentialKind:
        """The kind as the document names it."""
        return CredentialKind[self.name]


class TypedValues:
    """Asks at the terminal; secrets are not shown while they are typed. A malformed answer is asked for again."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def value(self, field: str) -> Secret:
        prompt = input if field == "client_id" else None
        question = f"{field_in_words(field)} of {self._environment}: "
        return self._ask(question, prompt, partial(_cleaned, field))

    def key(self) -> Secret:
        return self._ask(f"File of the private key of {self._environment} (PEM or JWK): ", input, _key_in)

    @frameless
    def _ask(self, question: str, prompt: Prompt | None, read: Callable[[Secret], Secret]) -> Secret:
        """Return what `read` makes of the answer; its errors are printed, and the last of them is raised."""
        check_terminal(self._environment)
        for _ in range(_TRIES - 1):
            answer = ask_secret(question, prompt)
            try:
                return read(answer)
            except ConfigurationError as error:
                typer.echo(f"{error.what} {error.next_step}", err=True)
        return read(ask_secret(question, prompt))


class PipedValues:
    """Reads standard input, one value per line; further lines are ignored."""

    def __init__(self, text: Secret) -> None:
        self._rest = text

    def value(self, field: str) -> Secret:
        line, _, rest = self._rest.reveal().partition("\n")
        value = Secret(line.removesuffix("\r") if field == PASSPHRASE else line.strip())
        return self._take(value, Secret(rest), field_in_words(field))

    def key(self) -> Secret:
        # A PEM ends with its END line. A JWK may have several lines and ends with the text.
        text = self._rest.reveal()
        end = re.search(r"-----END [A-Z ]*-----[^\n]*\n?", text)
        at = end.end() if end else len(text)
        key, rest = Secret(text[:at]), Secret(text[at:])
        del text, end
        return self._take(key, rest, "Private key")

    def _take(self, value: Secret, rest: Secret, label: str) -> Secret:
        if not value:
            raise ConfigurationError(f"{label} is missing in the piped input.", _PIPE, about="stdin")
        self._rest = rest
        return value


ValueSource = TypedValues | PipedValues


def value_source(environment: Environment, *, piped: bool, is_needed: bool = True) -> ValueSource:
    """Return the source of the values for which there was no option: standard input if `piped`, else the terminal.

    Args:
        environment: the environment of the credentials.
        piped: True to read standard input.
        is_needed: False if the options gave all values, except perhaps the passphrase of a key.

    Raises:
        ConfigurationError: if it cannot ask at a terminal, or standard input is not a pipe.
    """
    if piped:
        if sys.stdin is None or sys.stdin.isatty():
            raise ConfigurationError(
                "--stdin reads a pipe, but standard input is a terminal, where typed secrets would be visible.",
                "Leave --stdin out to be asked, or pipe the values in.",
                about="stdin",
            )
        return PipedValues(read_pipe())
    if is_needed:
        check_terminal(environment)
    return TypedValues(environment)


def check_terminal(environment: Environment) -> None:
    """Check that values can be asked for.

    Raises:
        ConfigurationError: if standard input is not a terminal.
    """
    if not can_ask():
        raise ConfigurationError(
            "The secret values can be asked for at a terminal only.",
            f"Set {variables_to_set(environment, None)} as environment variables, which do not have to be saved; "
            "or add --stdin and pipe one value per line.",
            about="stdin",
        )


def credential_kind(environment: Environment, requested: KindOption | None, options: set[str]) -> CredentialKind:
    """Return the requested kind, or else the kind that the options belong to.

    Raises:
        CredentialsMismatch: if the environment does not accept the requested kind.
    """
    if requested is not None:
        if requested.credential_kind not in environment.rules.credentials:
            accepted = " or a ".join(sorted(environment.rules.credentials))
            raise CredentialsMismatch(
                f"The environment {environment} does not accept a {requested.credential_kind}.",
                f"A {environment.rules.holder} uses a {accepted}.",
                about="kind",
            )
        return requested.credential_kind
    if CredentialKind.KEY_PAIR in environment.rules.credentials:
        return CredentialKind.KEY_PAIR
    options_of_a_key = options - {"client_id", "form_fields", "scheme"}
    return CredentialKind.CLIENT_KEY if options_of_a_key else CredentialKind.CLIENT_SECRET


def encode_form(scope: str | None, fields: Iterable[str]) -> str | None:
    """Return a scope and further form fields (NAME=TEXT) URL-encoded, or None without any.

    Raises:
        ConfigurationError: if a field has no equals sign.
    """
    pairs = [] if scope is None else [("scope", scope)]
    for field in fields:
        name, equals, text = field.partition("=")
        if not equals:
            raise ConfigurationError(
                "A --form-field has no equals sign.", "Write it like resource=orders.", about="form_field"
            )
        pairs.append((name, text))
    return urlencode(pairs) if pairs else None


def check_options(environment: Environment, kind: CredentialKind, fields: Iterable[str]) -> None:
    """Check that the fields for which there were options can be used together, before anything is asked.

    Raises:
        CredentialsMismatch: if the environment does not take one of them.
        ConfigurationError: if the kind does not take one of them.
    """
    _profile_fields(environment, "", dict.fromkeys(fields, Secret(""))).check_fits(kind)


def collect_fields(
    environment: Environment, name: str, kind: CredentialKind, options: Mapping[str, Secret], source: ValueSource
) -> ProfileFields:
    """Return the fields of credentials: values of options first, and the missing ones from `source`.

    Raises:
        ConfigurationError: if a value is missing, or a key file cannot be read.
    """
    values = dict(options)
    for field in REQUIRED[kind]:
        if field not in values:
            values[field] = source.key() if field == "private_key" else source.value(field)
    if kind is CredentialKind.CLIENT_KEY and _ENCRYPTED.search(values["private_key"].reveal()):
        values[PASSPHRASE] = source.value(PASSPHRASE)
    return _profile_fields(environment, name, values)


def _profile_fields(environment: Environment, name: str, values: Mapping[str, Secret]) -> ProfileFields:
    return ProfileFields(
        environment, name, "your input", values, lambda field: _OPTIONS.get(field, field_in_words(field)), Path()
    )


def _cleaned(field: str, answer: Secret) -> Secret:
    """Return an answer without the space around it, which comes along when a value is pasted, and check it.

    Only a passphrase may have spaces of its own.

    Raises:
        ConfigurationError: if it is not one run of printable characters.
    """
    return answer if field == PASSPHRASE else checks.secret(Secret(answer.reveal().strip()), field)


def _key_in(answer: Secret) -> Secret:
    return read_key_file(Path(answer.reveal().strip()), "the file of the private key")


def read_key_file(file: Path, description: str) -> Secret:
    """Return the text of a key file.

    Raises:
        ConfigurationError: if it cannot be read, or is empty. The message does not quote the path, because somebody
            may have pasted the key in its place.
    """
    text = Secret(read_text(expanded(file, about="key_file"), description, _CHECK_THE_PATH).strip())
    if not text:
        raise ConfigurationError(f"Cannot read {description}: it is empty.", _CHECK_THE_PATH, about="key_file")
    return text


def read_pipe() -> Secret:
    data = sys.stdin.buffer.read(_LARGEST_INPUT + 1)
    reason = "is larger than 1 MiB"
    if len(data) <= _LARGEST_INPUT:
        try:
            return Secret(data.decode("utf-8-sig"))
        except UnicodeDecodeError:
            reason = "is not UTF-8 text"
    # Raised outside the handler, so that neither the error nor a local variable holds what was read.
    del data
    raise ConfigurationError(f"The piped input {reason}.", _PIPE, about="stdin")
