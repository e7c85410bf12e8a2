"""The fields that credentials consist of, named alike in variables and files, and credentials made of them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from toolkit.assertion import LocalKey
from toolkit.credentials import ClientKey, ClientSecret, Credentials, KeyPair
from toolkit.errors import ConfigurationError, CredentialsMismatch
from toolkit.profiles.listing import Profile
from toolkit.profiles.reading import lies_in, read_text
from toolkit.secret import Secret
from toolkit.service import CredentialKind, Environment

if TYPE_CHECKING:
    from toolkit.credentials import Scheme

REQUIRED: Final[Mapping[CredentialKind, tuple[str, ...]]] = {
    CredentialKind.KEY_PAIR: ("key_id", "secret_key"),
    CredentialKind.CLIENT_SECRET: ("client_id", "client_secret"),
    CredentialKind.CLIENT_KEY: ("client_id", "private_key"),
}
_OPTIONAL: Final[Mapping[CredentialKind, tuple[str, ...]]] = {
    CredentialKind.KEY_PAIR: ("scheme",),
    CredentialKind.CLIENT_SECRET: (),
    CredentialKind.CLIENT_KEY: ("private_key_id", "algorithm", "audience"),
}
# A field that names the file in which the value of another stands.
_FILES: Final = {f"{field}_file": field for field in ("secret_key", "client_secret", "private_key")}
_LONGEST_ALGORITHM: Final = 5  # characters


def fields_of(environment: Environment) -> frozenset[str]:
    """The fields that credentials of this environment may have."""
    own = {field for kind in environment.rules.credentials for field in (*REQUIRED[kind], *_OPTIONAL[kind])}
    return frozenset(own | {file for file, field in _FILES.items() if field in own})


FIELDS: Final = frozenset[str]().union(*map(fields_of, Environment))


@dataclass(frozen=True, slots=True)
class Given:
    """What one source gives for one profile.

    Attributes:
        environment: the environment that the source says it is for.
        name: profile name.
        source: where it comes from, in words.
        values: text of each field given. All are kept as secrets: a value may stand under the wrong field.
        label: how the source names a field, such as the variable of it.
        folder: where relative paths of files start.
        confined: whether those files must lie in that folder.
    """

    environment: Environment
    name: str
    source: str
    values: Mapping[str, Secret]
    label: Callable[[str], str]
    folder: Path
    confined: bool = False

    def profile(self) -> Profile:
        return Profile(self.name, self.environment, self.kind(), self.source)

    def kind(self) -> CredentialKind:
        """What kind of credentials the fields make up.

        Raises:
            CredentialsMismatch: a field belongs to a kind that the environment does not take.
            ConfigurationError: a field is missing, given twice, or has no use beside the others.
        """
        given = {_FILES.get(field, field) for field in self.values}
        if foreign := self.values.keys() - fields_of(self.environment):
            taken = " or a ".join(sorted(self.environment.rules.credentials))
            raise CredentialsMismatch(
                f"{self._labels(foreign)} in {self.source} cannot be for {self.environment}.",
                f"A {self.environment.rules.holder} uses a {taken}.",
            )
        for file, field in _FILES.items():
            if {file, field} <= self.values.keys():
                raise self._contradiction({file, field})
        if {"client_secret", "private_key"} <= given:
            raise self._contradiction({self._as_given("client_secret"), self._as_given("private_key")})
        kind = self._likely_kind(given)
        if missing := [field for field in REQUIRED[kind] if field not in given]:
            raise self._half_given(missing, given)
        if useless := given - {*REQUIRED[kind], *_OPTIONAL[kind]}:
            raise ConfigurationError(
                f"{self._labels(useless)} in {self.source} has no use with a {kind}.", "Remove it."
            )
        return kind

    def credentials(self) -> Credentials:
        """The credentials that the fields make up.

        Raises:
            CredentialsMismatch: a field belongs to a kind that the environment does not take.
            ConfigurationError: as `kind` does; a value is malformed, or a file cannot be read.
        """
        kind = self.kind()
        texts = {_FILES.get(field, field): self._text(field) for field in self.values}
        try:
            return _make(kind, texts, self.environment, self.name)
        except ConfigurationError as error:
            raise ConfigurationError(f"From {self.source}: {error.what}", error.next_step) from None

    def _likely_kind(self, given: set[str]) -> CredentialKind:
        if CredentialKind.KEY_PAIR in self.environment.rules.credentials:
            return CredentialKind.KEY_PAIR
        key = {"private_key", *_OPTIONAL[CredentialKind.CLIENT_KEY]}
        is_key = "client_secret" not in given and key & given
        return CredentialKind.CLIENT_KEY if is_key else CredentialKind.CLIENT_SECRET

    def _text(self, field: str) -> Secret:
        if field not in _FILES:
            return self.values[field]
        what = f"the file that {self.label(field)} in {self.source} names"
        next_step = "Write its path in full, and let only yourself read it."
        path = self.folder / _expanded(Path(self.values[field].reveal()))
        if self.confined and not lies_in(path, self.folder):
            raise ConfigurationError(
                f"{self.label(field)} in {self.source} names a file beyond the folder of the project.",
                f"A project may not point at secrets elsewhere: set {self.label(field)} as an environment variable, "
                "or save the credentials with save_credentials().",
            )
        text = Secret(read_text(path, what, next_step).strip())
        if not text:
            raise ConfigurationError(f"Cannot read {what}: it is empty.", next_step)
        return text

    def _as_given(self, field: str) -> str:
        return field if field in self.values else f"{field}_file"

    def _contradiction(self, fields: set[str]) -> ConfigurationError:
        return ConfigurationError(
            f"{self._labels(fields)} in {self.source} are given both.", "Keep one of them: they are told apart by it."
        )

    def _half_given(self, missing: list[str], given: set[str]) -> ConfigurationError:
        wanted = [self.label(field) for field in missing]
        if "client_secret" in missing:
            secrets = (self.label(field) for field in ("client_secret", "private_key", "private_key_file"))
            wanted[-1] = f"one of {', '.join(secrets)}"
        present = self._labels({self._as_given(field) for field in given})
        return ConfigurationError(
            f"The credentials for {self.environment} in {self.source} are half given: "
            f"{present or 'nothing'} without {' and '.join(wanted)}.",
            "Give what is missing, or remove the rest.",
        )

    def _labels(self, fields: set[str]) -> str:
        return " and ".join(sorted(map(self.label, fields)))


def decompose(credentials: Credentials) -> dict[str, Secret]:
    """The fields of these credentials, from which `Given` makes equal ones; a private key as PKCS#8 PEM.

    Raises:
        ConfigurationError: their private key is kept elsewhere, so there is nothing to save.
    """
    if isinstance(credentials, KeyPair):
        return {
            "key_id": credentials.key_id,
            "secret_key": credentials.secret_key,
            "scheme": Secret(credentials.scheme),
        }
    if isinstance(credentials, ClientSecret):
        return {"client_id": Secret(credentials.client_id), "client_secret": credentials.client_secret}
    if not isinstance(credentials, ClientKey):
        raise ConfigurationError(
            f"{type(credentials).__name__} is no credentials.", "Give a KeyPair, a ClientSecret or a ClientKey."
        )
    if not isinstance(credentials.private_key, LocalKey):
        raise ConfigurationError(
            "The private key is kept elsewhere, by a signer; there is nothing to save.",
            "Make the ClientKey from its signer wherever you need it.",
        )
    fields = {
        "client_id": Secret(credentials.client_id),
        "private_key": _pem(credentials.private_key),
        "algorithm": Secret(credentials.algorithm),
        "audience": Secret(credentials.audience),
    }
    return fields if credentials.key_id is None else {**fields, "private_key_id": Secret(credentials.key_id)}


def _pem(key: LocalKey) -> Secret:
    body = "\n".join(textwrap.wrap(key.identity(), 64))  # base64 of its PKCS#8 DER; RFC 7468 sections 2 and 10
    return Secret(f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n")


def _make(kind: CredentialKind, texts: Mapping[str, Secret], environment: Environment, name: str) -> Credentials:
    plain = {field: texts[field].reveal() for field in ("scheme", "client_id", "audience") if field in texts}
    if kind is CredentialKind.KEY_PAIR:
        scheme = cast("Scheme", plain.get("scheme", "headers"))
        return KeyPair(texts["key_id"], texts["secret_key"], environment=environment, name=name, scheme=scheme)
    if kind is CredentialKind.CLIENT_SECRET:
        return ClientSecret(plain["client_id"], texts["client_secret"], environment=environment, name=name)
    return ClientKey(
        plain["client_id"],
        texts["private_key"],
        environment=environment,
        name=name,
        key_id=texts["private_key_id"].reveal() if "private_key_id" in texts else None,
        algorithm=_algorithm(texts["algorithm"]) if "algorithm" in texts else None,
        audience=plain.get("audience", "token-endpoint"),
    )


def _algorithm(text: Secret) -> str:
    """The name of an algorithm, which an error may quote; anything longer may be a secret that went astray."""
    if len(text.reveal()) > _LONGEST_ALGORITHM:
        raise ConfigurationError("The algorithm is no JWS algorithm.", "Leave it out, or write it like ES256.")
    return text.reveal()


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:  # no home folder; the file is then not found
        return path
