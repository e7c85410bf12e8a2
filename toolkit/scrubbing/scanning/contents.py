"""Extract what a file contains: archives, compressed data, notebooks, text in any encoding, base64 in text, other data.

Extracted data is opened in turn, and its size is counted, so that a small file that expands endlessly is abandoned.
"""

from __future__ import annotations

import binascii
import bz2
import gzip
import io
import json
import lzma
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from json.encoder import encode_basestring
from typing import IO, Any, Final, NamedTuple

from toolkit.core.errors import SecretLeak
from toolkit.core.text import excerpt
from toolkit.local.files import source_lines
from toolkit.scrubbing import compression
from toolkit.scrubbing.normal_form import flags_of, is_text

_Path = tuple[str | int, ...]  # keys and indexes from the top of a notebook
_HEAD: Final = 1 << 12  # bytes that determine what a file is
_LARGEST: Final = 1 << 26  # bytes of an archive in an archive, of a notebook, or of text in UTF-16
_SLICE: Final = 1 << 23  # bytes of a text that are searched at a time
_BINARY: Final = 1 << 24  # bytes of other data that are searched at a time
_LONGEST_LINE: Final = 1 << 20  # bytes by which a slice may be extended to the end of a line
_ALLOWANCE: Final = 64 << 20  # bytes that any file may expand to, in addition to a multiple of its size
_MULTIPLE: Final = 32
_ATTEMPT: Final = 1 << 11  # bytes of the budget that each attempt to open something costs
_DEEPEST: Final = 6  # layers: a file in a folder's archive, a body in it, base64 in that, and so on
_TOO_MUCH: Final = "it contains compressed or encoded data that is too large or too deep to scan"
_BROKEN_DATA: Final = "an archive or compressed data in it is broken, truncated, or of an unknown kind"
_BROKEN: Final = (
    *(zipfile.BadZipFile, tarfile.TarError, NotImplementedError, RuntimeError, ValueError, KeyError, IndexError),
    *(OSError, EOFError, zlib.error, lzma.LZMAError, struct.error),
)
_ZIP: Final = b"PK\3\4"
_COMPRESSED: Final[dict[bytes, Callable[[Any], Any]]] = {
    b"\x1f\x8b\x08": lambda stream: gzip.GzipFile(fileobj=stream),
    b"BZh91AY&SY": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
}
_NOT_TEXT: Final = re.compile("[\0-\b\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
_TOO_MANY: Final = 20  # data with more than one such character in this many is binary
_COLOUR: Final = re.compile(r"\x1b\[[0-?]{0,40}+[ -/]{0,4}+[@-~]")
_KINDS: Final = bytes(1 if byte == 9 or 32 <= byte < 127 else 2 if byte else 0 for byte in range(256))
_PRINTABLE: Final = re.compile(rb"\x01{8,}+(?:\x00\x01{8,}+)*+")  # also with single null bytes between runs
_IS_DIGIT: Final = flags_of(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
_RUN: Final = re.compile(b"\1" * 32 + b"\1*+")
_MORE_LINES: Final = re.compile(r"(?:(?:\\r)?+(?:\\n|\r?\n)[ \t]{0,60}+[A-Za-z0-9+/]++(?![ \t]*+[\w:.-]))*+")
_LONGEST_NAME: Final = 60  # characters of a name that is shown
_LONGEST_PART: Final = 300  # characters of the description of a place
_KEPT: Final = 64  # characters of a run, which determine what it is
_LONG: Final = 1 << 12  # characters; a longer run is not a credential
_OPENED: Final = (*compression.MAGICS, b"BZh", b"\xfd7zXZ\0", b"\x89PNG", b"%PDF-", b"\xff\xd8\xff", b"\xff\xfe")


class TextPlace(NamedTuple):
    """The line, cell and part of a text, as in a `Finding`; line 0 means that lines are counted within the text."""

    line: int
    cell: int | None = None
    part: str = ""

    def inside(self, part: str) -> TextPlace:
        """Return this place with a part added, such as an archive member's name, which may not be valid UTF-8."""
        words = ", ".join(filter(None, (self.part, part)))[:_LONGEST_PART]
        return self._replace(part=words.encode("utf-8", "replace").decode())


# A text from a file, or a slice of one, and a function that returns the place of each line; bytes that are not text are
# searched for known secrets only.
FileText = tuple[str | bytes, Callable[[int], TextPlace]]


class Opener:
    """Opens one file. Its size limits how much may be decompressed; `notes` lists what could not be opened."""

    def __init__(self, size: int) -> None:
        self._left = _ALLOWANCE + _MULTIPLE * size
        self.notes: set[str] = set()

    def texts_in(self, stream: IO[bytes]) -> Iterator[FileText]:
        """Yield every text in the file."""
        try:
            yield from self._opened(stream, TextPlace(0), 0)
        except OverflowError:
            self.notes.add(_TOO_MUCH)

    def spend(self, size: int) -> None:
        """Count extracted bytes, and raise `OverflowError` if there are too many."""
        self._left -= size
        if self._left < 0:
            raise OverflowError

    def _opened(self, stream: Any, base: TextPlace, depth: int) -> Iterator[FileText]:
        self.spend(_ATTEMPT)
        if depth > _DEEPEST:
            self.notes.add(_TOO_MUCH)
            return
        head = stream.peek(_HEAD)[:_HEAD]
        if not compression.is_archive(head) and not head.startswith(tuple(_COMPRESSED)):
            yield from self._read(stream, head, base, depth)
            return
        for name, content in self._members(stream, head):
            counted = io.BufferedReader(_Counted(content, self), _HEAD)
            yield from self._opened(counted, base.inside(name), depth + 1)

    def _members(self, stream: Any, head: bytes) -> Iterator[tuple[str, Any]]:
        try:
            if head.startswith(_ZIP):
                archive = zipfile.ZipFile(stream if stream.seekable() else io.BytesIO(stream.read(_LARGEST)))
                for entry in archive.infolist():
                    if entry.flag_bits & 1:
                        self.notes.add("it contains an encrypted archive member")
                    else:
                        yield entry.filename, archive.open(entry)
            elif compression.is_archive(head):
                for info in (tar := tarfile.open(fileobj=stream, mode="r|")):  # noqa: SIM115 - it only reads
                    if content := tar.extractfile(info):
                        yield info.name, content
            else:
                decompress = next(opened for magic, opened in _COMPRESSED.items() if head.startswith(magic))
                yield "decompressed", decompress(stream)
        except _BROKEN:
            self.notes.add(_BROKEN_DATA)

    def _read(self, stream: Any, head: bytes, base: TextPlace, depth: int) -> Iterator[FileText]:
        is_wide = head.count(0) * 3 > len(head) or head[:2] in (b"\xff\xfe", b"\xfe\xff")
        encoding = json.detect_encoding(head) if is_wide else "utf-8-sig"
        text = head.decode(encoding, "replace")
        if len(_NOT_TEXT.findall(text)) * _TOO_MANY > len(text):
            yield from self._binary(stream, base._replace(line=base.line or 1), depth)
            return
        is_notebook = text.lstrip()[:1] == "{" and ('"cells"' in text or '"nbformat"' in text)
        line = 1
        size = _LARGEST if is_notebook or is_wide else _SLICE
        while data := stream.read(size) + stream.readline(_LONGEST_LINE):
            text = data.decode(encoding, "replace")
            content = text, partial(_place, base, line)
            with suppress(ValueError, RecursionError):
                if is_notebook:
                    notebook = Notebook(text)
                    content = notebook.text, partial(notebook.place, base)
            yield from self._text(*content, depth)
            line += text.count("\n")

    def _text(self, text: str, place: Callable[[int], TextPlace], depth: int) -> Iterator[FileText]:
        """Yield a string, and the contents of the base64 data in it."""
        text = _COLOUR.sub("", text)  # colour codes may separate a name from its value
        line, done, parts = 1, 0, []
        for start, end, data in _base64_in(text):
            is_one_line = "\n" not in text[start:end]  # else a word in one line would look like the name of the next
            kept = end if is_one_line and end - start <= _LONG else min(end, start + _KEPT)
            parts += [text[done:kept], "\n" * text.count("\n", kept, end)]
            line += text.count("\n", done, start)
            yield from self._of_bytes(data, place(line).inside("base64"), depth + 1)
            line += text.count("\n", start, end)
            done = end
        yield "".join([*parts, text[done:]]), place
        if parts:
            yield text.encode("utf-8", "surrogatepass"), place

    def _binary(self, stream: Any, base: TextPlace, depth: int) -> Iterator[FileText]:
        """Yield the printable runs of binary data, the data itself, and the contents of compressed data in it."""
        place = partial(_place, base, 1)
        while data := stream.read(_BINARY):
            runs = [data[slice(*run.span())] for run in _PRINTABLE.finditer(data.translate(_KINDS))]
            text = b"\n".join(runs).decode("ascii").replace("\0", ": ")
            yield from self._text(text, place, depth)
            yield data, place
            if depth == _DEEPEST:  # any bytes may, by chance, look like compressed data within compressed data
                continue
            budget = compression.DecodingBudget(0)
            with suppress(SecretLeak):
                for member in compression.members_of(data, budget):
                    yield from self._of_bytes(member.data, base.inside(member.name), depth + 1)
                if not budget.is_exceeded:
                    continue
            self.notes.add(_TOO_MUCH)

    def _of_bytes(self, data: bytes, base: TextPlace, depth: int) -> Iterator[FileText]:
        self.spend(len(data))
        yield from self._opened(io.BufferedReader(io.BytesIO(data), _HEAD), base, depth)


class _Counted(io.RawIOBase):
    """A stream that counts the bytes read from it, and ends where its data is corrupt."""

    def __init__(self, stream: Any, opener: Opener) -> None:
        self._stream = stream
        self._opener = opener

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        filled = 0
        try:
            while filled < len(buffer) and (piece := self._stream.read1(len(buffer) - filled)):
                buffer[filled : filled + len(piece)] = piece
                filled += len(piece)
        except _BROKEN:
            self._opener.notes.add(_BROKEN_DATA)
        self._opener.spend(filled)
        return filled


def _place(base: TextPlace, first: int, line: int) -> TextPlace:
    return base if base.line else base._replace(line=first + line - 1)


def _base64_in(text: str) -> Iterator[tuple[int, int, bytes]]:
    """Yield the start, end and data of base64 runs of text or a known format; other long runs have no data."""
    end = 0
    for match in _RUN.finditer(text.encode("ascii", "replace").translate(_IS_DIGIT)):
        if match.start() >= end:
            start, end = match.span()
            head = _decoded(text[start : min(end, start + _KEPT)])
            is_signed = "." in (text[start - 1 : start], text[end : end + 1])  # a part of a signed token
            is_opened = not is_signed and (head.startswith(_OPENED) or is_text(head))
            end = _MORE_LINES.match(text, end).end() if is_opened else end  # type: ignore[union-attr]
            if is_opened or end - start > _LONG:
                yield start, end, _decoded(text[start:end]) if is_opened else b""


def _decoded(run: str) -> bytes:
    digits = "".join(run.replace("\\r", "").replace("\\n", "").split()).replace("-", "+").replace("_", "/")
    return binascii.a2b_base64(digits[: len(digits) - (len(digits) % 4 == 1)] + "==")


class Notebook:
    """The strings of a notebook (nbformat 4), and the cell that each line belongs to.

    The strings of a list are joined; each member of an object becomes a line of JSON, so that a value is next to its
    name. Raises `ValueError` for a string that is not a notebook.
    """

    def __init__(self, file: str) -> None:
        document = json.loads(file)
        if not isinstance(document, dict) or not isinstance(document.get("cells"), list):
            raise ValueError("not a notebook")  # noqa: TRY004 - as for any other text that is not a notebook
        self._cells = source_lines(file)
        self._lines: list[tuple[str, _Path]] = []
        self._read(document, ())
        self.text = "\n".join([line for line, _ in self._lines])

    def place(self, base: TextPlace, line: int) -> TextPlace:
        """Return the place of a line of `text` in the notebook, whose own place is `base`."""
        _, path = self._lines[line - 1]
        cell, part = _words(path)
        in_file = self._cells[cell - 1] if cell and cell <= len(self._cells) else 1
        return TextPlace(base.line or in_file, cell, base.inside(part).part)

    def _read(self, value: Any, path: _Path) -> None:
        if isinstance(value, str):
            self._lines += [(line, path) for line in (*value.split("\n"), "")]
        elif isinstance(value, dict):
            self._read_members(value, path)
        elif isinstance(value, list) and all(isinstance(each, str) for each in value):
            end = "\n" if path[-1:] == ("traceback",) else ""
            paths = [(*path, at) for at, each in enumerate(value) for _ in range(f"{each}{end}".count("\n"))]
            lines = end.join(value).split("\n")
            self._lines += zip((*lines, ""), (*paths, (*path, len(value) - 1), path), strict=False)
        elif isinstance(value, list):
            for at, each in enumerate(value):
                self._read(each, (*path, at))

    def _read_members(self, members: dict[str, Any], path: _Path) -> None:
        inner = [key for key, value in members.items() if isinstance(value, dict | list) or "\n" in str(value)]
        for key, value in members.items():
            written = encode_basestring(value) if isinstance(value, str) and key not in inner else "null"
            self._lines.append((f"{{{encode_basestring(key)}: {written}}}", (*path, key)))
        if "Password" in str(members.get("_model_name")):  # what was typed into a field for passwords
            self._lines.append((f"password: {encode_basestring(str(members.get('value')))}", (*path, "value")))
        self._lines.append(("", path))
        for key in inner:
            self._read(members[key], (*path, key))


def _words(path: _Path) -> tuple[int | None, str]:
    """Return the number (from 1) of the cell that a path leads to, and a description of the part."""
    if path[:1] != ("cells",) or len(path) < 3:
        return None, "widget state" if "widgets" in path[:2] else "metadata"
    first = {"outputs": "output", "attachments": "attachment"}.get(str(path[2]), str(path[2]))
    names = [excerpt(name, _LONGEST_NAME) for name in path[3:] if isinstance(name, str) and name != "data"]
    return int(path[1]) + 1, " ".join([first, *names[: 1 + (first == "attachment")]])
