"""The text of a profile file, and the addresses that the credentials in it may be sent to.

Saved credentials go where they were saved for, and nowhere else. The `toolkit.toml` of a project says where the
service is, and a project may be anybody's: without this check, a cloned repository could name an address of its own
and would be sent the user's secrets.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from toolkit.auth.profiles.fields import FIELDS
from toolkit.auth.profiles.keyring import EarlierEntry, SealedText
from toolkit.core.addresses import Address
from toolkit.core.document import ADDRESS_NAMES, CredentialKind
from toolkit.core.errors import ConfigurationError, UnsafeAddress
from toolkit.core.secret import Secret
from toolkit.local.files import parse_toml
from toolkit.local.folders import SETTINGS_FILE
from toolkit.local.settings import variable_name
from toolkit.transport.tracebacks import frameless

if TYPE_CHECKING:
    from toolkit.core.document import Environment
    from toolkit.local.settings import Settings

_COMMENT: Final = "# Sealed with a key in the system keyring: without that keyring nobody can read it."


@dataclass(frozen=True, slots=True)
class Document:
    """A profile that is not encrypted.

    Attributes:
        values: text of each field.
        origins: name and origin of each address that the credentials may be used with.
    """

    values: Mapping[str, Secret]
    origins: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ClosedDocument:
    """A profile that only the keyring opens.

    Attributes:
        kind: of the credentials, so that a list need not open the keyring.
        content: the sealed text of a Document.
    """

    kind: CredentialKind
    content: SealedText | EarlierEntry


def render(document: Document) -> Secret:
    """Return a document as TOML text, which is a Secret because it contains the values."""
    fields = [f"{field} = {_quote(text.reveal())}" for field, text in document.values.items()]
    origins = [f"{name} = {_quote(origin)}" for name, origin in document.origins.items()]
    return Secret("\n".join([*fields, "", "[origins]", *origins, ""]))


def render_closed(kind: CredentialKind, content: SealedText) -> str:
    """Return a sealed document as TOML text."""
    return f"{_COMMENT}\nkind = {_quote(kind)}\nsealed = {_quote(content.text)}\n"


@frameless
def parse(text: Secret, where: str, next_step: str) -> Document | ClosedDocument:
    """Parse the text of a profile file, written by `render`, `render_closed`, an earlier version or a person.

    Messages name the file or keyring (`where`) and the next step, and do not quote the text.

    Raises:
        ConfigurationError: if it is not TOML, or not a profile.
        UnsafeAddress: if an origin is plain http beyond this machine, or has userinfo.
    """
    table = parse_toml(text.reveal(), where, next_step)
    if table.keys() & {"sealed", "keyring"}:
        return _closed(table, where, next_step)
    origins = table.pop("origins", {})
    if not table.keys() <= FIELDS:
        raise ConfigurationError(
            f"{where} has a setting that profiles do not have.",
            f"Known: {', '.join(sorted(FIELDS))}, and a table [origins].",
        )
    for field, value in table.items():
        if not isinstance(value, str) or not value:
            raise ConfigurationError(f"{field} in {where} is not text.", next_step, about=field)
    return Document({field: Secret(value) for field, value in table.items()}, _origins(origins, where))


def _closed(table: dict[str, Any], where: str, next_step: str) -> ClosedDocument:
    content = SealedText.from_table(table) or EarlierEntry.from_table(table)
    kind = table.get("kind")
    if content is None or kind not in list(CredentialKind):
        raise ConfigurationError(f"{where} is not a profile: it was changed or cut short.", next_step)
    return ClosedDocument(CredentialKind(kind), content)


def _origins(table: Any, where: str) -> dict[str, str]:
    if not isinstance(table, dict) or not table or not table.keys() <= set(ADDRESS_NAMES):
        raise ConfigurationError(
            f"{where} does not say with which addresses the credentials may be used.",
            f'Add a table [origins] with lines such as auth = "https://..."; names: {", ".join(ADDRESS_NAMES)}.',
            about="origins",
        )
    return {name: str(Address.parse(text, setting=f"{name} in {where}").origin) for name, text in table.items()}


def _quote(text: str) -> str:
    """Return a TOML basic string. JSON writes the same, except for DEL, which TOML wants escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def origins_of(environment: Environment, settings: Settings) -> dict[str, str]:
    """Return name and origin of each address of this environment that is set.

    Raises:
        ConfigurationError: if no address is set, because credentials are bound to addresses.
    """
    names = environment.rules.addresses.values()
    origins = {name: str(settings.address(name).origin) for name in names if name in settings.addresses}
    if not origins:
        raise ConfigurationError(
            f"No address of {environment} is set, and saved credentials are bound to the addresses they are for.",
            f"Set {', '.join(names)} under [addresses] in {SETTINGS_FILE}, "
            f"or the variables {', '.join(map(variable_name, names))}; then save again.",
            about=next(iter(names)),
        )
    return origins


def check_binding(bound: Mapping[str, str], environment: Environment, source: str, settings: Settings) -> None:
    """Refuse credentials if the settings would send them to an address that they were not saved for.

    An address that is not set now sends them nowhere. An address that was not set when they were saved counts as
    another origin.

    Args:
        bound: name and origin of each address that the credentials were saved for.
        environment: the environment of the credentials.
        source: where the credentials come from, in words.
        settings: the addresses now.

    Raises:
        UnsafeAddress: if an origin differs. The message names both origins.
    """
    for name in environment.rules.addresses.values():
        if name not in settings.addresses:
            continue
        new, old = str(settings.address(name).origin), bound.get(name)
        if new != old:
            saved = f"for {old}" if old else "without such an address"
            raise UnsafeAddress(
                f"The address {name} is now {new}; the credentials for {environment} in {source} were saved {saved}.",
                f"Check {settings.file or 'the addresses'} and the variable {variable_name(name)}: their author would "
                f"receive the credentials. If you trust {new}, save the credentials again with "
                "save_credentials(), or correct [origins] if you wrote the file yourself.",
                about=name,
            )
