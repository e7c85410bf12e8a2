"""The fields of credentials: what one place has for a profile, and how credentials become fields and back.

Fields have the same names in variables and files. A field that ends in `_file` names a file with the value.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar, cast
from urllib.parse import parse_qsl, urlencode

from toolkit.auth.assertion import ASSERTION_LIFETIME
from toolkit.auth.credentials import ClientKey, ClientSecret, Credentials, KeyPair
from toolkit.auth.keys import LocalKey
from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import ConfigurationError, CredentialsMismatch
from toolkit.core.secret import Secret
from toolkit.core.tracebacks import frameless
from toolkit.local.files import expanded, lies_in, read_text

if TYPE_CHECKING:
    from toolkit.auth.credentials import Scheme

PASSPHRASE: Final = "private_key_passphrase"  # noqa: S105 - the name of a field
REQUIRED: Final[Mapping[CredentialKind, tuple[str, ...]]] = {
    CredentialKind.KEY_PAIR: ("key_id", "secret_key"),
    CredentialKind.CLIENT_SECRET: ("client_id", "client_secret"),
    CredentialKind.CLIENT_KEY: ("client_id", "private_key"),
}
_OPTIONAL: Final[Mapping[CredentialKind, tuple[str, ...]]] = {
    CredentialKind.KEY_PAIR: ("scheme",),
    CredentialKind.CLIENT_SECRET: ("form_fields",),
    CredentialKind.CLIENT_KEY: (
        PASSPHRASE,
        "private_key_id",
        "algorithm",
        "audience",
        "assertion_typ",
        "assertion_lifetime",
        "form_fields",
    ),
}
# Each field that names a file, and the field whose value is in the file.
_FILES: Final = {f"{field}_file": field for field in ("secret_key", "client_secret", "private_key", PASSPHRASE)}
_NO_TYP: Final = "none"  # because an empty text counts as unset
_WHOLE_NUMBER: Final = re.compile(r"[0-9]{1,9}\Z")
_ONLY_CLIENT_KEY: Final = {"private_key", *_OPTIONAL[CredentialKind.CLIENT_KEY]} - {"form_fields"}

Default = TypeVar("Default", str, None)


def fields_of(environment: Environment) -> frozenset[str]:
    """Return the fields that credentials of this environment may have."""
    own = {field for kind in environment.rules.credentials for field in (*REQUIRED[kind], *_OPTIONAL[kind])}
    return frozenset(own | {file for file, field in _FILES.items() if field in own})


FIELDS: Final = frozenset[str]().union(*map(fields_of, Environment))


@dataclass(frozen=True, slots=True)
class Profile:
    """Credentials with a name, for one environment, which can be loaded by both.

    Attributes:
        name: the name to load them by; "default" if the source names none.
        environment: the environment that they belong to.
        kind: key pair, client secret or client key.
        source: where they come from, in words: "environment variables", ".env", "keyring" or a file.
    """

    name: str
    environment: Environment
    kind: CredentialKind
    source: str


@dataclass(frozen=True, slots=True)
class ProfileFields:
    """The fields that one place has for a profile.

    Attributes:
        environment: the environment of the profile.
        name: name of the profile.
        source: the place in words, for messages and lists.
        values: text of each field. All are Secrets, because a secret may stand in the wrong field.
        label: returns the place's own name of a field, such as the variable.
        folder: where relative paths of files start.
        confined: True if those files must lie in that folder.
    """

    environment: Environment
    name: str
    source: str
    values: Mapping[str, Secret]
    label: Callable[[str], str]
    folder: Path
    confined: bool = False

    def profile(self) -> Profile:
        """Return the profile as a list shows it. Raises the errors of `kind`."""
        return Profile(self.name, self.environment, self.kind(), self.source)

    def kind(self) -> CredentialKind:
        """Return the kind of credentials that the fields make up.

        Raises:
            CredentialsMismatch: if the environment does not take a field.
            ConfigurationError: if a field is missing, is given twice, or cannot be used with the others.
        """
        self._check_environment()
        for file, field in _FILES.items():
            if {file, field} <= self.values.keys():
                raise self._both_set({file, field})
        present = {_FILES.get(field, field) for field in self.values}
        if {"client_secret", "private_key"} <= present:
            raise self._both_set({self._field_in_use("client_secret"), self._field_in_use("private_key")})
        kind = self.intended_kind()
        if missing := [field for field in REQUIRED[kind] if field not in present]:
            raise self._incomplete(missing)
        self._check_kind(kind)
        return kind

    def intended_kind(self) -> CredentialKind:
        """Return the kind that the fields belong to, of which some may still be missing."""
        if CredentialKind.KEY_PAIR in self.environment.rules.credentials:
            return CredentialKind.KEY_PAIR
        present = {_FILES.get(field, field) for field in self.values}
        is_key = "client_secret" not in present and _ONLY_CLIENT_KEY & present
        return CredentialKind.CLIENT_KEY if is_key else CredentialKind.CLIENT_SECRET

    def check_fits(self, kind: CredentialKind) -> None:
        """Check that the fields, of which some may still be missing, can be used with a kind of credentials.

        Raises:
            CredentialsMismatch: if the environment does not take a field, or the kind.
            ConfigurationError: if the kind does not take a field.
        """
        rules = self.environment.rules
        if kind not in rules.credentials:
            next_step = f"A {rules.holder} uses a {' or a '.join(sorted(rules.credentials))}."
            raise CredentialsMismatch(f"{self.environment} does not accept a {kind}.", next_step, about="kind")
        self._check_environment()
        self._check_kind(kind)

    @frameless
    def credentials(self) -> Credentials:
        """Return the credentials that the fields make up.

        Raises:
            CredentialsMismatch: if the environment does not take a field.
            ConfigurationError: if `kind` raises it, a value is malformed, or a file cannot be read.
        """
        kind = self.kind()
        texts = {_FILES.get(field, field): self._text(field) for field in self.values}
        try:
            credentials = compose(kind, texts, self.environment, self.name)
        except ConfigurationError as error:
            raise ConfigurationError(f"From {self.source}: {error.what}", error.next_step, about=error.about) from None
        credentials.note_source(self.source)
        return credentials

    def _check_environment(self) -> None:
        if foreign := self.values.keys() - fields_of(self.environment):
            kinds = " or a ".join(sorted(self.environment.rules.credentials))
            raise CredentialsMismatch(
                f"{self._labels(foreign)} in {self.source} cannot be for {self.environment}.",
                f"A {self.environment.rules.holder} uses a {kinds}.",
                about=min(foreign),
            )

    def _check_kind(self, kind: CredentialKind) -> None:
        present = {_FILES.get(field, field) for field in self.values}
        if useless := present - {*REQUIRED[kind], *_OPTIONAL[kind]}:
            raise ConfigurationError(
                f"{self._labels(useless)} in {self.source} cannot be used with a {kind}.",
                "Remove it.",
                about=min(useless),
            )

    def _text(self, field: str) -> Secret:
        """Return the value of a field, read from its file if the field names one."""
        if field not in _FILES:
            return self.values[field]
        # The path is not quoted: a secret may stand in its place by mistake.
        what = f"the file that {self.label(field)} in {self.source} names"
        next_step = "Write its path in full, and let only yourself read it."
        try:
            file = self.folder / expanded(self.values[field].reveal())
        except ConfigurationError:
            raise ConfigurationError(
                f"Cannot read {what}: the home folder in its path does not exist.", next_step, about=field
            ) from None
        if self.confined and not lies_in(file, self.folder):
            raise ConfigurationError(
                f"{self.label(field)} in {self.source} names a file outside the folder of the project.",
                f"A project may not point at secrets elsewhere: set {self.label(field)} as an environment variable, "
                "or save the credentials: `toolkit credentials add`, or save_credentials() in Python.",
                about=field,
            )
        try:
            content = read_text(file, what, next_step)
        except ConfigurationError as error:
            raise ConfigurationError(error.what, error.next_step, about=field) from None
        # The line break that editors add does not belong to the secret, but a passphrase may have spaces.
        text = Secret(content.strip("\r\n") if _FILES[field] == PASSPHRASE else content.strip())
        if not text:
            raise ConfigurationError(f"Cannot read {what}: it is empty.", next_step, about=field)
        return text

    def _field_in_use(self, field: str) -> str:
        return field if field in self.values else f"{field}_file"

    def _both_set(self, fields: set[str]) -> ConfigurationError:
        return ConfigurationError(
            f"{self._labels(fields)} in {self.source} are both set, but only one of them can be used.",
            "Keep one of them, and remove the other.",
            about=min(fields),
        )

    def _incomplete(self, missing: list[str]) -> ConfigurationError:
        needed = [self.label(field) for field in missing]
        if "client_secret" in missing:
            secrets = (self.label(field) for field in ("client_secret", "private_key", "private_key_file"))
            needed[-1] = f"one of {', '.join(secrets)}"
        present = self._labels(self.values)
        return ConfigurationError(
            f"The credentials for {self.environment} in {self.source} are incomplete: "
            f"{present or 'nothing'} without {' and '.join(needed)}.",
            "Add what is missing, or remove the rest.",
            about=missing[0],
        )

    def _labels(self, fields: Iterable[str]) -> str:
        return " and ".join(sorted(map(self.label, fields)))


def decompose(credentials: Credentials) -> dict[str, Secret]:
    """Return the fields of credentials, from which `compose` makes equal credentials; a private key as PKCS#8 PEM.

    Options that are not set are left out, and so is a passphrase, which is not needed any more.

    Raises:
        ConfigurationError: if the private key is kept elsewhere, or the value is not credentials.
    """
    if isinstance(credentials, KeyPair):
        return {
            "key_id": credentials.key_id,
            "secret_key": credentials.secret_key,
            "scheme": Secret(credentials.scheme),
        }
    if isinstance(credentials, ClientSecret):
        return {
            "client_id": Secret(credentials.client_id),
            "client_secret": credentials.client_secret,
            **_form_field_texts(credentials),
        }
    if not isinstance(credentials, ClientKey):
        raise ConfigurationError(
            f"A value of type {type(credentials).__name__} is not credentials.",
            "Pass a KeyPair, a ClientSecret or a ClientKey.",
            about="credentials",
        )
    if not isinstance(credentials.private_key, LocalKey):
        raise ConfigurationError(
            "The private key is kept elsewhere, by a signer, so there is nothing to save.",
            "Make the ClientKey from its signer wherever you need it.",
            about="private_key",
        )
    if credentials.assertion_typ == _NO_TYP:
        raise ConfigurationError(
            f'The assertion type "{_NO_TYP}" cannot be saved, because it would be read as no type.',
            "Use another assertion_typ.",
            about="assertion_typ",
        )
    fields = {
        "client_id": Secret(credentials.client_id),
        "private_key": _pem(credentials.private_key),
        "algorithm": Secret(credentials.algorithm),
        "audience": Secret(credentials.audience),
        "assertion_typ": Secret(_NO_TYP if credentials.assertion_typ is None else credentials.assertion_typ),
        "assertion_lifetime": Secret(str(credentials.assertion_lifetime)),
        **_form_field_texts(credentials),
    }
    return fields if credentials.key_id is None else {**fields, "private_key_id": Secret(credentials.key_id)}


def compose(
    kind: CredentialKind, texts: Mapping[str, Secret], environment: Environment, name: str
) -> KeyPair | ClientSecret | ClientKey:
    """Return credentials of a kind, made of the texts of its fields. The required fields must be present.

    Raises:
        ConfigurationError: if a text is malformed. The text is not quoted.
    """
    if kind is CredentialKind.KEY_PAIR:
        return KeyPair(
            texts["key_id"],
            texts["secret_key"],
            environment=environment,
            name=name,
            scheme=cast("Scheme", _plain(texts, "scheme", "headers")),
        )
    if kind is CredentialKind.CLIENT_SECRET:
        return ClientSecret(
            texts["client_id"].reveal(),
            texts["client_secret"],
            environment=environment,
            name=name,
            form_fields=_form_fields(texts.get("form_fields")),
        )
    return ClientKey(
        texts["client_id"].reveal(),
        texts["private_key"],
        environment=environment,
        name=name,
        passphrase=texts.get(PASSPHRASE),
        key_id=_plain(texts, "private_key_id", None),
        algorithm=_plain(texts, "algorithm", None),
        audience=_plain(texts, "audience", "token-endpoint"),
        assertion_typ=None if texts.get("assertion_typ") == Secret(_NO_TYP) else _plain(texts, "assertion_typ", "JWT"),
        assertion_lifetime=_seconds(texts.get("assertion_lifetime")),
        form_fields=_form_fields(texts.get("form_fields")),
    )


def _plain(texts: Mapping[str, Secret], field: str, default: Default) -> str | Default:
    return texts[field].reveal() if field in texts else default


def _pem(key: LocalKey) -> Secret:
    body = "\n".join(textwrap.wrap(key.identity(), 64))  # base64 of its PKCS#8 DER; RFC 7468 sections 2 and 10
    return Secret(f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n")


def _seconds(text: Secret | None) -> int:
    if text is None:
        return ASSERTION_LIFETIME
    if _WHOLE_NUMBER.match(text.reveal()) is None:
        raise ConfigurationError(
            "The lifetime of an assertion is not a whole number of seconds.",
            "Write it like 60.",
            about="assertion_lifetime",
        )
    return int(text.reveal())


def _form_field_texts(credentials: ClientSecret | ClientKey) -> dict[str, Secret]:
    fields = credentials.form_fields
    return {"form_fields": Secret(urlencode(dict(fields)))} if fields else {}


def _form_fields(text: Secret | None) -> dict[str, str] | None:
    """Return the form fields in a text of the type application/x-www-form-urlencoded."""
    if text is None:
        return None
    try:
        pairs = parse_qsl(text.reveal(), keep_blank_values=True, strict_parsing=True, errors="strict")
    except ValueError:  # not UTF-8, for example; the error may quote the text
        pairs = []
    fields = dict(pairs)
    if not fields or len(fields) < len(pairs):
        raise ConfigurationError(
            "The form fields are not pairs of names and values, or a name occurs twice.",
            "Write them like the body of a form, such as scope=accounts.read&resource=orders.",
            about="form_fields",
        )
    return fields
