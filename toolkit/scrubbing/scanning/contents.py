"""Find the texts in a file: recognize what it is, open what it holds, and open what comes out in turn.

All work is counted in the file's budget, so that a small file which unpacks to an endless one costs little.
"""

from __future__ import annotations

import io
import json
import re
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from itertools import accumulate, chain
from operator import itemgetter
from typing import Final

from toolkit.core.errors import SecretLeak
from toolkit.core.json_lines import Path, lines_of_values
from toolkit.scrubbing import compression
from toolkit.scrubbing.compression import DECOMPRESSORS, Broken, NotInstalled, capped, inflated
from toolkit.scrubbing.scanning import archives
from toolkit.scrubbing.scanning.budget import ATTEMPT, Budget, TooMuchError
from toolkit.scrubbing.scanning.decompression import CountedStream, Decompress, Readable, decompressor_of, pieces_of
from toolkit.scrubbing.scanning.embedded import Embedded, embedded_in, shortened
from toolkit.scrubbing.scanning.file_text import FileText, TextPlace, own_lines
from toolkit.scrubbing.scanning.notebook_texts import NotebookText, is_notebook, texts_of_notebook
from toolkit.scrubbing.scanning.pictures import PNG, texts_of_png
from toolkit.scrubbing.scanning.slices import Slice, encoding_of, slices_of

_HEAD: Final = 1 << 16  # bytes that tell what a file is
_LARGEST: Final = 1 << 26  # bytes of an archive in an archive, or of a picture
_LARGEST_NOTEBOOK: Final = 1 << 25  # bytes; a larger one is read as text
_BINARY_SLICE: Final = 1 << 20  # bytes
_BEFORE: Final = 1 << 12  # bytes read again before a slice
_SHORT: Final = 1 << 12  # bytes
_RUN_COST: Final = 1 << 13  # bytes that opening a run of base64 costs at least
_UNREADABLE: Final = "\ufffd"
_TOO_MANY: Final = 20  # more than one unreadable character in so many: binary data
_LARGEST_BINARY: Final = 1 << 24  # bytes of a file of another format that is opened
_DEEPEST: Final = 6  # layers: a file in a folder's archive, a body in it, base64 in that, and so on
_IN_NOTEBOOKS: Final = (b'"cells"', b'"nbformat"', b'"worksheets"')
_KINDS: Final = bytes(1 if byte == 9 or 32 <= byte < 127 else 2 if byte else 0 for byte in range(256))
_RUN: Final = re.compile(b"\1" * 8 + b"\1*+")  # of printable bytes
_RUN_IN_UTF16: Final = re.compile(b"\1\0" * 8 + b"(?:\1\0)*+")
_COLOUR: Final = re.compile(r"\x1b\[[0-?]{0,40}+[ -/]{0,4}+[@-~]")
_FIELD: Final = "value of a password field"
_TOO_MUCH: Final = "it holds compressed or encoded data, too large or too deep to scan"


