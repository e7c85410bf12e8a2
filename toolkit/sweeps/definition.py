"""The definition of a sweep: what all rows of one folder have in common, and what may not be mixed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from toolkit.tables.arrow_text import Numbers


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
