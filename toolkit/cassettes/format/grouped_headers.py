"""Headers as vcrpy stores them: values grouped by name; a key of ours beside them keeps an order that this loses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolkit.scrubbing.messages import HeaderList, header_bytes, header_text


def grouped(headers: HeaderList) -> dict[str, list[str | bytes]]:
    """Return headers as vcrpy stores them: a mapping of names to lists of values."""
    by_name: dict[str, list[str | bytes]] = {}
    for name, value in headers:
        # Stock vcrpy passes values on to httpx, which accepts header text only if it is ASCII.
        by_name.setdefault(name, []).append(value if value.isascii() else header_bytes(value))
    return by_name


def order_of(headers: HeaderList) -> list[str] | None:
    """Return the names of headers in their order, or None if grouping by name keeps it."""
    if len(dict(headers)) == len(headers) or tuple(_ungrouped(grouped(headers))) == headers:
        return None
    return [name for name, _ in headers]


def _ungrouped(by_name: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, values in by_name.items():
        for value in values if isinstance(values, list | tuple) else [values]:
            text = header_text(value)
            if not text.isascii():
                header_bytes(text)  # UnicodeEncodeError if replay could not send it
            yield str(name), text


def flattened(by_name: Mapping[str, Any] | None, order: Sequence[str] | None) -> HeaderList:
    """Return grouped headers in the order in which they came."""
    if not order:
        return tuple(_ungrouped(by_name or {}))
    remaining: dict[str, list[str]] = {}
    for name, value in _ungrouped(by_name or {}):
        remaining.setdefault(name, []).append(value)
    ordered = [(name, remaining[name].pop(0)) for name in order if remaining.get(name)]
    # A header that somebody added by hand is not in `order`; it comes last.
    return (*ordered, *((name, value) for name, values in remaining.items() for value in values))