class Opener:
    """Opens one file.

    Args:
        size: bytes of the file, which decide the budget.

    Attributes:
        notes: what could not be opened, in words.
    """

    def __init__(self, size: int) -> None:
        self._budget = Budget(size)
        self.notes: list[str] = []

    def texts_in(self, stream: Readable) -> Iterator[FileText]:
        """Yield every text in the file."""
        try:
            yield from self._opened(stream, TextPlace(own_lines), 0)
        except TooMuchError:
            self._note(_TOO_MUCH)

    def _note(self, reason: str) -> None:
        if reason and reason not in self.notes:
            self.notes.append(reason)

    def _opened(self, stream: Readable, place: TextPlace, depth: int) -> Iterator[FileText]:
        if depth > _DEEPEST:
            self._note(_TOO_MUCH)
            return
        head = stream.read(_HEAD)
        decompress = decompressor_of(head)
        if decompress is not None:
            yield from self._decompressed(decompress, CountedStream(pieces_of(stream, head)), place, depth)
        elif archives.is_zip(head):
            file = archives.as_file(head, stream, _LARGEST)
            if file is None:
                self._note(_TOO_MUCH)
            elif archives.is_whole_zip(file):
                yield from self._members(archives.zip_members(file), place, depth)
            else:
                self._note("it is a zip archive that is broken or ends early")
                yield from self._binary(file, place, depth)
        elif archives.is_tar(head):
            yield from self._members(archives.tar_members(CountedStream(pieces_of(stream, head))), place, depth)
        elif head.startswith(PNG):
            yield from self._picture(head + stream.read(_LARGEST), place, depth)
        else:
            yield from self._read(head, stream, place, depth)

    def _decompressed(
        self, decompress: Decompress, packed: CountedStream, place: TextPlace, depth: int
    ) -> Iterator[FileText]:
        self._budget.spend(ATTEMPT)
        pieces = CountedStream(decompress(pieces_of(packed)), self._budget)
        yield from self._opened(pieces, place.inside("decompressed"), depth + 1)
        self._note(pieces.problem)

    def _members(self, members: Iterator[archives.Member | str], place: TextPlace, depth: int) -> Iterator[FileText]:
        for member in members:
            if isinstance(member, str):
                self._note(member)
                continue
            self._budget.spend(ATTEMPT)
            content = CountedStream(pieces_of(member.stream), self._budget)
            yield from self._opened(content, place.inside(member.name), depth + 1)
            self._note(content.problem)

    def _picture(self, data: bytes, place: TextPlace, depth: int) -> Iterator[FileText]:
        text = b"\n".join(texts_of_png(data, self._budget))
        yield from self._opened(io.BytesIO(text), place.inside("text of a picture"), depth + 1)

    def _read(self, head: bytes, stream: Readable, place: TextPlace, depth: int) -> Iterator[FileText]:
        whole = CountedStream(pieces_of(stream, head))
        encoding = encoding_of(head)
        if encoding is None:
            yield from self._binary(whole, place, depth)
            return
        if head.lstrip()[:1] == b"{" and any(map(head.__contains__, _IN_NOTEBOOKS)):
            data = whole.read(_LARGEST_NOTEBOOK + 1)
            text = data.decode(encoding, "replace")
            parts = _notebook_texts(text) if len(data) <= _LARGEST_NOTEBOOK else None
            if parts is not None:
                yield from self._notebook(text, parts, place, depth)
                return
            whole = CountedStream(pieces_of(whole, data))
        for part in slices_of(whole, encoding):
            if part.text.count(_UNREADABLE) * _TOO_MANY > len(part.text):  # binary data after a head of text
                runs = _printable_runs(part.text.encode("utf-8", "surrogatepass"))
                inner = place._replace(lines=_fixed(place, part.line))
                yield from self._text(Slice("", "\n".join(runs), "", 1), inner, depth)
            else:
                yield from self._text(part, _shifted(place, part.line - 1), depth)

    def _text(self, part: Slice, place: TextPlace, depth: int) -> Iterator[FileText]:
        """Yield a text, and what it holds in base64."""
        if "\x1b" in part.text:  # colours stand between a name and its value
            part = part._replace(text=_COLOUR.sub("", part.text))
        runs = list(embedded_in(part.text))
        start = len(part.before)
        own = shortened(part.text, runs)
        raw = part.before + part.text if start else part.text
        yield FileText(f"{part.before}{own}{part.after}", place, raw, start, start + len(own))
        line, position = part.before.count("\n") + 1, 0
        texts: list[tuple[int, str]] = []  # short ones are searched together, which is many times as fast
        for run in runs:
            line += part.text.count("\n", position, run.start)
            position = run.start
            self._budget.spend(len(run.data))
            if len(run.data) <= _SHORT and encoding_of(run.data) == "utf-8":
                texts.append((line, run.data.decode("utf-8", "replace")))
            elif run.data:
                self._budget.spend(_RUN_COST)
                yield from self._embedded(run, place.inside("base64", _fixed(place, line)), depth)
        if texts and depth < _DEEPEST:
            yield from self._text(_joined(texts), place.inside("base64", _lines_of(texts, place)), depth + 1)

    def _embedded(self, run: Embedded, place: TextPlace, depth: int) -> Iterator[FileText]:
        for text in self._opened(io.BytesIO(run.data), place, depth + 1):
            yield text._replace(place=text.place._replace(lines=place.lines))
        if run.is_marked and encoding_of(run.data[:_HEAD]) is None:
            for name, content in _without_header(run.data):
                yield from self._opened(io.BytesIO(content), place.inside(name, place.lines), depth + 1)

    def _notebook(self, text: str, parts: list[NotebookText], place: TextPlace, depth: int) -> Iterator[FileText]:
        lines = cache(lambda: lines_of_values(text))
        for part in parts:
            inner = TextPlace(_located(part, lines, place), part.cell, ", ".join(filter(None, (place.part, part.part))))
            if part.is_secret:
                yield FileText(part.text, inner, secret_kind=_FIELD)
            else:
                yield from self._text(Slice("", part.text, "", 1), inner, depth)

    def _binary(self, whole: Readable, place: TextPlace, depth: int) -> Iterator[FileText]:
        """Yield the printable runs of other data, and what it holds that is compressed."""
        place = place._replace(lines=_fixed(place, 1))
        data = whole.read(_LARGEST_BINARY + 1)
        before = b""
        for each in chain([data], iter(lambda: whole.read(_BINARY_SLICE), b"")):
            piece = before + each
            yield from self._text(Slice("", "\n".join(_printable_runs(piece)), "", 1), place, depth)
            yield FileText("", place, piece)
            before = piece[-_BEFORE:]
        if len(data) > _LARGEST_BINARY:
            return
        try:
            for member in compression.members_of(data, compression.DecodingBudget(0)):
                content = member.data
                self._budget.spend(len(content))
                inner = place.inside(member.name, place.lines)
                if depth < _DEEPEST or _is_known(content):
                    yield from self._opened(io.BytesIO(content), inner, depth + 1)
                else:  # in fonts and pictures, any bytes may look like compressed ones that look like compressed ones
                    yield from self._text(Slice("", "\n".join(_printable_runs(content)), "", 1), inner, depth + 1)
        except (TooMuchError, SecretLeak):
            self._note(_TOO_MUCH)


