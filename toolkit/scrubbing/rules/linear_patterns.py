r"""Regular expressions of users, which must not run long on any text, because recordings hold text from anybody.

`re` tries every way in which a pattern can match before it gives up. `(a+)+b` has 2**n ways to match n letters, and
`-\S+@\S+b` many from each hyphen. The `toolkit.toml` of a cloned project can hold patterns too. So:

- A pattern is refused if it could take more than a few thousand steps from one place (`pattern_steps`).
- A repetition without a limit gets one, unless the match cannot fail any more, as in `key=(.*)`.
- If a pattern begins with such a repetition of one set, as `\d+(?=EUR)`, it is tried once for each run of the set: from
  the beginning of the run it finds all that it would find from the middle.
- A text is searched in slices, because one call of `re` holds the interpreter's lock.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from re._compiler import compile as compile_tree  # type: ignore[import-not-found]
from typing import Any, Final

from toolkit.core.errors import ConfigurationError
from toolkit.scrubbing.rules.pattern_steps import (
    LOOK_AHEAD,
    LOOPS,
    MOST_STEPS,
    SETS,
    TOO_MANY,
    PatternRunsLongError,
    steps_of,
)

# Characters. Longer matches are found only if a repetition without a limit ends the pattern.
LONGEST_MATCH: Final = MOST_STEPS
_SLICE: Final = 1 << 16  # characters that one call of `re` searches, because it holds the interpreter's lock
# A text has fewer places where a pattern can begin if it begins with a few literal characters.
_FEW: Final = 3
_MOST_STEPS, _MOST_STEPS_AFTER_LITERALS = 1_500, MOST_STEPS
_LIMIT, _LIMIT_AFTER_LITERALS = 256, 500  # for a repetition without one


class LinearPattern:
    """A pattern that takes time in proportion to any text.

    Attributes:
        plain: the compiled pattern.
        first: the same pattern, which does not match in the middle of a run of the characters it begins with.
    """

    def __init__(self, plain: re.Pattern[str], first: re.Pattern[str]) -> None:
        self.plain, self.first = plain, first

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches in a text, searched in slices that overlap by the longest match."""
        position, size, has_matched = 0, _SLICE, False
        while position <= len(text):
            end = position + size + LONGEST_MATCH
            # After a match, the rest of a run is a run of its own.
            match = (self.plain.match(text, position, end) if has_matched else None) or self.first.search(
                text, position, end
            )
            if match is None:
                position, size, has_matched = position + size, _SLICE, False
            elif end < len(text) and (match.start() >= position + size or match.end() + LOOK_AHEAD > end):
                # Another one might match there if `re` saw more of the text.
                position, size, has_matched = match.start(), 2 * size, True
            else:
                yield match
                position, size, has_matched = match.end() + (match.end() == match.start()), _SLICE, True


@cache
def compile_linear(text: str) -> LinearPattern:
    """Return the compiled pattern.

    Raises:
        ConfigurationError: if it is not a regular expression, or could run long.
    """
    try:
        re.compile(text)
        return LinearPattern(*map(compile_tree, limited(text)))
    except (re.error, OverflowError, RecursionError) as error:
        raise ConfigurationError(
            f"{text!r} is not a regular expression: {error}.", "Use the syntax of Python's re module.", about="patterns"
        ) from None
    except PatternRunsLongError as error:
        raise ConfigurationError(
            f"The pattern {text!r} could run long on some texts: {error}.",
            'End each repetition where the next part begins, as in account[^"]*"(\\d+)", [^\\s@]+@[^\\s@]+ and '
            "(?:\\w+,)+, or give it a small limit, as in \\d{1,12}.",
            about="patterns",
        ) from None


def limited(text: str) -> tuple[Any, Any]:
    """Return the parsed pattern with limits, and a copy that does not match in the middle of a run.

    Raises:
        PatternRunsLongError: if it could run long.
    """
    tree = _parser.parse(text)
    leading = _leading_run(tree)
    has_literals = _literals_first(tree) >= _FEW
    limit = _LIMIT_AFTER_LITERALS if has_literals else _LIMIT
    if steps_of(tree, limit, leading) > (_MOST_STEPS_AFTER_LITERALS if has_literals else _MOST_STEPS):
        raise PatternRunsLongError(TOO_MANY)
    return tree, tree if leading is None else _only_at_run(tree)


def _leading_run(items: Any) -> Any:
    """Return what an unlimited repetition of one set repeats, if the pattern begins with that repetition."""
    for operator, argument in items[:1]:
        if operator is sre.SUBPATTERN:
            return _leading_run(argument[3])
        if operator in LOOPS and argument[1] is sre.MAXREPEAT and argument[2][0][0] in SETS and len(argument[2]) == 1:
            return argument[2]
    return None


def _only_at_run(items: Any) -> Any:
    """Return a pattern that begins with a repetition, so that it does not match after another character of the set."""
    operator, argument = items[0]
    if operator is sre.SUBPATTERN:
        first = [(operator, (*argument[:3], _only_at_run(argument[3])))]
    else:
        first = [(sre.ASSERT_NOT, (-1, argument[2])), items[0]]
    return _parser.SubPattern(items.state, [*first, *items.data[1:]])


def _literals_first(items: Any) -> int:
    """Return the number of literal characters that a parsed pattern begins with."""
    count = 0
    for operator, argument in items:
        if operator is sre.SUBPATTERN:
            return count + _literals_first(argument[3])
        if operator is sre.LITERAL:
            count += 1
        elif operator is not sre.AT:
            break
    return count
