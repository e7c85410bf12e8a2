"""What the panel's form offers and what it makes of an answer: plain values and functions, no widgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolkit.auth.credentials import ClientKey, ClientSecret, Credentials, KeyPair
from toolkit.cassettes.paths import find_cassette
from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.local.settings import Settings, is_offline

if TYPE_CHECKING:
    from toolkit.auth.profiles.saving import Profile

NEW_CASSETTE: Final = ""
DEFAULT_NAME: Final = "default"
HOW_TO_GIVE_A_KEY: Final = "Choose its file, or paste it: PEM or JWK."


class Mode(StrEnum):
    """What connecting leads to: calls that go out, calls that are recorded as well, or a replay."""

    LIVE = "live"
    RECORD = "record"
    REPLAY = "replay"


# An environment is called live, too: the panel calls this mode by what it does.
_MODES: Final[Mapping[Mode, str]] = {
    Mode.LIVE: "call the service",
    Mode.RECORD: "record · call the service and keep the answers",
    Mode.REPLAY: "replay · nothing is sent",
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field that credentials are typed into.

    Attributes:
        name: the argument of the credentials that it is for.
        label: what it is called on the panel.
        masked: whether what is typed is hidden.
        is_key: whether it takes a private key, which may come from a file.
        is_proof: whether it proves who calls, rather than saying it: a refused proof is to be typed anew.
    """

    name: str
    label: str
    masked: bool = True
    is_key: bool = False
    is_proof: bool = True


@dataclass(frozen=True, slots=True)
class Saved:
    """A saved profile, by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class New:
    """Credentials still to be typed."""

    kind: CredentialKind


Who = Credentials | Saved | New

_CLIENT_ID: Final = Field("client_id", "Client ID", masked=False, is_proof=False)
FIELDS: Final[Mapping[CredentialKind, tuple[Field, ...]]] = {
    CredentialKind.KEY_PAIR: (Field("key_id", "Key ID", is_proof=False), Field("secret_key", "Secret key")),
    CredentialKind.CLIENT_SECRET: (_CLIENT_ID, Field("client_secret", "Client secret")),
    CredentialKind.CLIENT_KEY: (_CLIENT_ID, Field("private_key", "Private key", is_key=True)),
}
PASSPHRASE: Final = Field("passphrase", "Passphrase")  # asked for once a key turns out to be encrypted


def first_mode(cassette: str | Path | None, settings: Settings, *, for_visitors: bool = False) -> Mode:
    """The mode that a panel starts with: replay what there is, else record what is named, else live.

    Args:
        cassette: the one that the notebook names.
        settings: where cassettes are.
        for_visitors: whether nothing may be recorded.

    Raises:
        ConfigurationError: the cassette is no name and no path.
    """
    if is_offline():
        return Mode.REPLAY
    if cassette is None:
        return Mode.LIVE
    if find_cassette(cassette, settings).is_file():
        return Mode.REPLAY
    return Mode.LIVE if for_visitors else Mode.RECORD


def first_environment(profiles: Iterable[Profile]) -> Environment:
    """The environment to start with when nobody named one: never a real account."""
    harmless = (each.environment for each in profiles if not each.environment.rules.real_account)
    return next(harmless, Environment.PAPER)


def mode_choices(*, named: str | Path | None = None, for_visitors: bool = False) -> list[tuple[str, Mode]]:
    """Label and value of the modes that can be chosen now.

    Args:
        named: the cassette that the notebook names.
        for_visitors: whether nothing may be recorded, and nothing replayed but the named cassette.
    """
    modes = {Mode.REPLAY} if is_offline() else {*Mode}
    if for_visitors and not is_offline():
        modes = {Mode.LIVE} if named is None else {Mode.LIVE, Mode.REPLAY}
    return [(label, mode) for mode, label in _MODES.items() if mode in modes]


def environment_choices() -> list[tuple[str, str]]:
    """Label and value of every environment."""
    return [(f"{one} · {one.rules.holder}", str(one)) for one in Environment]


def cassette_choices(
    settings: Settings, named: str | Path | None, *, listed: bool = True, new: bool = False
) -> list[tuple[str, str | Path]]:
    """Label and value of the cassettes to choose from.

    Args:
        settings: where the cassettes folder is.
        named: the cassette that the notebook names; it need not exist yet.
        listed: whether those in the cassettes folder are offered too.
        new: whether a new one may be named.
    """
    names = sorted(file.stem for file in settings.cassettes_folder.glob("*.yaml")) if listed else []
    found: list[tuple[str, str | Path]] = [(name, name) for name in names if not name.endswith(".part")]
    if named is not None and named not in names:
        found.insert(0, (Path(named).name, named))
    return [*found, ("new …", NEW_CASSETTE)] if new else found


def credential_choices(
    environment: Environment, profiles: Iterable[Profile], held: Iterable[Credentials] = ()
) -> list[tuple[str, Who]]:
    """Label and value of the credentials to choose from: held here, saved, or still to be typed.

    Args:
        environment: whose credentials.
        profiles: saved profiles of any environment.
        held: credentials given to the panel or typed into it, of any environment.
    """
    here = (each for each in held if each.environment is environment)
    saved = (each for each in profiles if each.environment is environment)
    kinds = sorted(environment.rules.credentials, key=list(CredentialKind).index)
    return [
        *((f"{each.name} · {each.kind}, in this notebook", each) for each in here),
        *((f"{each.name} · {each.kind}, {each.source}", Saved(each.name)) for each in saved),
        *((f"new {kind} …", New(kind)) for kind in kinds),
    ]


def chosen_at_first(choices: Sequence[tuple[str, Who]], named: str | None) -> Who:
    """The credentials to start with: those of the name, else the first; never saved ones of another name than asked."""
    values = [value for _, value in choices]
    if named is None or Saved(named) in values:
        return values[0] if named is None else Saved(named)
    return next(value for value in values if not isinstance(value, Saved))


def make_credentials(
    kind: CredentialKind, environment: Environment, texts: Mapping[str, Secret | Path], *, name: str
) -> Credentials:
    """The credentials of what was typed.

    Args:
        kind: what they are.
        environment: what they are for.
        texts: by the names of the fields, a private key as its text or as a path to its file; a passphrase
            that is empty or missing is none.
        name: what they are called in this notebook.

    Raises:
        ToolkitError: a text is missing or malformed, or the environment takes no such credentials.
    """
    first, second = (texts[field.name] for field in FIELDS[kind])
    if kind is CredentialKind.KEY_PAIR:
        return KeyPair(_stripped(first), _stripped(second), environment=environment, name=name)
    if kind is CredentialKind.CLIENT_SECRET:
        return ClientSecret(_stripped(first), _stripped(second), environment=environment, name=name)
    if not _stripped(second):
        raise ConfigurationError("The private key is missing.", HOW_TO_GIVE_A_KEY)
    # Space around a passphrase may be meant.
    passphrase = texts.get(PASSPHRASE.name)
    given = passphrase if isinstance(passphrase, Secret) and passphrase.reveal() else None
    return ClientKey(_stripped(first), second, environment=environment, name=name, passphrase=given)


def is_replaced(earlier: Credentials, later: Credentials) -> bool:
    """Whether credentials are those of the same name and kind, typed anew."""
    return (earlier.environment, earlier.kind, earlier.name) == (later.environment, later.kind, later.name)


def _stripped(text: Secret | Path) -> str:
    """Space around what was pasted is never meant."""
    return (text.reveal() if isinstance(text, Secret) else str(text)).strip()
