"""A credential that is recognized by what is around it, or by its own shape, rather than by a name and a sign."""

from __future__ import annotations

from typing import NamedTuple


class ShapedCredential(NamedTuple):
    """A credential that is recognized by its shape.

    Attributes:
        start: position in the text where it starts.
        end: position after it.
        kind: its kind, as placeholders name it, such as "ACCESS_TOKEN".
        what: what it is called in findings, such as "bearer token".
        value: the credential without escapes.
    """

    start: int
    end: int
    kind: str
    what: str
    value: str


def shadow_of(text: str) -> bytes:
    """Return a text in small letters with one byte for each character, where names are searched for quickly.

    A pattern that begins with a literal text is searched for many times faster than one that takes both cases.
    """
    return text.encode("ascii", "replace").lower()
