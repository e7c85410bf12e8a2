"""Write an interaction as YAML without libyaml: the same bytes in a sixth of the time (measured).

This module exists for speed and for nothing else, as `fast_items` does for reading. It writes mappings, lists of texts,
numbers, and texts of printable ASCII. For anything else it returns None, and the caller uses libyaml.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

from yaml import ScalarNode
from yaml.representer import SafeRepresenter
from yaml.resolver import Resolver

from toolkit.cassettes.format.yaml_text import NOT_A_BLOCK

_LONGEST_NAME: Final = 100  # characters; YAML has another notation for long ones
# A text that begins with another character, or like the mark of a document, has to be quoted. A colon before a space or
# at the end, and a number sign after a space, have a meaning of their own.
_PLAIN: Final = re.compile(
    r"(?!---|\.\.\.)(?:[$()+./0-9;<=A-Z\\^_a-z~]|[?:-](?=[!-~]))"
    r"(?:[!-9;-~]++|:(?=[!-~])| ++(?=[!\"$-~]))*+"
)
_LINE: Final = re.compile(r"[ -~]*+")
_LINES: Final = re.compile(r"[ -~\n]*+")
_START: Final = "\n  "
_TEXT: Final = "tag:yaml.org,2002:str"
_RESOLVER: Final[Any] = Resolver()
_REPRESENTER: Final = SafeRepresenter()


class _NeedsLibyamlError(ValueError):
    """A value that this module does not write."""


def dump(fields: dict[str, Any]) -> bytes | None:
    """Return a mapping as one item of a list in block style, or None if libyaml has to write it."""
    try:
        return f"-{_after_colon(fields, _START)[2:]}\n".encode("ascii")
    except _NeedsLibyamlError:
        return None


def _after_colon(value: Any, start: str) -> str:
    """Return a value as it stands after a name and a colon.

    Args:
        value: the value.
        start: a line end, and the spaces before each line of the value.
    """
    kind = type(value)
    if kind is str:
        return f" {_text(value)}" if "\n" not in value else _literal(value, start)
    if kind is dict:
        parts = [f"{start}{_name(name)}:{_after_colon(item, start + '  ')}" for name, item in value.items()]
        return "".join(parts) or " {}"
    if kind is list:
        return "".join([f"{start[:-2]}- {_text(item)}" for item in value]) or " []"
    if kind is bool or kind is int:
        return f" {value}".lower()
    if kind is float:
        return f" {_REPRESENTER.represent_float(value).value}"
    raise _NeedsLibyamlError


@lru_cache(maxsize=512)
def _name(name: str) -> str:
    """Return a name. Those of headers and of the format come again and again."""
    if len(name) > _LONGEST_NAME:
        raise _NeedsLibyamlError
    return _text(name)


def _text(text: Any) -> str:
    """Return a text on one line: plain if it then reads as text, else in quotes."""
    if type(text) is not str or not _LINE.fullmatch(text):
        raise _NeedsLibyamlError
    if _PLAIN.fullmatch(text) and _RESOLVER.resolve(ScalarNode, text, (True, False)) == _TEXT:
        return text
    return "'" + text.replace("'", "''") + "'"


def _literal(text: str, start: str) -> str:
    """Return a text of several lines as a block."""
    if not _LINES.fullmatch(text) or NOT_A_BLOCK.search(text):
        raise _NeedsLibyamlError
    lines = text.removesuffix("\n").split("\n")
    mark = "|" if text.endswith("\n") else "|-"
    return f" {mark}" + "".join([start + line if line else "\n" for line in lines])
