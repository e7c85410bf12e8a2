"""Upper bounds of the ways and steps that `re` needs to try a pattern at one place of a text.

The next character usually says whether a repetition goes on, and which alternative comes. Then there is one way. Where
it does not, each choice is another way, and ways multiply.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from re._compiler import _combine_flags  # type: ignore[import-not-found]
from re._compiler import compile as compile_tree
from typing import Any, Final, NamedTuple

MOST_STEPS: Final = 8_000
LOOK_AHEAD: Final = 32  # characters
SETS: Final = (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY)
LOOPS: Final = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
_LIMIT_IN_LOOPS: Final = 32  # for a repetition within another one, and for that one
TOO_MANY: Final = "the same characters fit several of its repetitions or alternatives, or it is too long"
_LONGEST_REFERENCE: Final = 8  # characters
_LARGEST_CODE: Final = 0xFFFF
# Beyond it, characters differ only in being digits, other word characters or neither, because patterns name none.
_CHARACTERS: Final = "\U0001d7d7\U00010400\U0001f600"
_Characters = frozenset[str]
_NONE: Final[_Characters] = frozenset()


def steps_of(tree: Any, limit: int, leading: Any) -> int:
    """Return an upper bound of the steps from one place, and set limits in a parsed pattern.

    Args:
        tree: the parsed pattern.
        limit: the characters of an unlimited repetition after which the match can still fail.
        leading: the content of the repetition that is tried once for each run, or None.

    Raises:
        PatternRunsLongError: if the bound is high, or the steps cannot be counted.
    """
    if any(code > _LARGEST_CODE for code in _numbers(tree)):
        raise PatternRunsLongError("it names a character beyond U+FFFF")
    end = RestOfPattern(_NONE, is_tried_again=False, can_fail=False)
    return StepCounter(tree, limit, leading).sequence(tree, tree.state.flags, end).steps


class PatternRunsLongError(Exception):
    """The pattern could run long; the text says why."""


class RestOfPattern(NamedTuple):
    """The rest of a pattern, after a part of it.

    Attributes:
        characters: those that may come next.
        is_tried_again: True if the part is matched in another way when the rest fails.
        can_fail: True if the match of the whole pattern can still fail.
    """

    characters: _Characters
    is_tried_again: bool
    can_fail: bool


class _Cost(NamedTuple):
    """Upper bounds of the ways in which a part can match from one place, and of the steps to try them all."""

    ways: int
    steps: int


class _Start(NamedTuple):
    """The characters that a part may begin with, and whether it can match without taking any."""

    characters: _Characters
    can_be_empty: bool


class StepCounter:
    """Counts ways and steps in a tree, and sets limits in it."""

    def __init__(self, tree: Any, limit: int, leading: Any) -> None:
        self._limit = limit
        self._leading = leading
        self._depth = 0  # unlimited repetitions around the part
        groups = (argument for operator, argument in _parts(tree) if operator is sre.SUBPATTERN)
        self._widths = {group: items.getwidth()[1] for group, _, _, items in groups}
        self._starts: dict[int, _Start] = {}

    @property
    def _every(self) -> _Characters:
        return _characters(sre.ANY, None, re.DOTALL)

    def sequence(self, items: Any, flags: int, rest: RestOfPattern) -> _Cost:
        """Return the cost of a parsed pattern, or of a part."""
        costs = []
        for place in reversed(range(len(items))):
            operator, argument = items[place]
            if operator in LOOPS and self._needs_limit(argument, rest):
                argument = argument[0], max(argument[0], self._limit_of(argument[2])), argument[2]
                items[place] = operator, argument
            costs.append(self._part(operator, argument, flags, rest))
            rest = self._rest_before(operator, argument, flags, rest)
        ways, steps = 1, 0
        for cost in reversed(costs):
            steps += ways * cost.steps
            ways *= cost.ways
            if steps > MOST_STEPS or ways > MOST_STEPS:
                raise PatternRunsLongError(TOO_MANY)
        return _Cost(ways, steps)

    def _part(self, operator: Any, argument: Any, flags: int, rest: RestOfPattern) -> _Cost:
        if operator in SETS or operator is sre.AT:
            return _Cost(1, 1)
        if operator is sre.SUBPATTERN:
            _, added, removed, items = argument
            return self.sequence(items, _combine_flags(flags, added, removed), rest)
        if operator is sre.ATOMIC_GROUP:
            return _Cost(1, self.sequence(argument, flags, rest._replace(is_tried_again=False, can_fail=True)).steps)
        if operator is sre.BRANCH:
            return self._branches(argument[1], flags, rest)
        if operator is sre.GROUPREF_EXISTS:
            return self._branches([argument[1], argument[2] or []], flags, rest)
        if operator in LOOPS:
            return self._loop(operator, argument, flags, rest)
        return self._check(operator, argument)

    def _check(self, operator: Any, argument: Any) -> _Cost:
        """Return the cost of a part that takes no characters, or repeats a group."""
        if operator is sre.GROUPREF:
            width = self._widths[argument]
            if width > _LONGEST_REFERENCE:
                raise PatternRunsLongError("it refers back to a group without a small limit")
            return _Cost(1, 1 + width)
        if operator not in (sre.ASSERT, sre.ASSERT_NOT):
            raise PatternRunsLongError("it has a part that cannot be checked")
        if argument[1].getwidth()[1] > LOOK_AHEAD or _has_loop(argument[1]):
            raise PatternRunsLongError("what it looks ahead for has no small limit")
        rest = RestOfPattern(self._every, is_tried_again=False, can_fail=True)
        return _Cost(1, self.sequence(argument[1], 0, rest).steps)

    def _branches(self, branches: Sequence[Any], flags: int, rest: RestOfPattern) -> _Cost:
        costs = [self.sequence(items, flags, rest) for items in branches]
        seen = _NONE
        is_certain = True
        for items in branches:
            start = self._start(items, flags)
            characters = start.characters | (rest.characters if start.can_be_empty else _NONE)
            is_certain = is_certain and seen.isdisjoint(characters) and not (start.can_be_empty and not characters)
            seen |= characters
        combine = max if is_certain else sum
        ways = combine([cost.ways for cost in costs]) if rest.is_tried_again else 1
        return _Cost(ways, len(costs) + combine([cost.steps for cost in costs]))

    def _loop(self, operator: Any, argument: Any, flags: int, rest: RestOfPattern) -> _Cost:
        least, most, items = argument
        start = self._start(items, flags)
        if start.can_be_empty:
            raise PatternRunsLongError("what it repeats can be empty")
        if most == 0:
            return _Cost(1, 1)
        is_possessive = operator is sre.POSSESSIVE_REPEAT
        again = RestOfPattern(
            start.characters | rest.characters if most > 1 else rest.characters,
            is_tried_again=not is_possessive and (rest.is_tried_again or least > 1),
            can_fail=is_possessive or rest.can_fail or least > 1,
        )
        self._depth += most > 1
        item = self.sequence(items, flags, again)
        self._depth -= most > 1
        if items is self._leading:
            return _Cost(1, 1)  # once for each character of the run
        if most is sre.MAXREPEAT:
            return _Cost(1, item.steps)  # the match cannot fail any more: these steps lead to its end
        if item.ways > 1 and most > _LIMIT_IN_LOOPS:
            raise PatternRunsLongError(TOO_MANY)
        is_certain = is_possessive or not rest.is_tried_again or start.characters.isdisjoint(rest.characters)
        ways = 1 if is_possessive or not rest.is_tried_again else item.ways**most
        return _Cost(ways * (1 if is_certain else most - least + 1), most * item.steps * item.ways ** (most - 1))

    def _needs_limit(self, argument: Any, rest: RestOfPattern) -> bool:
        return argument[1] is sre.MAXREPEAT and rest.can_fail and argument[2] is not self._leading

    def _limit_of(self, items: Any) -> int:
        return _LIMIT_IN_LOOPS if self._depth or _has_loop(items) else self._limit

    def _rest_before(self, operator: Any, argument: Any, flags: int, rest: RestOfPattern) -> RestOfPattern:
        """Return what comes after the part before this one."""
        if operator is sre.AT:
            return RestOfPattern(rest.characters, is_tried_again=True, can_fail=True)
        if operator in (sre.ASSERT, sre.ASSERT_NOT):
            looks_back = argument[0] < 0
            start = self._start(argument[1], flags)
            ahead = start.characters if operator is sre.ASSERT and not start.can_be_empty else self._every
            return RestOfPattern(rest.characters if looks_back else ahead, is_tried_again=True, can_fail=True)
        start = self._start([(operator, argument)], flags)
        if not start.can_be_empty:
            return RestOfPattern(start.characters, is_tried_again=True, can_fail=True)
        checks = self._can_refuse(operator, argument)
        return RestOfPattern(start.characters | rest.characters, rest.is_tried_again or checks, rest.can_fail or checks)

    def _can_refuse(self, operator: Any, argument: Any) -> bool:
        """Check whether a part that can be empty can also fail."""
        if operator in LOOPS:
            return bool(argument[0])
        return operator not in (sre.SUBPATTERN, sre.BRANCH) or _has_check(argument)

    def _start(self, items: Any, flags: int) -> _Start:
        if not isinstance(items, _parser.SubPattern):
            return self._start_of(items, flags)
        if id(items) not in self._starts:  # the tree keeps its parts alive
            self._starts[id(items)] = self._start_of(items, flags)
        return self._starts[id(items)]

    def _start_of(self, items: Any, flags: int) -> _Start:
        characters = _NONE
        for operator, argument in items:
            start = self._start_of_part(operator, argument, flags)
            characters |= start.characters
            if not start.can_be_empty:
                return _Start(characters, can_be_empty=False)
        return _Start(characters, can_be_empty=True)

    def _start_of_part(self, operator: Any, argument: Any, flags: int) -> _Start:
        if operator in SETS:
            return _Start(_characters(operator, argument, flags), can_be_empty=False)
        if operator is sre.SUBPATTERN:
            return self._start(argument[3], _combine_flags(flags, argument[1], argument[2]))
        if operator is sre.ATOMIC_GROUP:
            return self._start(argument, flags)
        if operator in LOOPS:
            start = self._start(argument[2], flags)
            return _Start(start.characters, can_be_empty=start.can_be_empty or not argument[0])
        if operator in (sre.BRANCH, sre.GROUPREF_EXISTS):
            branches = argument[1] if operator is sre.BRANCH else [argument[1], argument[2] or []]
            starts = [self._start(items, flags) for items in branches]
            return _Start(_NONE.union(*(start.characters for start in starts)), any(start[1] for start in starts))
        return _Start(self._every if operator is sre.GROUPREF else _NONE, can_be_empty=True)


def _parts(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every part of a parsed pattern, at any depth."""
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], type(sre.ANY)):
        yield value
    if isinstance(value, tuple | list | _parser.SubPattern):
        for item in value:
            yield from _parts(item)


