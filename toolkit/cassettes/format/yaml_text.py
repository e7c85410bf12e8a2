"""Write and load the YAML of cassettes: exactly, safely and readably.

Texts of several lines are written as blocks, other texts on one line. All output is ASCII, because stock vcrpy reads
files in the machine's preferred encoding. Before anything is loaded, nesting and aliases are counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import yaml

try:
    from yaml import CSafeDumper as _BaseDumper
    from yaml import CSafeLoader as _Loader
except ImportError:  # not every platform has libyaml
    from yaml import SafeDumper as _BaseDumper  # type: ignore[assignment]
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

_WIDTH: Final = 1 << 30  # columns; wide enough that no text is folded
_MOST_LEVELS: Final = 500  # an interaction has six
_MOST_NODES: Final = 20_000_000  # with aliases expanded
# YAML 1.1 reads 1:30:00 as a number in base 60. Reading one takes time quadratic in the number of its digits.
_SIXTIES: Final = re.compile(r"[0-9_](?::[0-5]?[0-9]){20}")
_PLAIN: Final = re.compile(r"[\x20-\x7e\n]*\Z")
# A literal block cannot represent white space at either end or before a line end, nor empty last lines.
_NOT_A_BLOCK: Final = re.compile(r"\A\s| \n|\n\n\Z|[^\S\n]\Z")


class NotYaml(ValueError):
    """The text is not YAML, or not safe to load.

    Attributes:
        line: line of the problem within the text, from 0.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class _Dumper(_BaseDumper):
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = None
    if not _PLAIN.match(text):
        style = '"'  # escapes preserve carriage returns, tabs and all other characters
    elif "\n" in text:
        style = '"' if _NOT_A_BLOCK.search(text) else "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def _load(text: str) -> Any:
    return yaml.load(text, Loader=_Loader)


def dump(value: Any) -> bytes:
    """Return a value of plain types as block YAML, with keys in their order."""
    text = yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=_WIDTH, default_flow_style=False)
    return str(text).encode("ascii")


def _check(text: str) -> None:
    """Refuse YAML that would crash a loader, or fill the memory once it is loaded.

    Raises:
        NotYaml: if it is nested too deeply, its aliases repeat too much, or a number would take long to read.
    """
    # Node count and anchor of each open collection; the first entry stands for the document.
    sizes, anchors = [0], [""]
    sizes_by_anchor: dict[str, int] = {}
    for event in yaml.parse(text, Loader=_Loader):
        line = event.start_mark.line if event.start_mark else 0
        if isinstance(event, yaml.CollectionStartEvent):
            sizes.append(1)
            anchors.append(event.anchor or "")
        elif isinstance(event, yaml.CollectionEndEvent):
            sizes_by_anchor[anchors.pop()] = size = sizes.pop()
            sizes[-1] += size
        elif isinstance(event, yaml.AliasEvent):
            sizes[-1] += sizes_by_anchor.get(event.anchor or "", 1)
        elif isinstance(event, yaml.ScalarEvent):
            sizes[-1] += 1
            if (event.tag or event.implicit[0]) and _SIXTIES.search(event.value):
                raise NotYaml("a number is too long", line)
        is_too_deep = len(sizes) > _MOST_LEVELS
        if is_too_deep or sizes[-1] > _MOST_NODES:
            raise NotYaml("it is nested too deeply" if is_too_deep else "its aliases repeat too much", line)


def load(data: bytes, load_safely: Callable[[Any], Any] = _load) -> Any:
    """Load YAML of plain types.

    Args:
        data: the text, in UTF-8.
        load_safely: how to load it; by default as YAML 1.1 without tags of programming languages.

    Raises:
        NotYaml: if it is not YAML, has another tag, is nested too deeply, or its aliases repeat too much.
    """
    try:
        text = data.decode("utf-8-sig")
        _check(text)
        return load_safely(text)
    except NotYaml:
        raise
    except UnicodeDecodeError as error:
        raise NotYaml("it is not UTF-8 text", data.count(b"\n", 0, error.start)) from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line if error.problem_mark else 0
        raise NotYaml(f"it is not valid YAML ({error.problem})", line) from None
    except (
        yaml.YAMLError,
        ValueError,
        TypeError,
        LookupError,
        ArithmeticError,
        AttributeError,
        RecursionError,
    ) as error:
        what = "character that YAML" if isinstance(error, yaml.YAMLError) else "value that its tag"
        raise NotYaml(f"it is not valid YAML (a {what} does not allow)", 0) from None


def lines_of_items(data: bytes) -> list[int]:
    """Return the lines, from 1, on which the interactions of a whole cassette begin; none if they are not known.

    Args:
        data: the text, which was loaded before, so it is safe to parse.
    """
    try:
        document: Any = yaml.compose(data, Loader=_Loader)
        items = next(value for key, value in document.value if key.value == "interactions")
        return [int(item.start_mark.line) + 1 for item in items.value]
    except (yaml.YAMLError, UnicodeDecodeError, AttributeError, TypeError, ValueError, LookupError, StopIteration):
        return []
