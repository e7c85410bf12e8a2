"""What the panel's form offers, and how typed text becomes credentials: plain values and functions, no widgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolkit.auth.credentials import ClientKey, ClientSecret, Credentials, KeyPair
from toolkit.auth.profiles.prompt import field_in_words
from toolkit.cassettes.paths import find_cassette
from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.local.settings import Settings, is_offline

if TYPE_CHECKING:
    from toolkit.auth.profiles.fields import Profile

NEW_CASSETTE: Final = ""  # the value of the choice "new …"
DEFAULT_NAME: Final = "default"
HOW_TO_GIVE_A_KEY: Final = "Choose its file, or paste it: PEM or JWK."


class Mode(StrEnum):
    """The way a session handles calls: it sends them, sends and records them, or replays recorded calls."""

    LIVE = "live"
    RECORD = "record"
    REPLAY = "replay"


# An environment is called "live" too, so the panel names this mode by what it does.
_MODE_LABELS: Final[Mapping[Mode, str]] = {
    Mode.LIVE: "call the service",
    Mode.RECORD: "record · call the service and keep the answers",
    Mode.REPLAY: "replay · nothing is sent",
}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the form, for one part of the credentials.

    Attributes:
        name: the argument of the credentials that the text is for, such as "client_secret".
        masked: True if the typed text is hidden.
        is_key: True if the field takes a private key, which may come from a file.
        is_proof: True for the secret itself, which must be typed again if it is refused; False for the part that only
            names the caller.
    """

    name: str
    masked: bool = True
    is_key: bool = False
    is_proof: bool = True

    @property
    def label(self) -> str:
        """The label on the panel: "Client secret"."""
        return field_in_words(self.name)


