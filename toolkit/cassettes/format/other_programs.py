"""Recognize files that other programs recorded, so that the error says what they are. They are not converted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

_LAYOUT_OF_RUBY_VCR: Final = re.compile(rb"(?m)^[ \t{]{0,8}[\"']?http_interactions[\"']?[ \t]{0,8}:")
_OBJECT_OF_RUBY_VCR: Final = b"!ruby/struct:VCR::"
_RECORDED_WITH: Final = re.compile(rb"recorded_with[\"']?[ \t]{0,8}:[ \t]{0,8}[\"']?([ -~]{1,40})")
_OBJECT_OF_OLD_VCRPY: Final = b"!!python/object:vcr.request.Request"
_RUBY_VCR: Final = "Ruby's VCR"
# Beginnings of what these programs write under `recorded_with`. R's vcr wrote its version in both ways.
_PROGRAMS: Final = ((b"betamax", "betamax"), (b"VCR-vcr", "R's vcr"), (b"vcr/", "R's vcr"), (b"VCR", _RUBY_VCR))
_SHARED: Final = "Ruby's VCR or a program that shares its format"
_PYDANTIC_AI: Final = "the serializer of pydantic-ai"
_GO_VCR: Final = "go-vcr"
_OLD_VCRPY: Final = (
    "it is in the format of an older version of vcrpy, before 1.0, which `python -m vcr.migration` converts"
)
_HAR: Final = "it is a HAR file; `toolkit cassettes import FILE NAME` makes a cassette of it"


class OtherProgram(ValueError):
    """The file is not a cassette of vcrpy's format; the text says what it is, and what to do."""


def check_text(data: bytes) -> None:
    """Check the bytes of a file that is not a cassette of vcrpy.

    Raises:
        OtherProgram: if the program that wrote it is known.
    """
    if _OBJECT_OF_OLD_VCRPY in data:
        raise OtherProgram(_OLD_VCRPY)
    if _OBJECT_OF_RUBY_VCR in data:
        raise _recorded_by(_RUBY_VCR)
    if _LAYOUT_OF_RUBY_VCR.search(data):
        recorded_with = _RECORDED_WITH.findall(data)[-1:]
        names = [name for start, name in _PROGRAMS if recorded_with and recorded_with[0].startswith(start)]
        raise _recorded_by(names[0] if names else _SHARED)


def check_value(value: Any) -> None:
    """Check the value of a whole file.

    Raises:
        OtherProgram: if it is a HAR file, or a list of interactions, as vcrpy wrote it before version 1.0.
    """
    log = value.get("log") if isinstance(value, Mapping) else None
    if isinstance(log, Mapping) and isinstance(log.get("entries"), list):
        raise OtherProgram(_HAR)
    if isinstance(value, list) and value and isinstance(value[0], Mapping) and "request" in value[0]:
        raise OtherProgram(_OLD_VCRPY)


def check_items(items: Iterable[Any]) -> None:
    """Check the interactions of a file in a format that resembles vcrpy's.

    Raises:
        OtherProgram: if they are not vcrpy's.
    """
    for item in items:
        request, response = (_mapping(item, name) for name in ("request", "response"))
        if "parsed_body" in request or "parsed_body" in response:
            raise _recorded_by(_PYDANTIC_AI)
        if "url" in request and "uri" not in request and "code" in response:
            raise _recorded_by(_GO_VCR)


def _mapping(item: Any, name: str) -> Mapping[str, Any]:
    value = item.get(name) if isinstance(item, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _recorded_by(program: str) -> OtherProgram:
    return OtherProgram(
        f"it was recorded by {program}, whose recordings are not converted; record the calls again, or import a HAR "
        "file of them with `toolkit cassettes import FILE NAME`"
    )