def _without_header(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield what compressed data without a magic number may hold, as it is in recordings of vcrpy."""
    for name, chunks in (("brotli", DECOMPRESSORS["br"](data)), ("deflate", inflated(data, -zlib.MAX_WBITS))):
        with suppress(Broken, NotInstalled, SecretLeak, zlib.error):
            yield name, capped(chunks, len(data))


def _is_known(data: bytes) -> bool:
    """Check whether some data is text, or begins like a compressed file, an archive or a picture."""
    head = data[:_HEAD]
    is_archive = archives.is_zip(head) or archives.is_tar(head) or head.startswith(PNG)
    return is_archive or decompressor_of(head) is not None or encoding_of(head) is not None


def _shifted(place: TextPlace, lines: int) -> TextPlace:
    return place._replace(lines=lambda line: place.lines(line + lines)) if lines else place


def _fixed(place: TextPlace, line: int) -> Callable[[int], int]:
    return lambda _: place.lines(line)


def _joined(texts: list[tuple[int, str]]) -> Slice:
    return Slice("", "\n\n".join(text for _, text in texts), "", 1)


def _lines_of(texts: list[tuple[int, str]], place: TextPlace) -> Callable[[int], int]:
    """Return what gives the line of the file for each line of texts that are joined, each given with its line."""
    starts = list(accumulate((text.count("\n") + 2 for _, text in texts), initial=1))
    return lambda line: place.lines(texts[min(bisect_right(starts, line), len(texts)) - 1][0])


def _located(part: NotebookText, lines: Callable[[], dict[Path, int]], place: TextPlace) -> Callable[[int], int]:
    """Return what gives the line of the file for each line of a notebook's text."""
    values = cache(lambda: [(first, path) for path, first in lines_of_values(part.text).items()])

    def line_of(line: int) -> int:
        path = part.path
        if part.starts:
            path = (*path, max(0, bisect_right(part.starts, line) - 1))
        elif part.is_json:
            path = (*path, *values()[bisect_right(values(), line, key=itemgetter(0)) - 1][1])
        known = lines()
        while path and path not in known:
            path = path[:-1]
        return place.lines(known.get(path, 1))

    return line_of


def _printable_runs(data: bytes) -> Iterator[str]:
    kinds = data.translate(_KINDS)
    for run in _RUN.finditer(kinds):
        yield data[run.start() : run.end()].decode("ascii")
    for run in _RUN_IN_UTF16.finditer(kinds):
        yield data[run.start() : run.end() : 2].decode("ascii")


def _notebook_texts(text: str) -> list[NotebookText] | None:
    """Return the texts of a notebook, or None if the text is something else."""
    try:
        document = json.loads(text)
        return list(texts_of_notebook(document)) if is_notebook(document) else None
    except (ValueError, RecursionError):
        return None
