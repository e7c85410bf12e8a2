"""Replace values in texts and in Python code, in the forms in which people write them.

A value from a recording is written in many ways: an account number in groups of digits, a name in capitals or with the
family name first, both in the name of a variable. A text is therefore read as words, and a value is found wherever its
letters and digits stand in consecutive words, in any case and with or without accents. A short value is found as a
whole word only, as it is; in a script without capitals, such as Japanese, words have no gaps, so it is found anywhere.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

_WORD: Final = re.compile(r"[^\W_]++(?:[\u0300-\u036f]++[^\W_]*+)*+")  # accents may stand as characters of their own
_LONG: Final = 8  # letters and digits; a shorter value is compared as it is written
_WIDEST_GAP: Final = 3  # characters between the words of one value
_MOST_WORDS: Final = 40  # of one value: digits apart
_LEADING_SIGNS: Final = "+(\\&%"  # of phone numbers, and of letters that are written by their numbers
_NOT_IN_NAMES: Final = re.compile(r"\W+")
_MAGIC: Final = re.compile(r"^(\s*)([%!?])", re.MULTILINE)
_TEXT_TOKENS: Final = frozenset(
    {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
)


class _Match(NamedTuple):
    start: int
    end: int
    replacement: str


class Replacements:
    """Values, each with what replaces it.

    Args:
        values: the values with their replacements. Values of eight letters and digits or more are found in any case and
            with other separators, shorter ones as whole words.
        parts: parts of names, in normal form, with their replacements. They are found in any case in the names of
            Python code, and in texts of code that are nothing else.
        scrub: replaces the longer values in encoded forms, such as base64, too.
    """

    def __init__(
        self, values: Mapping[str, str], *, parts: Mapping[str, str] | None = None, scrub: Callable[[str], str] = str
    ) -> None:
        self._scrub = scrub
        self._parts = dict(parts or {})
        self._loose: dict[str, tuple[str, str]] = {}  # the sign before the first word, and the replacement
        self._exact: dict[str, str] = {}
        self._longest = 0
        unspaced: dict[str, str] = {}
        for value, replacement in values.items():
            normal = normal_text(value)
            if not normal or value == replacement:
                continue
            if len(normal) >= _LONG:
                sign = value[0] if value[0] in _LEADING_SIGNS else ""
                self._loose.setdefault(normal, (sign, replacement))
            elif is_unspaced(normal):
                unspaced["".join(words_of(value))] = replacement
            else:
                self._exact[without_accents(value)] = replacement
            self._longest = max(self._longest, len(normal))
        self._exact_normals = {normal_text(value) for value in self._exact}
        self._unspaced = unspaced
        by_length = sorted(unspaced, key=len, reverse=True)
        self._unspaced_pattern = re.compile("|".join(r"\W?".join(map(re.escape, value)) for value in by_length))

    def __len__(self) -> int:
        return len(self._loose) + len(self._exact) + len(self._unspaced)

    def __repr__(self) -> str:
        return f"<Replacements: {len(self)}>"

    def holds(self, text: str) -> bool:
        """Check whether a text holds a value."""
        return (
            bool(self._unspaced and self._unspaced_pattern.search(text)) or next(self._matches(text), None) is not None
        )

    def text(self, text: str) -> str:
        """Return a text with all values replaced."""
        text = self._scrub(text)
        if self._unspaced:
            text = self._unspaced_pattern.sub(lambda match: self._unspaced["".join(words_of(match[0]))], text)
        return _spliced(text, self._matches(text))

    def source(self, source: str) -> str:
        """Return Python code of a notebook with the values in its texts, comments, numbers and names replaced.

        A short value is not replaced in a name. What replaces a number is a text if it is not a number itself.
        """
        try:
            tokens = list(_tokens(source))
        except (tokenize.TokenError, SyntaxError, IndexError):  # not Python: the language of a cell magic, say
            return self.text(source)
        changes = []
        for kind, start, end in tokens:
            written = source[start:end]
            changed = self._token(kind, written)
            if changed != written:
                changes.append(_Match(start, end, changed))
        return self._scrub(_spliced(source, changes))

    def _expression(self, written: str) -> str:
        """Return an expression of a formatted string; with a format that is not Python, names in it are replaced."""
        try:
            list(_tokens(written))
        except (tokenize.TokenError, SyntaxError, IndexError):
            return self._name(written)
        return self.source(written)

    def _name(self, written: str) -> str:
        return _spliced(
            written, ((start, end, _as_name(new)) for start, end, new in self._matches(written, short=False))
        )

    def _token(self, kind: int, written: str) -> str:
        if kind == tokenize.STRING and "f" in written[:2].lower():  # one token before Python 3.12
            return "".join(
                self._expression(piece) if is_code else self.text(piece)
                for piece, is_code in _pieces_of_f_string(written)
            )
        if kind in _TEXT_TOKENS:
            words = words_of(written)
            is_part = kind == tokenize.STRING and len(words) == 1 and _folded(words[0]) in self._parts
            return self._name(written) if is_part else self.text(written)
        if kind == tokenize.NUMBER:
            changed = self.text(written)
            return changed if changed == written or changed.isdecimal() else repr(changed)
        return self._name(written)

    def _matches(self, text: str, *, short: bool = True) -> Iterator[_Match]:
        """Yield the longest values from left to right, without overlaps."""
        words = [(match.start(), match.end(), _folded(match[0])) for match in _WORD.finditer(text)]
        number = 0
        while number < len(words):
            best, following = None, number + 1
            for last, normal in self._runs(text, words, number):
                start, end = words[number][0], words[last][1]
                sign, replacement = self._loose.get(normal, ("", None))
                while sign and text[start - 1 : start] == sign:
                    start -= 1
                    sign = sign if sign == "\\" else ""  # that of JSON within JSON is escaped itself
                if replacement is None and short and normal in self._exact_normals:
                    start, end, replacement = self._exact_at(text, start, end)
                elif replacement is None and not short and last == number and normal in self._parts:
                    replacement = in_case_of(text[start:end], self._parts[normal])
                if replacement is not None:
                    best, following = _Match(start, end, _as_written(text[start:end], replacement)), last + 1
            if best is not None:
                yield best
            number = following

    def _runs(self, text: str, words: list[tuple[int, int, str]], number: int) -> Iterator[tuple[int, str]]:
        """Yield last word and normal form of each run of words that begins at a word and may be as long as a value."""
        normal = ""
        for last in range(number, min(len(words), number + _MOST_WORDS)):
            if last > number:
                gap = text[words[last - 1][1] : words[last][0]]
                if len(gap) > _WIDEST_GAP or "\n\n" in gap:
                    return
            normal += words[last][2]
            if len(normal) > self._longest:
                return
            yield last, normal

    def _exact_at(self, text: str, start: int, end: int) -> tuple[int, int, str | None]:
        written = without_accents(text[start:end])
        if written in self._exact:
            return start, end, self._exact[written]
        # The value may begin or end with signs, as "+41" does.
        for value, replacement in self._exact.items() if normal_text(written) in self._exact_normals else ():
            offset = value.find(written)
            if offset >= 0 and text[max(0, start - offset) : start - offset + len(value)] == value:
                return start - offset, start - offset + len(value), replacement
        return start, end, None


def normal_text(text: str) -> str:
    """Return the letters and digits of a text, in the form in which texts are compared."""
    return _folded("".join(_WORD.findall(text)))


def without_accents(text: str) -> str:
    """Return a text with its letters as they are without accents."""
    if text.isascii():
        return text
    return "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))


def is_unspaced(normal: str) -> bool:
    """Check whether a text is of letters that have no capitals, such as Chinese or Japanese ones."""
    return len(normal) > 1 and normal.isalpha() and not normal.isascii() and normal.upper() == normal.lower()


def in_case_of(written: str, replacement: str) -> str:
    """Return a replacement in small letters or capitals if the text in its place is."""
    if written.islower():
        return replacement.lower()
    return replacement.upper() if written.isupper() else replacement


def words_of(text: str) -> list[str]:
    """Return the words of a text: its runs of letters and digits."""
    return _WORD.findall(text)


def ordinary_names(sources: Iterable[str]) -> set[str]:
    """Return the words, folded, in names that Python code does not bind itself.

    Names of attributes, arguments and modules belong to others; a variable can have another name.
    """
    bound: set[str] = set()
    used: set[str] = set()
    foreign: set[str] = set()
    for source in sources:
        try:
            tree = ast.parse(_without_magics(source))
        except (SyntaxError, ValueError, RecursionError):
            foreign.update(words_of(source) if not _MAGIC.match(source) else ())
            continue
        for node in ast.walk(tree):
            match node:
                case ast.Name(id=name, ctx=ast.Load()):
                    used.add(name)
                case ast.Name(id=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    bound.add(name)
                case ast.ClassDef(name=name) | ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                    bound.add(name)
                case ast.Attribute(attr=name) | ast.keyword(arg=str(name)) | ast.ImportFrom(module=str(name)):
                    foreign.add(name)
                case ast.alias(name=name, asname=other):
                    foreign.add(name)
                    bound.update([other] if other else [])
    return {_folded(word) for name in foreign | (used - bound) for word in words_of(name)}


def _spliced(text: str, matches: Iterable[tuple[int, int, str]]) -> str:
    pieces, done = [], 0
    for start, end, replacement in matches:
        pieces += [text[done:start], replacement]
        done = end
    return "".join((*pieces, text[done:])) if pieces else text


def _as_written(written: str, replacement: str) -> str:
    """Return a replacement with the separators of the text in its place, if both have as many words."""
    words = _WORD.findall(replacement)
    if replacement.startswith("<") or len(words) != len(_WORD.findall(written)):
        return replacement
    gaps = _WORD.split(written)
    return "".join(part for pair in zip(gaps, [*words, ""], strict=True) for part in pair)


def _pieces_of_f_string(written: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a formatted string: its text, and the expressions in it, for which the flag is True."""
    start, depth = 0, 0
    for match in re.finditer(r"\{\{|\}\}|[{}]", written):
        brace = match[0]
        if len(brace) == 2 and not depth:
            continue
        for sign in brace:
            depth = depth + 1 if sign == "{" else max(0, depth - 1)
        if (brace == "{" and depth == 1) or (brace[0] == "}" and not depth):
            at = match.end() if brace == "{" else match.start()
            yield written[start:at], brace != "{"
            start = at
    yield written[start:], False


def _folded(text: str) -> str:
    return without_accents(text).casefold()


def _without_magics(source: str) -> str:
    return _MAGIC.sub(r"\1#", source)


def _as_name(text: str) -> str:
    """Return a replacement that may stand within a name of Python code."""
    return _NOT_IN_NAMES.sub("_", text).strip("_")


def _tokens(source: str) -> Iterator[tuple[int, int, int]]:
    """Yield kind, start and end of the tokens that may hold a value. Magics count as comments.

    Raises:
        SyntaxError, tokenize.TokenError, IndexError: if this is not Python.
    """
    code = _without_magics(source)
    starts = [0]
    for line in code.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    wanted = {*_TEXT_TOKENS, tokenize.NUMBER, tokenize.NAME}
    for token in tokenize.generate_tokens(io.StringIO(code, newline="\n").readline):
        if token.type == tokenize.ERRORTOKEN and token.string[:1] in ("'", '"'):
            raise SyntaxError("a text is not closed")
        if token.type in wanted:
            (row, column), (last_row, last_column) = token.start, token.end
            yield token.type, starts[row - 1] + column, starts[last_row - 1] + last_column
