"""Read a file of another program: within limits, without running anything, and by its content, not by its name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from toolkit.cassettes.format import contents, layout, other_programs, yaml_text
from toolkit.cassettes.importing import har, vcr_family, vcrpy_relatives
from toolkit.cassettes.importing.entries import Entry
from toolkit.core.errors import CassetteCorrupt, CassetteError, ConfigurationError
from toolkit.core.escaping import excerpt
from toolkit.local.files import expanded

MOST_BYTES: Final = 256 << 20  # of a file
_MOST_VALUES: Final = 20_000_000  # in a JSON file; each takes memory, however short it is
_JSON_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_SIGNS: Final = (b",", b"[", b"{")
_ARCHIVES: Final = {b"PK\x03\x04": "zip", b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_VCR_FAMILY: Final = b"http_interactions"
_VCR_1: Final = b"!ruby/struct:VCR::"
_PARSED_BODY: Final = b"parsed_body"
_GO_URL: Final = re.compile(rb"(?m)^ {4,8}url: ")
_LONGEST_NAME: Final = 40  # characters
_READABLE: Final = (
    "HAR files of browsers are imported, and cassettes of vcrpy, Ruby's VCR, R's vcr, betamax, pydantic-ai and go-vcr. "
    "The file was left as it was."
)


class SourceFile(NamedTuple):
    """A file of another program.

    Attributes:
        path: the file.
        program: what wrote it, such as "Ruby's VCR".
        entries: its exchanges, in their order.
    """

    path: Path
    program: str
    entries: Iterator[Entry]


class _Loader(yaml_text.Loader):
    """Loads plain types, and Ruby's own names for some of them."""


def _plain(loader: Any, _: str, node: yaml.Node) -> Any:
    """Return the plain value of a node with a tag of Ruby; no object of Ruby is made."""
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_mapping(node, deep=True)


def _binary(loader: Any, node: yaml.Node) -> Any:
    return loader.construct_yaml_binary(node)


_Loader.add_constructor("!binary", _binary)
_Loader.add_multi_constructor("!ruby/", _plain)


def read(source: str | Path) -> SourceFile:
    """Read a file of another program.

    Raises:
        ConfigurationError: if the file cannot be read, is an archive, or is a cassette of the toolkit already.
        CassetteCorrupt: if it is neither a HAR file nor a cassette of a program that is known.
    """
    path = expanded(source, about="source")
    data = _data(path)
    try:
        return _recognized(path, data)
    except CassetteCorrupt as error:
        raise error.reworded(error.what, _READABLE) from None
    except UnicodeDecodeError:
        why = "it is not UTF-8 text"
    except json.JSONDecodeError as error:
        why = f"it is not valid JSON (line {error.lineno}: {error.msg})"
    except yaml_text.NotYaml as error:
        why = f"{error} (line {error.line + 1})"
    except (RecursionError, MemoryError):
        why = "it is nested too deeply"
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError) as error:
        why = str(error) if type(error) is ValueError else "it does not have the layout of a recording"
    raise _unknown(path, why)


def _data(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise CassetteError(
                f"{path} has {size >> 20:,} MiB; at most {MOST_BYTES >> 20} MiB are imported at once.",
                "Export fewer requests into a file.",
                about="source",
            )
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "no file can have that name"
        what = f"Cannot read {path}: {why}."
        raise ConfigurationError(what, "Name a HAR file or a cassette.", about="source") from None
    for beginning, name in _ARCHIVES.items():
        if data.startswith(beginning):
            raise ConfigurationError(f"{path} is a {name} file.", "Unpack it first.", about="source")
    if layout.is_ours(data):
        raise ConfigurationError(
            f"{path} is a cassette of the toolkit already.",
            "Copy it; `toolkit cassettes scrub` scrubs it again under today's rules.",
            about="source",
        )
    return data


def _recognized(path: Path, data: bytes) -> SourceFile:
    if data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{":
        return _of_json(path, data)
    if _VCR_FAMILY in data or _VCR_1 in data:
        value = yaml_text.load(data, _Loader)
        if isinstance(value, list) and _VCR_1 in data:
            value = {"http_interactions": value}
        if isinstance(value, dict) and "http_interactions" in value:
            return _of_vcr_family(path, data, value)
    if _PARSED_BODY in data or _GO_URL.search(data):
        value = yaml_text.load(data, _Loader)
        program = other_programs.program_of(value)
        if program is not None:
            return _of_relative(path, program, value)
    return _of_vcrpy(path, data)


def _of_json(path: Path, data: bytes) -> SourceFile:
    _check_size(data)
    value = json.loads(data.decode("utf-8-sig"))
    if har.is_har(value):
        name = excerpt(har.creator(value), _LONGEST_NAME)
        return SourceFile(path, f"HAR of {name}" if name else "HAR", har.entries(value))
    if isinstance(value.get("http_interactions"), list):
        return _of_vcr_family(path, data, value)
    program = other_programs.program_of(value)
    if program is not None:
        return _of_relative(path, program, value)
    return _of_vcrpy(path, data)


def _check_size(data: bytes) -> None:
    """Refuse JSON with so many values that they would fill the memory."""
    if sum(map(data.count, _SIGNS)) > _MOST_VALUES:
        outside = _JSON_STRING.sub(b"", data)
        if sum(map(outside.count, _SIGNS)) > _MOST_VALUES:
            raise ValueError("it holds too many values")


def _of_vcr_family(path: Path, data: bytes, value: dict[str, Any]) -> SourceFile:
    return SourceFile(path, other_programs.vcr_family_member(data), vcr_family.entries(value))


def _of_relative(path: Path, program: str, value: dict[str, Any]) -> SourceFile:
    is_go = program == other_programs.GO_VCR
    read_entries = vcrpy_relatives.go_entries if is_go else vcrpy_relatives.pydantic_ai_entries
    return SourceFile(path, program, read_entries(value))


def _of_vcrpy(path: Path, data: bytes) -> SourceFile:
    if not data.strip():
        raise ValueError("it is empty")
    return SourceFile(path, "vcrpy", vcrpy_relatives.vcrpy_entries(contents.read(data, source=str(path))))


def _unknown(path: Path, why: str) -> CassetteCorrupt:
    return CassetteCorrupt(f"{path} cannot be imported: {why}.", _READABLE, about="source")