def _has_loop(items: Any) -> bool:
    return any(operator in LOOPS and argument[1] > LOOK_AHEAD for operator, argument in _parts(items))


def _has_check(items: Any) -> bool:
    return any(
        operator in (sre.AT, sre.ASSERT, sre.ASSERT_NOT, sre.GROUPREF, sre.GROUPREF_EXISTS)
        for operator, _ in _parts(items)
    )


def _numbers(value: Any) -> Iterator[int]:
    """Yield the codes of the characters that a parsed pattern names."""
    for operator, argument in _parts(value):
        if operator in (sre.LITERAL, sre.NOT_LITERAL):
            yield argument
        elif operator is sre.RANGE:
            yield from argument


def _characters(operator: Any, argument: Any, flags: int) -> _Characters:
    """Return the characters of a set: those that `re` itself finds."""
    if operator is sre.LITERAL and not flags & re.IGNORECASE:
        return frozenset(chr(argument))
    key = tuple(argument) if isinstance(argument, list) else argument
    return _characters_of(operator, key, flags)


@cache
def _characters_of(operator: Any, argument: Any, flags: int) -> _Characters:
    state = _parser.State()
    state.flags = 0
    items = _parser.SubPattern(state, [(operator, list(argument) if isinstance(argument, tuple) else argument)])
    return frozenset(compile_tree(items, flags | re.UNICODE * (not flags & re.ASCII)).findall(_every_character()))


@cache
def _every_character() -> str:
    return "".join(map(chr, range(_LARGEST_CODE + 1))) + _CHARACTERS
