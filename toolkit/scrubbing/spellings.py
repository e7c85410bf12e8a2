"""A search for known secrets in every spelling: in any code (`codes`), behind any escapes (`escapes`).

1. The escapes of the text are undone level by level; the text itself is the first level.
2. The normal form of each level is looked up in an index of windows (`window_index`), which holds some bytes of each
   pattern of each secret. So the time depends on the text, not on the number or the length of the secrets.
3. Where a window matches, the whole pattern is compared, and its position leads back to the span of the text itself.

The time is linear in the length of the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from toolkit.core.secret import SHORTEST_SECRET, Secret
from toolkit.scrubbing.codes import CodePattern, patterns_of
from toolkit.scrubbing.escapes import Level, levels
from toolkit.scrubbing.normal_form import LOOSE, cased_form, exact_form, exact_positions, normal_form, normal_positions
from toolkit.scrubbing.pem import parts_of_keys
from toolkit.scrubbing.short_secrets import ShortSecrets
from toolkit.scrubbing.window_index import STEP, WIDE, WIDTH, WindowIndex, group_at

_MOST_KEPT: Final = 1 << 20  # characters of secrets whose patterns are kept after a match
_VARIED: Final = 3  # different bytes; windows of fewer may be in a text by chance, and often
_SHORTEST_EXACT: Final = 4  # bytes
_IN_BASE64: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
_LINE_ENDS: Final = frozenset(b"\r\n\0")
_SPACE, _PLUS, _BACKSLASH, _APOSTROPHE = b" +\\'"


class Spelling(NamedTuple):
    """A secret in a text.

    Attributes:
        secret: the secret.
        length: characters of the text that was looked for; longer texts are replaced first.
        start, end: the span in the text itself, with whole escapes.
        form: how the secret is written, for messages.
    """

    secret: Secret
    length: int
    start: int
    end: int
    form: str


class _Entry(NamedTuple):
    """A text to look for; a PEM key has several."""

    secret: Secret
    text: Secret
    fewer: bool
    plain_only: bool

    def patterns(self) -> list[CodePattern]:
        return patterns_of(self.text.reveal(), fewer=self.fewer, plain_only=self.plain_only)


class Searcher:
    """Secrets to look for. Adding is safe while another thread searches."""

    def __init__(self) -> None:
        self._entries: list[_Entry] = []
        self._wide: WindowIndex[tuple[int, ...]] = WindowIndex(WIDE)
        self._narrow: WindowIndex[tuple[int, ...]] = WindowIndex(WIDTH)
        self._owners: list[tuple[int, int, int]] = []  # number of the entry and of its pattern, and the window's place
        self._without_windows: list[tuple[int, CodePattern]] = []  # for too few letters and digits
        self._short = ShortSecrets()
        self._kept: dict[int, list[CodePattern]] = {}
        self._kept_length = 0

    def __bool__(self) -> bool:
        return bool(self._entries or self._short)

    def add(self, secret: Secret, *, fewer: bool = False) -> None:
        """Add a secret to look for, in all codes or, of secrets that come in thousands, in fewer."""
        text = secret.reveal()
        if len(text) < SHORTEST_SECRET:
            self._short.add(secret)
            return
        self._enter(_Entry(secret, secret, fewer, plain_only=False))
        for other, plain_only in parts_of_keys(text):
            self._enter(_Entry(secret, other, fewer=False, plain_only=plain_only))

    def _enter(self, entry: _Entry) -> None:
        number = len(self._entries)
        self._entries.append(entry)  # first, because another thread may search at any time
        for order, pattern in enumerate(self._patterns(number)):
            normal = pattern.normal
            index = self._wide if len(normal) >= WIDE + STEP - 1 else self._narrow
            width = WIDE if index is self._wide else WIDTH
            if len(normal) < width + STEP - 1:
                self._without_windows.append((number, pattern))
                continue
            at = _window_place(normal, width)
            owner = len(self._owners)
            self._owners.append((number, order, at))
            for step in range(STEP):
                window = group_at(normal, at + step, width)
                others = index.get(window)
                if others is None:
                    index.put(window, (owner,))
                elif owner not in others:
                    index.put(window, (*others, owner))

    def may_hold(self, data: bytes) -> bool:
        """Check quickly whether `data` may hold a secret; False means that it does not."""
        if not self:
            return False
        for level in levels(data, letters_only=not (self._without_windows or self._short)):
            normal = normal_form(level.data)
            if self._wide.may_match(normal) or self._narrow.may_match(normal):
                return True
            if any(True for _ in self._without_windows_in(level)) or any(
                True for _ in self._short.places_in(level.data)
            ):
                return True
        return False

    def spellings_in(self, data: bytes) -> Iterator[Spelling]:
        """Yield each place where a secret stands in `data`; places may overlap."""
        if not self.may_hold(data):
            return
        for level in levels(data):
            yield from self._windows_in(level)
            yield from self._without_windows_in(level)
            for secret, start, end in self._short.places_in(level.data):
                yield Spelling(secret, end - start, *level.origin(start, end), "where a credential stands")

    def _windows_in(self, level: Level) -> Iterator[Spelling]:
        normal = normal_form(level.data)
        positions = None
        done: dict[int, int] = {}  # a window that repeats within a pattern matches again
        for index in (self._wide, self._narrow):
            for at, owners in index.matches_in(normal):
                for owner in owners:
                    number, order, place = self._owners[owner]
                    if at < done.get(owner, 0):
                        continue
                    pattern = self._patterns(number)[order]
                    for start in range(at - place - STEP + 1, at - place + 1):
                        if start >= 0 and normal.startswith(pattern.normal, start):
                            if positions is None:
                                positions = normal_positions(level.data)
                            end = start + len(pattern.normal)
                            span = _span(level.data, int(positions[start]), int(positions[end - 1]) + 1, pattern)
                            if span is not None:
                                done[owner] = end
                                yield self._spelling(number, pattern, level, span)
                                break

    def _without_windows_in(self, level: Level) -> Iterator[Spelling]:
        """Yield secrets with too few letters and digits for a window; each is searched for by itself."""
        exact = exact_form(level.data) if self._without_windows else b""
        positions = None
        for number, pattern in self._without_windows:
            wanted = exact_form(pattern.literal)
            is_exact = len(wanted) >= _SHORTEST_EXACT  # a secret of quotes and backslashes has nothing else
            data, wanted = (exact, wanted) if is_exact else (level.data, pattern.literal)
            start = data.find(wanted)
            while start >= 0:
                end = start + len(wanted)
                span = start, end
                if is_exact:
                    positions = exact_positions(level.data) if positions is None else positions
                    span = int(positions[start]), int(positions[end - 1]) + 1
                    span = _with_loose_ends(level.data, *span, pattern.literal)
                yield self._spelling(number, pattern, level, span)
                start = data.find(wanted, end)

    def _patterns(self, number: int) -> list[CodePattern]:
        patterns = self._kept.get(number)
        if patterns is None:
            patterns = self._entries[number].patterns()
            self._kept_length += len(patterns[0].literal)
            if self._kept_length > _MOST_KEPT:
                self._kept, self._kept_length = {}, len(patterns[0].literal)
            self._kept[number] = patterns
        return patterns

    def _spelling(self, number: int, pattern: CodePattern, level: Level, span: tuple[int, int]) -> Spelling:
        entry = self._entries[number]
        form = pattern.form
        if form == "as it is" and level.outer is not None:
            form = "percent-encoded or escaped"
        return Spelling(entry.secret, len(entry.text.reveal()), *level.origin(*span), form)


def _window_place(normal: bytes, width: int) -> int:
    """Return where the windows of a pattern begin: where its bytes vary, and late, since many tokens begin alike."""
    last, extent = len(normal) - width - STEP + 1, width + STEP - 1
    for share in (7, 6, 5, 3, 0):
        place = min(last, len(normal) * share // 8)
        if len(set(normal[place : place + extent])) > _VARIED:
            return place
    return min(last, len(normal) * 7 // 8)


def _span(data: bytes, start: int, end: int, pattern: CodePattern) -> tuple[int, int] | None:
    """Return the span of a secret around its letters and digits, or None if these are not the secret."""
    if pattern.exact is not None and exact_form(data[start:end]) != pattern.exact:
        return None
    if pattern.cased is not None and cased_form(data[start:end]) != pattern.cased:
        return None
    before, after = pattern.margins
    if before or after:
        first, last = _beyond(data, start, before[::-1], -1), _beyond(data, end, after, 1)
        if pattern.exact is not None and (first is None or last is None):
            return None
        return start if first is None else first, end if last is None else last
    if pattern.more != (0, 0) or "base" in pattern.form:
        start = _beyond_base64(data, start, pattern.more[0], -1)
        end = _beyond_base64(data, end, pattern.more[1], 1)
        for _ in range(2):
            end += data[end : end + 1] == b"="
    return start, end


def _with_loose_ends(data: bytes, start: int, end: int, literal: bytes) -> tuple[int, int]:
    """Return a span with the quotes and the like that the literal has at its ends."""
    before = literal[: len(literal) - len(literal.lstrip(LOOSE))]
    after = literal[len(literal.rstrip(LOOSE)) :]
    first, last = _beyond(data, start, before[::-1], -1), _beyond(data, end, after, 1)
    return start if first is None else first, end if last is None else last


def _beyond(data: bytes, at: int, characters: bytes, step: int) -> int | None:
    """Return the position beyond these characters, or None if others stand there."""
    ignored = _LINE_ENDS
    for character in characters:
        while 0 <= (seen := at if step > 0 else at - 1) < len(data) and data[seen] in ignored - {character}:
            at += step
        ignored = _LINE_ENDS | {_APOSTROPHE} if character == _APOSTROPHE else _LINE_ENDS  # YAML doubles it
        beside = data[seen] if 0 <= seen < len(data) else None
        if beside == character or (character == _SPACE and beside == _PLUS):
            at += step
        elif character != _BACKSLASH:  # a backslash may be gone: it looks like an escape of the next character
            return None
    return at


def _beyond_base64(data: bytes, at: int, count: int, step: int) -> int:
    """Return the position beyond this number of base64 characters, or beyond fewer if others follow."""
    while count and 0 <= (seen := at if step > 0 else at - 1) < len(data):
        if data[seen] in _IN_BASE64:
            count -= 1
        elif data[seen] not in _LINE_ENDS:
            break
        at += step
    return at
