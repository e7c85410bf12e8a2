"""The text of a profile file, and the destinations that the credentials in it may be sent to.

The table [destinations] has addresses with their path prefixes and the prefix of key headers, as they were when the
profile was saved. A table [origins] stands there instead if an earlier version saved the profile: it binds to scheme,
host and port of each address only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolkit.auth.destinations import HEADER_PREFIX, Binding
from toolkit.auth.profiles.fields import FIELDS
from toolkit.auth.profiles.keyring import EarlierEntry, SealedText
from toolkit.core.addresses import Address
from toolkit.core.document import ADDRESS_NAMES, CredentialKind
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.core.shells import toml_string
from toolkit.core.tracebacks import frameless
from toolkit.local.toml_text import parse_toml

_DESTINATIONS: Final = "destinations"
_ORIGINS: Final = "origins"
_COMMENT: Final = "# Sealed with a key in the system keyring: without that keyring nobody can read it."


@dataclass(frozen=True, slots=True)
class Document:
    """A profile that is not encrypted.

    Attributes:
        values: text of each field.
        binding: the destinations that the credentials may be used with.
    """

    values: Mapping[str, Secret]
    binding: Binding


@dataclass(frozen=True, slots=True)
class ClosedDocument:
    """A profile that only the keyring opens.

    Attributes:
        kind: kind of the credentials, so that a list need not open the keyring.
        content: the sealed text of a Document.
    """

    kind: CredentialKind
    content: SealedText | EarlierEntry


def render(document: Document) -> Secret:
    """Return a document as TOML text, which is a Secret because it contains the values."""
    fields = [f"{field} = {toml_string(text.reveal())}" for field, text in document.values.items()]
    table = _ORIGINS if document.binding.by_origin else _DESTINATIONS
    lines = [f"{name} = {toml_string(text)}" for name, text in document.binding.destinations.items()]
    return Secret("\n".join([*fields, "", f"[{table}]", *lines, ""]))


def render_closed(kind: CredentialKind, content: SealedText) -> str:
    """Return a sealed document as TOML text."""
    return f"{_COMMENT}\nkind = {toml_string(kind)}\nsealed = {toml_string(content.text)}\n"


@frameless
def parse(text: Secret, where: str, next_step: str) -> Document | ClosedDocument:
    """Parse the text of a profile file, written by `render`, `render_closed`, an earlier version or a person.

    Messages name the file or keyring (`where`) and the next step, and do not quote the text.

    Raises:
        ConfigurationError: if it is not TOML, or not a profile.
        UnsafeAddress: if an address is plain http beyond this machine, or has userinfo.
    """
    table = parse_toml(text.reveal(), where, next_step)
    if table.keys() & {"sealed", "keyring"}:
        return _closed(table, where, next_step)
    tables: dict[str, Any] = {name: table.pop(name) for name in (_DESTINATIONS, _ORIGINS) if name in table}
    if not table.keys() <= FIELDS:
        raise ConfigurationError(
            f"{where} has a setting that profiles do not have.",
            f"Known: {', '.join(sorted(FIELDS))}, and a table [{_DESTINATIONS}].",
        )
    for field, value in table.items():
        if not isinstance(value, str) or not value:
            raise ConfigurationError(f"{field} in {where} is not text.", next_step, about=field)
    return Document({field: Secret(value) for field, value in table.items()}, _binding(tables, where))


def _closed(table: dict[str, Any], where: str, next_step: str) -> ClosedDocument:
    content = SealedText.from_table(table) or EarlierEntry.from_table(table)
    kind = table.get("kind")
    if content is None or kind not in list(CredentialKind):
        raise ConfigurationError(f"{where} is not a profile: it was changed or cut short.", next_step)
    return ClosedDocument(CredentialKind(kind), content)


def _binding(tables: Mapping[str, Any], where: str) -> Binding:
    name, table = next(iter(tables.items()), (_DESTINATIONS, None))
    by_origin = name == _ORIGINS
    names = {*ADDRESS_NAMES} if by_origin else {*ADDRESS_NAMES, HEADER_PREFIX}
    if len(tables) > 1 or not isinstance(table, dict) or not table.keys() & set(ADDRESS_NAMES) or table.keys() - names:
        raise ConfigurationError(
            f"{where} does not say with which addresses the credentials may be used.",
            f'Add one table [{_DESTINATIONS}] with lines such as auth = "https://..."; names: '
            f"{', '.join(ADDRESS_NAMES)}, and {HEADER_PREFIX} for a key pair.",
            about=_DESTINATIONS,
        )
    texts = {}
    for name, text in table.items():
        if name == HEADER_PREFIX:
            texts[name] = str(text)
        else:
            address = Address.parse(text, setting=f"{name} in {where}")
            texts[name] = str(address.origin if by_origin else address)
    return Binding(texts, by_origin=by_origin)
