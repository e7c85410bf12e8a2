"""A row of the tables of formats."""

from __future__ import annotations

from typing import NamedTuple


class Format(NamedTuple):
    """The format of a provider's keys or tokens.

    Attributes:
        provider: who issues them.
        kind: what they are, as placeholders name it.
        start: the literal text at their start.
        rest: pattern of what follows; with bounded or possessive repetitions only, so that a search stays linear.
        is_certain: False if the start is so short or common that it counts at the start of a value only.
    """

    provider: str
    kind: str
    start: str
    rest: str
    is_certain: bool = True


class InnerFormat(NamedTuple):
    """The format of keys that have a literal text at a fixed position inside.

    Attributes:
        provider: who issues them.
        kind: what they are, as placeholders name it.
        sign: the literal text.
        before: characters before it.
        pattern: pattern of the whole key.
    """

    provider: str
    kind: str
    sign: str
    before: int
    pattern: str
