"""The values of credentials, asked for at a terminal or read from what is piped in; never from arguments.

An argument lands in the shell's history, and every user of the machine sees it in the list of processes.
"""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import urlencode

from toolkit.auth.credentials import ClientSecret, KeyPair
from toolkit.auth.profiles.fields import REQUIRED, Given
from toolkit.auth.profiles.prompt import answer, ask_unseen, can_ask, spoken
from toolkit.auth.profiles.saving import what_to_set
from toolkit.auth.profiles.serialize import PASSPHRASE
from toolkit.core.document import CredentialKind
from toolkit.core.errors import ConfigurationError, CredentialsMismatch
from toolkit.core.secret import SHORTEST_SECRET, Secret
from toolkit.local.files import read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from toolkit.core.document import Environment

_LARGEST: Final = 1 << 20  # characters
# RFC 7468 section 11, and RFC 1421 section 4.6.1.1 for the older form.
_ENCRYPTED: Final = re.compile(r"-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type:\s*4,\s*ENCRYPTED")
_READ_IT: Final = "Write its path in full, and let only yourself read it."
SOURCE: Final = "what you gave"
# The fields that options give, by the names of those.
OPTIONS: Final = {
    "scheme": "--scheme",
    "client_id": "--client-id",
    "private_key": "--key-file",
    "private_key_id": "--kid",
    "algorithm": "--algorithm",
    "audience": "--audience",
    "assertion_typ": "--assertion-typ",
    "assertion_lifetime": "--assertion-lifetime",
    "form_fields": "--scope or --form-field",
}


class Kind(StrEnum):
    """The kinds of credentials, as an option takes them."""

    KEY_PAIR = "key-pair"
    CLIENT_SECRET = "client-secret"  # noqa: S105 - the name of a kind
    CLIENT_KEY = "client-key"

    @property
    def of_credentials(self) -> CredentialKind:
        return CredentialKind[self.name]


class Source(Protocol):
    """Where the values come from that no option gave."""

    def value(self, field: str) -> Secret:
        """The value of a field; raises ConfigurationError when there is none."""
        ...

    def key(self) -> Secret:
        """The text of a private key; raises as `value` does."""
        ...