@dataclass(frozen=True, slots=True)
class SavedChoice:
    """A saved profile, by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class NewChoice:
    """Credentials of one kind that are still to be typed."""

    kind: CredentialKind


CredentialsChoice = Credentials | SavedChoice | NewChoice

_CLIENT_ID: Final = Field("client_id", masked=False, is_proof=False)
FIELDS: Final[Mapping[CredentialKind, tuple[Field, ...]]] = {
    CredentialKind.KEY_PAIR: (Field("key_id", is_proof=False), Field("secret_key")),
    CredentialKind.CLIENT_SECRET: (_CLIENT_ID, Field("client_secret")),
    CredentialKind.CLIENT_KEY: (_CLIENT_ID, Field("private_key", is_key=True)),
}
PASSPHRASE: Final = Field("passphrase")  # shown when a private key turns out to be encrypted


def is_for_visitors(environ: Mapping[str, str]) -> bool:
    """Return True if this kernel answers visitors of a Voila server, who do not own the machine.

    Voila sets variables in the kernel's environment. A kernel that it starts ahead of its visitor (`--preheat_kernel`)
    gets neither the address of the request nor the name of the server, so any of the variables counts.

    Args:
        environ: environment variables of the kernel.
    """
    server = environ.get("SERVER_SOFTWARE", "").lower()
    return server.startswith("voila/") or any(name.upper().startswith("VOILA_") for name in environ)


def first_mode(cassette: str | Path | None, settings: Settings, *, for_visitors: bool = False) -> Mode:
    """Return the mode to start with: replay for an existing cassette, record for a new one, live without one.

    Args:
        cassette: the cassette that the notebook names.
        settings: where cassettes are.
        for_visitors: True if nothing may be recorded.

    Raises:
        ConfigurationError: if `cassette` is neither a name nor a path.
    """
    if is_offline():
        return Mode.REPLAY
    if cassette is None:
        return Mode.LIVE
    if find_cassette(cassette, settings).is_file():
        return Mode.REPLAY
    return Mode.LIVE if for_visitors else Mode.RECORD


def first_environment(profiles: Iterable[Profile]) -> Environment:
    """Return the environment to start with if the notebook does not name one; it never has a real account."""
    harmless = (profile.environment for profile in profiles if not profile.environment.rules.real_account)
    return next(harmless, Environment.PAPER)


def mode_choices(*, named: str | Path | None = None, for_visitors: bool = False) -> list[tuple[str, Mode]]:
    """Return the label and value of each mode that can be chosen now.

    Args:
        named: the cassette that the notebook names.
        for_visitors: True if nothing may be recorded and only the named cassette replayed.
    """
    modes = {Mode.REPLAY} if is_offline() else {*Mode}
    if for_visitors and not is_offline():
        modes = {Mode.LIVE} if named is None else {Mode.LIVE, Mode.REPLAY}
    return [(label, mode) for mode, label in _MODE_LABELS.items() if mode in modes]


def environment_choices() -> list[tuple[str, str]]:
    """Return the label and value of every environment."""
    return [(f"{environment} · {environment.rules.holder}", str(environment)) for environment in Environment]


def cassette_choices(
    settings: Settings, named: str | Path | None, *, listed: bool = True, new: bool = False
) -> list[tuple[str, str | Path]]:
    """Return the label and value of each cassette to choose from.

    Args:
        settings: where the cassettes folder is.
        named: the cassette that the notebook names; it need not exist yet.
        listed: True to offer the cassettes in the folder too.
        new: True to offer a new cassette.
    """
    names = sorted(file.stem for file in settings.cassettes_folder.glob("*.yaml")) if listed else []
    choices: list[tuple[str, str | Path]] = [(name, name) for name in names if not name.endswith(".part")]
    if named is not None and named not in names:
        choices.insert(0, (Path(named).name, named))
    return [*choices, ("new …", NEW_CASSETTE)] if new else choices


def credential_choices(
    environment: Environment, profiles: Iterable[Profile], in_notebook: Iterable[Credentials] = ()
) -> list[tuple[str, CredentialsChoice]]:
    """Return the label and value of all credentials to choose from: in this notebook, saved, or still to be typed.

    Args:
        environment: the environment of the credentials to offer.
        profiles: saved profiles of any environment.
        in_notebook: credentials passed to the panel or typed into it, of any environment.
    """
    here = (credentials for credentials in in_notebook if credentials.environment is environment)
    saved = (profile for profile in profiles if profile.environment is environment)
    kinds = sorted(environment.rules.credentials, key=list(CredentialKind).index)
    return [
        *((f"{credentials.name} · {credentials.kind}, in this notebook", credentials) for credentials in here),
        *((f"{profile.name} · {profile.kind}, {profile.source}", SavedChoice(profile.name)) for profile in saved),
        *((f"new {kind} …", NewChoice(kind)) for kind in kinds),
    ]


def first_credentials(choices: Sequence[tuple[str, CredentialsChoice]], profile: str | None) -> CredentialsChoice:
    """Return the choice to start with: the named profile, else the first choice.

    If the named profile is not there, no other saved profile is chosen in its place.
    """
    values = [value for _, value in choices]
    if profile is None or SavedChoice(profile) in values:
        return values[0] if profile is None else SavedChoice(profile)
    return next(value for value in values if not isinstance(value, SavedChoice))


def make_credentials(
    kind: CredentialKind, environment: Environment, texts: Mapping[str, Secret | Path], *, name: str
) -> Credentials:
    """Make credentials from typed texts.

    Args:
        kind: the kind of the credentials.
        environment: the environment of the credentials.
        texts: the typed texts, by the names of the fields; a private key may be a path to its file. A passphrase may
            be empty or missing.
        name: the name of the credentials in this notebook.

    Raises:
        ToolkitError: if a text is missing or malformed, or the environment does not take this kind.
    """
    first, second = (texts[field.name] for field in FIELDS[kind])
    if kind is CredentialKind.KEY_PAIR:
        return KeyPair(_stripped(first), _stripped(second), environment=environment, name=name)
    if kind is CredentialKind.CLIENT_SECRET:
        return ClientSecret(_stripped(first), _stripped(second), environment=environment, name=name)
    if not _stripped(second):
        raise ConfigurationError("The private key is missing.", HOW_TO_GIVE_A_KEY, about="private_key")
    typed = texts.get(PASSPHRASE.name)
    passphrase = typed if isinstance(typed, Secret) and typed.reveal() else None  # spaces may be part of it
    return ClientKey(_stripped(first), second, environment=environment, name=name, passphrase=passphrase)


def _stripped(text: Secret | Path) -> str:
    """Return a text without the white space around it, which often comes with pasted text."""
    return (text.reveal() if isinstance(text, Secret) else str(text)).strip()
