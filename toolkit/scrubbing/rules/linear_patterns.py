r"""Regular expressions of users, which must not run long on any text: recordings hold text of strangers.

`re` tries every way in which a pattern can match before it gives up. `(a+)+b` has 2**n ways to match n letters, and
`\S+@\S+b` n ways. So `compile_linear` counts the ways: it builds the automaton of the pattern (Glushkov: a state for
each character of the pattern) and follows all texts at once. If more than a few ways are ever open at the same time,
the pattern is refused. The `toolkit.toml` of a cloned project can hold patterns too.

One way can still be long: `a[^"]*"` reads to the end of the text from every `a`. So an unlimited repetition gets a
limit, unless the match cannot fail any more, as in `key=(.*)`.

What the automaton leaves out only makes it stricter: anchors and look-around match anywhere, and an atomic group is
counted like a plain one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, Final, NamedTuple

from toolkit.core.errors import ConfigurationError

_MOST_WAYS: Final = 8  # open at the same time
_MOST_SETS_OF_WAYS: Final = 4000  # so that the check itself is quick
_MOST_STATES: Final = 400
_LARGEST_COUNT: Final = 32  # a repetition up to this often is written out; one that goes on is a loop
# Characters of all loops of a pattern together, unless it has limits of its own. A text has fewer places where a
# pattern can begin if the pattern begins with a few literal characters.
_REACH, _REACH_AFTER_LITERALS = 300, 2000
_FEW: Final = 3
_LEAST_REACH: Final = 64  # of one loop; loops within loops multiply theirs
_LONGEST_LIMIT: Final = 10_000
_LONGEST_REFERENCE: Final = 8  # characters
_ALL: Final = -1  # the set of all characters, as bits
_TOKEN: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]|\(\?|\{\d*,?\d*\}|.", re.DOTALL)
_QUANTIFIER: Final = re.compile(r"[*+?]|\{(?:\d+,?\d*|,\d*)\}")
_SETS: Final = (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY)
_CATEGORIES: Final = {
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
}
# Characters of each category within and beyond ASCII and Latin-1, and letters whose cases are peculiar.
_SAMPLES: Final = (
    "".join(map(chr, range(0x180)))
    + "\u0663\u2167\u6f22\u044f\u042f\u1e9e\u017f\u212a\u0130\u0131\u2003\u2028\u20ac\U0001f600\U0001d7d7\ud800"
)


class _RunsLongError(Exception):
    """The pattern could run long; the text says why."""


class _Part(NamedTuple):
    """The automaton of a part of a pattern. Sets of characters are bits.

    Attributes:
        first: states that it can begin with, and the characters with which it may.
        last: states that it can end with, and the characters that may come next.
        skipped: the characters that may come next if the part matches nothing; 0 if it cannot.
    """

    first: dict[int, int]
    last: dict[int, int]
    skipped: int


_NOTHING: Final = _Part({}, {}, _ALL)


class _Loop(NamedTuple):
    """An unlimited repetition: how many it is within, itself included, and its states."""

    depth: int
    states: set[int]


@cache
def compile_linear(text: str) -> re.Pattern[str]:
    """Return the compiled pattern, whose steps on any text grow in proportion to it.

    Raises:
        ConfigurationError: if it is not a regular expression, or could run long.
    """
    try:
        pattern = re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise ConfigurationError(
            f"{text!r} is not a regular expression: {error}.", "Use the syntax of Python's re module.", about="patterns"
        ) from None
    try:
        return re.compile(_limited(text, _Automaton(text, pattern.flags)))
    except (_RunsLongError, RecursionError) as error:
        raise ConfigurationError(
            f"The pattern {text!r} could run long on some texts: {error}.",
            'End each repetition where the next part begins, as in account[^"]*"(\\d+)", [^\\s@]+@[^\\s@]+ and '
            "(?:\\w+,)+, or give it a small limit, as in \\d{1,12}.",
            about="patterns",
        ) from None


class _Automaton:
    """The automaton of a whole pattern, checked.

    Attributes:
        loops: the unlimited repetitions, in the order in which they end, by the identity of what they repeat.
        safe: the states from which the match cannot fail any more.
        reach: the most characters that the pattern takes, where unlimited repetitions count once.
        begins_literally: True if it begins with a few literal characters.

    Raises:
        _RunsLongError: if too many ways are open at the same time.
    """

    def __init__(self, text: str, flags: int) -> None:
        tree = _parser.parse(text)
        self._characters = sorted({*map(ord, _SAMPLES), *_named(tree)})
        self._sets: dict[tuple[Any, int, int], int] = {}
        self._states: list[int] = []
        self._next: list[list[tuple[int, int]]] = []  # (a+)+ leads from a to a in two ways
        self._widths: dict[int, int] = {}
        self._depth = 0
        self._before_anchor = 0  # the states that an anchor or look-around comes after: a match can still fail there
        self.loops: dict[int, _Loop] = {}
        whole = self._sequence(tree, flags)
        self.reach = _reach(tree)
        self.begins_literally = _literals_first(tree) >= _FEW
        start = self._add(_ALL)
        self._connect({start: _ALL}, whole.first)
        self.safe = self._never_failing({state for state in whole.last if state >= self._before_anchor})
        self._count_ways(start)

    def _add(self, characters: int) -> int:
        if len(self._states) >= _MOST_STATES:
            raise _RunsLongError("it is too large to be checked")
        self._states.append(characters)
        self._next.append([])
        return len(self._states) - 1

    def _connect(self, last: dict[int, int], first: dict[int, int]) -> None:
        for before, allowed in last.items():
            for state, entered in first.items():
                if characters := allowed & entered & self._states[state]:
                    self._next[before].append((state, characters))

    def _sequence(self, items: Iterable[tuple[Any, Any]], flags: int) -> _Part:
        part = _NOTHING
        for operator, argument in items:
            part = self._joined(part, self._part(operator, argument, flags))
        return part

    def _joined(self, left: _Part, right: _Part) -> _Part:
        self._connect(left.last, right.first)
        first = _united(left.first, {state: allowed & left.skipped for state, allowed in right.first.items()})
        last = _united(right.last, {state: allowed & right.skipped for state, allowed in left.last.items()})
        return _Part(first, last, left.skipped & right.skipped)

    def _part(self, operator: Any, argument: Any, flags: int) -> _Part:
        if operator in _SETS:
            state = self._add(self._set(operator, argument, flags))
            return _Part({state: _ALL}, {state: _ALL}, 0)
        if operator is sre.SUBPATTERN:
            group, added, removed, items = argument
            self._widths[group] = items.getwidth()[1]
            return self._sequence(items, (flags | added) & ~removed)
        if operator is sre.ATOMIC_GROUP:
            return self._sequence(argument, flags)
        if operator is sre.BRANCH:
            return self._branches(argument[1], flags)
        if operator is sre.GROUPREF_EXISTS:
            return self._branches([argument[1], argument[2] or []], flags)
        if operator in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            least, most, items = argument
            return self._repeated(least, most, items, flags, is_possessive=operator is sre.POSSESSIVE_REPEAT)
        return self._empty(operator, argument, flags)

    def _empty(self, operator: Any, argument: Any, flags: int) -> _Part:
        """Return the automaton of a part that takes no characters, or none that the automaton counts."""
        self._before_anchor = len(self._states)
        if operator in (sre.ASSERT, sre.ASSERT_NOT):
            loops = len(self.loops)
            self._sequence(argument[1], flags)  # its states are not connected: they only have to be few
            if len(self.loops) > loops or self._is_long(argument[1]):
                raise _RunsLongError("what it looks ahead for has no small limit")
        elif operator is sre.GROUPREF and self._widths.get(argument, _REACH) > _LONGEST_REFERENCE:
            raise _RunsLongError("it refers back to a group without a small limit")
        elif operator not in (sre.AT, sre.GROUPREF):
            raise _RunsLongError("it has a part that cannot be checked")
        return _NOTHING

    @staticmethod
    def _is_long(items: Any) -> bool:
        return bool(items.getwidth()[1] > _LARGEST_COUNT)

    def _branches(self, branches: Sequence[Iterable[tuple[Any, Any]]], flags: int) -> _Part:
        parts = [self._sequence(items, flags) for items in branches]
        skipped = [part.skipped for part in parts if part.skipped]
        if len(skipped) > 1:
            raise _RunsLongError("several alternatives can be empty")
        first = _united(*(part.first for part in parts))
        return _Part(first, _united(*(part.last for part in parts)), skipped[0] if skipped else 0)

    def _repeated(self, least: int, most: int, items: Any, flags: int, *, is_possessive: bool) -> _Part:
        if most is not sre.MAXREPEAT and most > _LONGEST_LIMIT:
            raise _RunsLongError(f"a limit of more than {_LONGEST_LIMIT} is none")
        if most == 0:
            return _NOTHING
        begun = len(self._states)
        is_unlimited = most is sre.MAXREPEAT
        self._depth += is_unlimited
        copies = min(least, _LARGEST_COUNT) if least else 0
        is_loop = is_unlimited or most > _LARGEST_COUNT
        # A possessive repetition of one set takes all it can get, so another character must come next.
        operator, argument = items[0] if is_possessive and len(items) == 1 else (None, None)
        taken = self._set(operator, argument, flags) if operator in _SETS else 0
        part = _NOTHING
        for _ in range(copies):
            part = self._joined(part, self._item(items, flags))
        if is_loop:
            item = self._item(items, flags)
            self._connect(item.last, item.first)
            part = self._joined(part, _optional(item, taken))
        else:
            rest = _NOTHING
            for _ in range(most - copies):
                rest = _optional(self._joined(self._item(items, flags), rest), taken)
            part = self._joined(part, rest)
        if is_unlimited:
            loop = self.loops.setdefault(id(items), _Loop(self._depth, set()))
            loop.states.update(range(begun, len(self._states)))
            self._depth -= 1
        return part

    def _item(self, items: Any, flags: int) -> _Part:
        item = self._sequence(items, flags)
        if item.skipped:
            raise _RunsLongError("what it repeats can be empty")
        return item

    def _set(self, operator: Any, argument: Any, flags: int) -> int:
        key = operator, id(argument), flags  # the tree keeps the arguments alive
        if key not in self._sets:
            accepted = (_accepts(operator, argument, code, flags) for code in self._characters)
            self._sets[key] = sum(1 << place for place, is_accepted in enumerate(accepted) if is_accepted)
        return self._sets[key]

    def _never_failing(self, last: set[int]) -> set[int]:
        """Return the states that only lead to states with which the pattern can end, and can end with themselves."""
        safe = set(last)
        while unsafe := {state for state in safe if any(other not in safe for other, _ in self._next[state])}:
            safe -= unsafe
        return safe

    def _count_ways(self, start: int) -> None:
        """Follow all texts at once: a set of ways is the states that are reached, and in how many ways each.

        Raises:
            _RunsLongError: if too many ways are open at the same time.
        """
        edges = {characters for following in self._next for _, characters in following}
        samples = {tuple(bits >> place & 1 for bits in edges): place for place in range(len(self._characters))}
        pending: list[tuple[tuple[int, int], ...]] = [((start, 1),)]
        seen = set(pending)
        while pending:
            ways = pending.pop()
            for place in samples.values():
                reached: dict[int, int] = {}
                for state, count in ways:
                    for following, characters in self._next[state]:
                        if characters >> place & 1 and following not in self.safe:
                            reached[following] = reached.get(following, 0) + count
                if sum(reached.values()) > _MOST_WAYS:
                    raise _RunsLongError("the same characters fit several of its repetitions or alternatives")
                key = tuple(sorted(reached.items()))
                if key and key not in seen:
                    seen.add(key)
                    pending.append(key)
            if len(seen) > _MOST_SETS_OF_WAYS:
                raise _RunsLongError("it is too involved to be checked")


def _reach(items: Any) -> int:
    """Return the most characters that a part takes, if its unlimited repetitions repeat once."""
    reach = 0
    for operator, argument in items:
        if operator in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            least, most, repeated = argument
            reach += _reach(repeated) * (max(least, 1) if most is sre.MAXREPEAT else most)
        elif operator is sre.SUBPATTERN:
            reach += _reach(argument[-1])
        elif operator is sre.ATOMIC_GROUP:
            reach += _reach(argument)
        elif operator is sre.BRANCH:
            reach += max(map(_reach, argument[1]))
        else:
            reach += 1
    return reach


def _literals_first(items: Any) -> int:
    """Return the number of literal characters that a parsed pattern begins with."""
    count = 0
    for operator, argument in items:
        if operator is sre.SUBPATTERN:
            return count + _literals_first(argument[-1])
        if operator is sre.LITERAL:
            count += 1
        elif operator is not sre.AT:
            break
    return count


def _optional(part: _Part, taken: int) -> _Part:
    """Return a part that may be left out; if it is possessive, only where none of its characters comes next."""
    last = {state: allowed & ~taken for state, allowed in part.last.items()}
    return _Part(part.first, last, _ALL & ~taken)


def _united(*sides: dict[int, int]) -> dict[int, int]:
    united: dict[int, int] = {}
    for side in sides:
        for state, characters in side.items():
            if characters:
                united[state] = united.get(state, 0) | characters
    return united


def _named(items: Any) -> Iterator[int]:
    """Yield the characters that a pattern names, in each case, and their neighbours."""
    if isinstance(items, int) and not isinstance(items, bool) and 0 <= items < 0x110000:
        cased = {other for text in (chr(items).lower(), chr(items).upper()) for other in map(ord, text)}
        yield from (code for code in (*cased, items - 1, items, items + 1) if 0 <= code < 0x110000)
    elif isinstance(items, list | tuple | _parser.SubPattern):
        for item in items:
            yield from _named(item)


def _accepts(operator: Any, argument: Any, code: int, flags: int) -> bool:
    """Check whether a set of the parsed pattern has a character."""
    if operator is sre.ANY:
        return code != ord("\n") or bool(flags & re.DOTALL)
    if operator is sre.NOT_LITERAL:
        return not _accepts(sre.LITERAL, argument, code, flags)
    cases = _cases(code) if flags & re.IGNORECASE else (code,)
    if operator is sre.LITERAL:
        return argument in cases
    negated, found = False, False
    for kind, value in argument:
        if kind is sre.NEGATE:
            negated = True
        elif kind is sre.LITERAL:
            found = found or value in cases
        elif kind is sre.RANGE:
            found = found or any(value[0] <= case <= value[1] for case in cases)
        elif kind is sre.CATEGORY and value in _CATEGORIES:
            found = found or bool(re.match(_CATEGORIES[value], chr(code), flags & re.ASCII))
        else:
            raise _RunsLongError("it has a part that cannot be checked")
    return found is not negated


@cache
def _cases(code: int) -> tuple[int, ...]:
    """Return a character in each case; `re` also takes a few characters as equal whose lower-case forms differ."""
    text = chr(code)
    forms = {text, text.lower(), text.upper(), text.upper().lower(), text.casefold(), text.lower().upper()}
    return tuple(ord(form) for form in forms if len(form) == 1)


def _limited(text: str, automaton: _Automaton) -> str:
    """Return a pattern with a limit for each unlimited repetition after which a match can fail."""
    loops = [*automaton.loops.values()]
    if automaton.reach > _LONGEST_LIMIT:
        raise _RunsLongError(f"its limits let it reach over more than {_LONGEST_LIMIT} characters")
    if all(automaton.safe.issuperset(loop.states) for loop in loops):
        return text
    together = _REACH_AFTER_LITERALS if automaton.begins_literally else _REACH
    reach = max(_LEAST_REACH, int((together // len(loops)) ** (1 / max(loop.depth for loop in loops))))
    tokens = _TOKEN.findall(text)
    unlimited = _unlimited(tokens)
    # The parser merges what alternatives have in common; then no repetition is left without a limit.
    in_order = loops if len(loops) == len(unlimited) else [None] * len(unlimited)
    for (place, least), loop in zip(unlimited.items(), in_order, strict=True):
        if loop is None or not automaton.safe.issuperset(loop.states):
            tokens[place] = f"{{{least},{max(least, reach)}}}"
    return "".join(tokens)


def _unlimited(tokens: list[str]) -> dict[int, int]:
    """Return the places of unlimited quantifiers, and how often they repeat at least."""
    found: dict[int, int] = {}
    is_after_quantifier = False
    for place, token in enumerate(tokens):
        if is_after_quantifier or not _QUANTIFIER.fullmatch(token):  # a question mark or plus after a quantifier is one
            is_after_quantifier = False
            continue
        is_after_quantifier = True
        if token[-1] in "*+" or token.endswith(",}"):
            found[place] = int(token[1:-2] or 0) if token[0] == "{" else int(token[0] == "+")
    return found