class Terminal:
    """Asks the person at the terminal; secrets are typed unseen."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def value(self, field: str) -> Secret:
        ask = input if field == "client_id" else ask_unseen
        return answer(ask, f"{spoken(field)} of {self._environment}: ")

    def key(self) -> Secret:
        path = answer(input, f"File of the private key of {self._environment} (PEM or JWK): ")
        return key_in(Path(path.reveal().strip()), "the file of the private key")


class Lines:
    """Reads what is piped in, one value a line; lines that nobody asks for are left alone."""

    def __init__(self, text: Secret) -> None:
        self._rest = text

    def value(self, field: str) -> Secret:
        line, _, rest = self._rest.reveal().partition("\n")
        return self._taken(Secret(line.removesuffix("\r")), Secret(rest), spoken(field))

    def key(self) -> Secret:
        # A PEM ends with its last line; a JWK, which may have several, with the text.
        end = re.search(r"-----END [A-Z ]*-----[^\n]*\n?", self._rest.reveal())
        at = end.end() if end else len(self._rest.reveal())
        return self._taken(Secret(self._rest.reveal()[:at]), Secret(self._rest.reveal()[at:]), "Private key")

    def _taken(self, value: Secret, rest: Secret, what: str) -> Secret:
        if not value:
            raise ConfigurationError(
                f"{what} is missing in what is piped in.", "Pipe in one value a line; see --help for their order."
            )
        self._rest = rest
        return value


def kind_of(environment: Environment, asked: Kind | None, given: set[str]) -> CredentialKind:
    """The kind that was asked for, else the one that the options given are for.

    Raises:
        CredentialsMismatch: the environment does not take the kind asked for.
    """
    if asked is not None:
        if asked.of_credentials not in environment.rules.credentials:
            taken = " or a ".join(sorted(environment.rules.credentials))
            raise CredentialsMismatch(
                f"The environment {environment} takes no {asked.of_credentials}.",
                f"A {environment.rules.holder} uses a {taken}.",
            )
        return asked.of_credentials
    if CredentialKind.KEY_PAIR in environment.rules.credentials:
        return CredentialKind.KEY_PAIR
    of_a_key = given - {"client_id", "form_fields", "scheme"}
    return CredentialKind.CLIENT_KEY if of_a_key else CredentialKind.CLIENT_SECRET


def form_of(scope: str | None, fields: Iterable[str]) -> str | None:
    """A scope and further form fields (NAME=TEXT) as one text, as a form is sent; None without any.

    Raises:
        ConfigurationError: a field has no equals sign.
    """
    pairs = [] if scope is None else [("scope", scope)]
    for field in fields:
        name, equals, text = field.partition("=")
        if not equals:
            raise ConfigurationError("A --form-field has no equals sign.", "Write it like resource=orders.")
        pairs.append((name, text))
    return urlencode(pairs) if pairs else None


def check_name(environment: Environment, name: str) -> None:
    """Refuse a name before anything is asked for.

    Raises:
        ConfigurationError: as making the credentials would.
    """
    stand_in = "x" * SHORTEST_SECRET
    made = KeyPair if CredentialKind.KEY_PAIR in environment.rules.credentials else ClientSecret
    made(stand_in, stand_in, environment=environment, name=name)


def source_of(environment: Environment, *, piped: bool) -> Source:
    """Where to take values from.

    Args:
        environment: whose values.
        piped: whether they are piped in.

    Raises:
        ConfigurationError: nobody is there to ask, or nothing is piped in.
    """
    if piped:
        if sys.stdin is None or sys.stdin.isatty():
            raise ConfigurationError(
                "--stdin reads what is piped in, and here it would be typed for all to see.",
                "Leave --stdin out to be asked, or pipe the values in.",
            )
        return Lines(_piped_in())
    if not can_ask():
        raise ConfigurationError(
            "There is no terminal to ask for the secret values.",
            f"Set {what_to_set(environment, None)} as environment variables instead, which need no saving; "
            "or add --stdin and pipe one value a line in.",
        )
    return Terminal(environment)


def gather(
    environment: Environment, name: str, kind: CredentialKind, options: Mapping[str, Secret], source: Source
) -> Given:
    """The fields of credentials: those that options gave, and the others from a source.

    Raises:
        ConfigurationError: a value is missing, or a key file cannot be read.
    """
    values = dict(options)
    for field in REQUIRED[kind]:
        if field not in values:
            values[field] = source.key() if field == "private_key" else source.value(field)
    if kind is CredentialKind.CLIENT_KEY and _ENCRYPTED.search(values["private_key"].reveal()):
        values[PASSPHRASE] = source.value(PASSPHRASE)
    return Given(environment, name, SOURCE, values, lambda field: OPTIONS.get(field, spoken(field)), Path())


def key_in(file: Path, what: str) -> Secret:
    """The text of a key file.

    Raises:
        ConfigurationError: it cannot be read, or is empty. Its name is not quoted: the key may stand in its place.
    """
    with suppress(RuntimeError):  # no home folder; the file is then not found
        file = file.expanduser()
    text = Secret(read_text(file, what, _READ_IT).strip())
    if not text:
        raise ConfigurationError(f"Cannot read {what}: it is empty.", _READ_IT)
    return text


def _piped_in() -> Secret:
    data = sys.stdin.buffer.read(_LARGEST + 1)
    reason = "is larger than 1 MiB"
    if len(data) <= _LARGEST:
        try:
            return Secret(data.decode("utf-8-sig"))
        except UnicodeDecodeError:
            reason = "is not UTF-8 text"
    # Raised out here and without it, so that neither the error nor a local variable has what was read.
    del data
    raise ConfigurationError(f"What is piped in {reason}.", "Pipe in one value a line; see --help for their order.")
