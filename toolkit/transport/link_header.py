"""The `Link` header (RFC 8288), read in linear time: httpx's own reading loses links with `=` in a title."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_TARGET: Final = re.compile(r"[^<]*+<([^>]*+)>")
_PARAMETER: Final = re.compile(
    r'\s*+;\s*+([^\s=;,"<>]*+)\s*+(?:=\s*+(?:"((?:[^"\\]|\\.)*+)"|([^\s;,"<>]*+)))?', re.DOTALL
)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


def link_target(header: str, relation: str) -> str | None:
    """Return the target of the first link with this relation type, in lower case, or None.

    A link from another page than the answer (with the parameter `anchor`, RFC 8288 section 3.2) is ignored, and so is
    text that is not a link.
    """
    for target, parameters in _links(header):
        if relation in parameters.get("rel", "").lower().split() and "anchor" not in parameters:
            return target
    return None


def _links(header: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each link's target and parameters; of a repeated parameter the first counts."""
    position = 0
    while (link := _TARGET.match(header, position)) is not None:
        position = link.end()
        parameters: dict[str, str] = {}
        while (part := _PARAMETER.match(header, position)) is not None:
            position = part.end()
            name, quoted, token = part.groups()
            text = (token or "") if quoted is None else _ESCAPED.sub(r"\1", quoted)
            parameters.setdefault(name.lower(), text)
        yield link[1].strip(), parameters
