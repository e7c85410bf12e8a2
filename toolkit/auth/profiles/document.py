"""Saved credentials go where they were saved for, and nowhere else.

A project's toolkit.toml says where the service is, and a project may be anybody's. Without this, a
cloned repository could name an address of its own and be sent the secrets of the user's keyring.
"""
# MERGE: A saved profile as a TOML document: its fields, where they may be sent, or where in the keyring they lie.

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from toolkit.auth.profiles.fields import FIELDS
from toolkit.auth.profiles.keyring import Entry
from toolkit.core.addresses import Address
from toolkit.core.document import ADDRESS_NAMES, CredentialKind
from toolkit.core.errors import ConfigurationError, ToolkitError, UnsafeAddress
from toolkit.core.secret import Secret
from toolkit.local.files import parse_toml
from toolkit.local.project import SETTINGS_FILE
from toolkit.local.settings import variable_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolkit.core.document import Environment
    from toolkit.local.settings import Settings


_MARKER: Final = frozenset({"kind", "keyring", "pieces"})
_TOKEN: Final = re.compile(r"[0-9a-f]{16}\Z")
_MOST_PIECES: Final = 100
_MEND: Final = "Mend or remove it, or save the credentials again with save_credentials()."


@dataclass(frozen=True, slots=True)
class Document:
    """A profile as it stands in a file or in the keyring.

    Attributes:
        values: text of each field.
        origins: name and origin of each address that the credentials may be used with.
    """

    values: Mapping[str, Secret]
    origins: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Marker:
    """What a file says of a profile whose document is in the keyring.

    Attributes:
        kind: of the credentials, so that listing them opens no keyring.
        entry: where the document is.
    """

    kind: CredentialKind
    entry: Entry


def render(document: Document) -> Secret:
    """The document as TOML text, secret because its values are."""
    fields = [f"{field} = {_quoted(text.reveal())}" for field, text in document.values.items()]
    origins = [f"{name} = {_quoted(origin)}" for name, origin in document.origins.items()]
    return Secret("\n".join([*fields, "", "[origins]", *origins, ""]))


def render_marker(marker: Marker) -> str:
    """The marker as TOML text; no secret."""
    return f"kind = {_quoted(marker.kind)}\nkeyring = {_quoted(marker.entry.token)}\npieces = {marker.entry.pieces}\n"


def parse(text: str, where: str, profile: str) -> Document | Marker:
    """Read what `render` or `render_marker` wrote, or a person.

    Args:
        text: TOML.
        where: names the file or the keyring in messages, which quote nothing of the text.
        profile: what the keyring knows the profile by.

    Raises:
        ConfigurationError: it is no TOML, or no profile.
        UnsafeAddress: an origin is plain http beyond this machine, or has userinfo.
    """
    try:
        return _parsed(text, where, profile)
    except ToolkitError as error:
        refusal = error.with_traceback(None)
    # Raised out here and without it: a verbose traceback shows the local variables of each frame.
    del text
    raise refusal


def _parsed(text: str, where: str, profile: str) -> Document | Marker:
    table = parse_toml(text, where, _MEND)
    if "keyring" in table:
        return _marker(table, where, profile)
    origins = table.pop("origins", {})
    if not table.keys() <= FIELDS:
        raise ConfigurationError(
            f"{where} has a setting that no profile has.", f"Known: {', '.join(sorted(FIELDS))}, and a table [origins]."
        )
    for field, text_of_field in table.items():
        if not isinstance(text_of_field, str) or not text_of_field:
            raise ConfigurationError(f"{field} in {where} is no text.", _MEND)
    return Document({field: Secret(text_of_field) for field, text_of_field in table.items()}, _origins(origins, where))


def _marker(table: dict[str, Any], where: str, profile: str) -> Marker:
    kind, token, pieces = table.get("kind"), table["keyring"], table.get("pieces")
    if (
        table.keys() != _MARKER
        or kind not in list(CredentialKind)
        or not (isinstance(token, str) and _TOKEN.match(token))
        or type(pieces) is not int
        or not 0 < pieces <= _MOST_PIECES
    ):
        raise ConfigurationError(f"{where} does not say where in the keyring the credentials are.", _MEND)
    return Marker(CredentialKind(kind), Entry(profile, token, pieces))


def _origins(table: Any, where: str) -> dict[str, str]:
    if not isinstance(table, dict) or not table or not table.keys() <= set(ADDRESS_NAMES):
        raise ConfigurationError(
            f"{where} does not say with which addresses the credentials may be used.",
            f'Add a table [origins] with lines such as auth = "https://..."; names: {", ".join(ADDRESS_NAMES)}.',
        )
    return {name: str(Address.parse(text, setting=f"{name} in {where}").origin) for name, text in table.items()}


def _quoted(text: str) -> str:
    """A TOML basic string. JSON writes the same, but for DEL, which TOML wants escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


_SAVE_AGAIN: Final = (
    "save the credentials again with save_credentials(), or mend [origins] if you wrote the file yourself"
)


def origins_of(environment: Environment, settings: Settings) -> dict[str, str]:
    """Name and origin of each address of this environment that is set.

    Raises:
        ConfigurationError: none is set, so there is nothing to bind credentials to.
    """
    names = environment.rules.addresses.values()
    origins = {name: str(settings.address(name).origin) for name in names if name in settings.addresses}
    if not origins:
        raise ConfigurationError(
            f"No address of {environment} is set, and saved credentials are bound to the addresses they are for.",
            f"Set {', '.join(names)} under [addresses] in {SETTINGS_FILE}, "
            f"or the variables {', '.join(map(variable_name, names))}; then save again.",
        )
    return origins


def check_binding(bound: Mapping[str, str], environment: Environment, source: str, settings: Settings) -> None:
    """Refuse when the settings send credentials elsewhere than they are bound to.

    `bound` holds name and origin of each address they were saved for. An address that is not set takes
    nothing anywhere; one that was not set when they were saved is as good as another.

    Raises:
        UnsafeAddress: an origin differs; names the old one and the new one.
    """
    for name in environment.rules.addresses.values():
        if name not in settings.addresses:
            continue
        new, old = str(settings.address(name).origin), bound.get(name)
        if new != old:
            saved = f"for {old}" if old else "without such an address"
            raise UnsafeAddress(
                f"The address {name} is now {new}; the credentials for {environment} in {source} were saved {saved}.",
                f"Look at {settings.file or 'the addresses given'} and the variable {variable_name(name)}: whoever "
                f"wrote them would receive the credentials. If you trust {new}, {_SAVE_AGAIN}.",
            )
