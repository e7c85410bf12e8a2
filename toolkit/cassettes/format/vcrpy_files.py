"""Read cassettes of stock vcrpy, of any version and client, with vcrpy's own YAML loader.

They lack our keys, so the time of an interaction is its Date header, or else a fixed instant. The fields of an
interaction are read by `vcrpy_fields`; files that other programs recorded are recognized by `other_programs`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import yaml

from toolkit.cassettes.format import fast_items, other_programs, vcrpy_fields, vcrpy_layout, yaml_text
from toolkit.cassettes.format.interactions import Interaction, UnreadableInteraction, corrupt, is_uri
from toolkit.scrubbing.messages import RecordedRequest


def load(data: bytes, *, source: str) -> list[Interaction | UnreadableInteraction]:
    """Return all interactions of a vcrpy cassette, YAML or JSON, with the error in place of one that cannot be read.

    Raises:
        CassetteCorrupt: if it is not a cassette, or no interaction can be read; names the file and, if a parser knows
            it, the line.
    """
    with _as_corrupt(data, source=source, line=1):
        items = _items(data)
        other_programs.check_items(items)
    recorded: list[Interaction | UnreadableInteraction] = []
    for number, fields in enumerate(items):
        try:
            recorded.append(_interaction(fields))
        except ValueError as error:
            line = yaml_text.line_of_item(data, number)
            why = corrupt(source, f"in interaction {number + 1}, {error}", line=line)
            recorded.append(UnreadableInteraction(why, line, _head(fields)))
    if recorded and all(isinstance(each, UnreadableInteraction) for each in recorded):
        raise recorded[0].error  # type: ignore[union-attr]
    return recorded


def _head(fields: Any) -> RecordedRequest | None:
    """Return method and URI of an interaction that cannot be read, or None if they are not there."""
    request = fields.get("request") if isinstance(fields, dict) else None
    method, uri = (request.get("method"), request.get("uri")) if isinstance(request, dict) else (None, None)
    return RecordedRequest(method, uri) if isinstance(method, str) and isinstance(uri, str) and is_uri(uri) else None


def load_item(item: bytes, *, source: str, line: int, number: int = 0) -> Interaction:
    """Return the interaction in one item of a file in vcrpy's usual layout.

    Args:
        item: the text of the item.
        source: the file, for messages.
        line: first line of the item in the file, from 1.
        number: number of the item in the file, from 0.

    Raises:
        CassetteCorrupt: if it is not an interaction; names the file, the line and the item.
    """
    fields = fast_items.vcrpy_fields(item)
    if fields is None:
        data = vcrpy_layout.as_file(item)
        with _as_corrupt(data, source=source, line=line - 1):
            items = _items(data)
            if len(items) != 1:
                raise ValueError(f"expected one interaction here, found {len(items)}")
            other_programs.check_items(items)
            fields = items[0]
    try:
        return _interaction(fields)
    except ValueError as error:
        raise corrupt(source, f"in interaction {number + 1}, {error}", line=line) from None


def _interaction(fields: Any) -> Interaction:
    """Return the interaction with these fields.

    Raises:
        ValueError: if they are not those of an interaction.
    """
    try:
        return vcrpy_fields.interaction(fields)
    except KeyError as error:
        raise ValueError(f"{error} is missing") from None
    except (TypeError, AttributeError, IndexError, ArithmeticError, RecursionError):
        # Messages about Python code would not help.
        raise ValueError("request and response do not have the fields of a cassette") from None


@contextmanager
def _as_corrupt(data: bytes, *, source: str, line: int) -> Iterator[None]:
    """Raise CassetteCorrupt in place of any error in reading data; `line` is its first line in the file."""
    try:
        yield
    except other_programs.OtherProgram as error:
        raise corrupt(source, str(error)) from None
    except UnicodeDecodeError as error:
        raise corrupt(source, "it is not UTF-8 text", line=line + data.count(b"\n", 0, error.start)) from None
    except json.JSONDecodeError as error:
        raise corrupt(source, f"it is not valid JSON ({error.msg})", line=line + error.lineno - 1) from None
    except yaml_text.NotYaml as error:
        raise corrupt(source, str(error), line=line + error.line) from None
    except yaml.MarkedYAMLError as error:
        at = None if error.problem_mark is None else error.problem_mark.line + line
        raise corrupt(source, f"it is not valid YAML ({error.problem})", line=at) from None
    except KeyError as error:
        raise corrupt(source, f"{error} is missing") from None
    except (TypeError, AttributeError, IndexError):  # messages about Python code would not help
        raise corrupt(source, "it does not have the fields of a cassette") from None
    except (ValueError, ArithmeticError, RecursionError, yaml.YAMLError) as error:
        why = str(error).splitlines()[0].rstrip(".: ") if str(error) else type(error).__name__
        raise corrupt(source, why) from None


def _items(data: bytes) -> list[Any]:
    """Return the fields of each interaction in a file.

    Raises:
        OtherProgram: if another program wrote the file.
        UnicodeDecodeError, JSONDecodeError, NotYaml, YAMLError, KeyError, TypeError: if it is not a cassette.
    """
    from vcr.serializers import yamlserializer

    text = data.decode("utf-8-sig")
    is_json = text.lstrip()[:1] == "{"
    try:
        if not is_json:
            yaml_text.check(data)
        value = json.loads(text) if is_json else yamlserializer.deserialize(text)
        return _interactions(value)
    except (ValueError, KeyError, TypeError, ArithmeticError, RecursionError, yaml.YAMLError):
        other_programs.check_text(data)
        raise


def _interactions(value: Any) -> list[Any]:
    """Return the list of interactions in the value of a whole file."""
    other_programs.check_value(value)
    items = value["interactions"]
    if not isinstance(items, list):
        raise TypeError("'interactions' is not a list")
    return items
