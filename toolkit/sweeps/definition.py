"""The definition of a sweep: what all rows of one folder have in common, and what may not be mixed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import httpx

from toolkit.cassettes.cassette_card import kind_text
from toolkit.core.document import Environment, Interface
from toolkit.scrubbing.known import KnownSecrets
from toolkit.session.sending import transport_of

if TYPE_CHECKING:
    from toolkit.tables.conversion import Numbers


@dataclass(frozen=True, slots=True)
class Definition:
    """The origin of the answers in a folder, and how they become rows.

    Attributes:
        origin: address of the interface.
        environment: the environment that is called.
        records, key, numbers: as in `tabulate`.
        pages: whether pages are followed.
        schema: names and types of the requested columns, or None if they are inferred.
    """

    origin: str
    environment: str
    records: str | None = None
    key: str | None = None
    numbers: Numbers = "float"
    pages: bool = True
    schema: tuple[tuple[str, str], ...] | None = None

    def to_fields(self) -> dict[str, Any]:
        """Return the definition as JSON values."""
        return asdict(self)

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """Return the definition that a file holds.

        Raises:
            TypeError: if the fields are those of another version.
        """
        schema = fields.get("schema")
        pairs = None if schema is None else tuple((str(name), str(kind)) for name, kind in schema)
        return cls(**{**fields, "schema": pairs})

    def differences(self, other: Definition) -> Iterator[tuple[str, str, str]]:
        """Yield the name of each field that differs, with its value here and there, in words."""
        for name in self.__slots__:
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                words = ("another schema", "this one") if name == "schema" else (_words(mine), _words(theirs))
                yield name, *words


def _words(value: object) -> str:
    return value if isinstance(value, str) else repr(value)


class InterfaceFacts(NamedTuple):
    """The facts about a client of a session.

    Attributes:
        environment: the environment that is called.
        interface: the interface.
        origin: its address, as the client's base URL. With a cassette it is the address that stands for it in
            recordings, so that recording and replay are the same source of data.
        replays_only: True if a cassette answers all calls, so that nothing is sent.
        known: secrets that no display may repeat.
        source: where the answers come from, in words: `live calls`, or `replayed, recorded 12 May 2026`.
        account: "real account", "practice" in its place, or "".
    """

    environment: Environment
    interface: Interface
    origin: str
    replays_only: bool
    known: KnownSecrets
    source: str
    account: str


def facts_of(client: httpx.Client | httpx.AsyncClient) -> InterfaceFacts:
    """Return the facts about a client of a session.

    Raises:
        ConfigurationError: if it does not belong to one.
    """
    transport = transport_of(client)
    scope, sender = transport.scope, transport.sender
    cassette = sender.cassette_in_use()
    return InterfaceFacts(
        sender.environment,
        scope.interface,
        str(client.base_url).rstrip("/") if cassette is None else scope.symbolic_text,
        cassette is not None and not cassette.records,
        sender.known,
        kind_text(cassette),
        sender.account_with(cassette),
    )
