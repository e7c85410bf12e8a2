"""The shape of JSON: which members it has and of which types, whatever their values and however many rows there are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from toolkit.cassettes.replay.differences import path_step

NULL: Final = "null"


@dataclass(slots=True)
class Shape:
    """The shape of the values at one place.

    Attributes:
        types: names of the JSON types that occur there.
        members: the shapes of the members of objects there, by name.
        items: the shape of the items of arrays there; None if all arrays are empty.
    """

    types: set[str] = field(default_factory=set)
    members: dict[str, Shape] = field(default_factory=dict)
    items: Shape | None = None

    def describe(self) -> str:
        """Return the types in words, such as `number or string`."""
        return " or ".join(sorted(self.types - {NULL})) or NULL


class ShapeChange(NamedTuple):
    """A place whose shape differs.

    Attributes:
        place: path of the place, such as `$.accounts[].cash`.
        old, new: the types there; None if the member is missing.
    """

    place: str
    old: str | None
    new: str | None


def shape_of(value: Any) -> Shape:
    """Return the shape of a parsed JSON value."""
    top = Shape()
    pending: list[tuple[Any, Shape]] = [(value, top)]
    while pending:
        value, shape = pending.pop()
        shape.types.add(_type_of(value))
        if isinstance(value, dict):
            for name, member in value.items():
                pending.append((member, shape.members.setdefault(name, Shape())))
        elif isinstance(value, list) and value:
            shape.items = shape.items or Shape()
            pending.extend((item, shape.items) for item in value)
    return top


def shape_changes(old: Shape, new: Shape) -> Iterator[ShapeChange]:
    """Yield the places where two shapes differ.

    A type that a place did not have before is a change; null is not, since a value may be missing on any day. Nothing
    is said about the items of an array that is empty on one side.
    """
    pending = [("$", old, new)]
    while pending:
        place, left, right = pending.pop()
        types = left.types - {NULL}
        if types and right.types - {NULL} - types:
            yield ShapeChange(place, left.describe(), right.describe())
        children = []
        if "object" in left.types and "object" in right.types:
            for name in dict.fromkeys((*left.members, *right.members)):
                step = place + path_step(name)
                before, after = left.members.get(name), right.members.get(name)
                if before is not None and after is not None:
                    children.append((step, before, after))
                else:
                    yield ShapeChange(step, *(shape.describe() if shape else None for shape in (before, after)))
        if left.items is not None and right.items is not None:
            children.append((f"{place}[]", left.items, right.items))
        pending.extend(reversed(children))


def _type_of(value: Any) -> str:
    if value is None:
        return NULL
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, list) else "number"
