"""`Rules`, which define what to replace in addition to credentials, and their compiled form for quick lookup.

Searches for patterns have a time limit, because recordings contain untrusted text, and the `toolkit.toml` of a cloned
project can contain patterns too. Other threads can run during such a search.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, cached_property, lru_cache, partial
from typing import Any, Final

from toolkit.core.errors import ConfigurationError, SecretLeak, as_instance, as_several
from toolkit.core.secret import Secret
from toolkit.core.text import excerpt
from toolkit.local.settings import Settings
from toolkit.scrubbing.vocabulary import last_name

KeyPath = tuple[str | int, ...]  # names and indices that lead to a value in JSON
STAND_IN: Final = ""  # the treatment of personal data; any other treatment is the kind named in the placeholder
_STEP: Final = (
    r"(?P<deep>\.\.)?\.?(?:\[(?:(?P<index>\d+)|(?P<any>\*)|'(?P<quoted>[^']+)'|\"(?P<double>[^\"]+)\")\]"
    r"|(?P<star>\*)|(?P<name>[^.\[\]\s*'\"]+))"
)
# A step of a path as `_written` writes it, and what may follow it.
_ANY_STEP: Final = r"[\0\1][^\0\1]*+"
_STEP_END: Final = r"(?![^\0\1])"
_SEPARATORS: Final = re.compile(r"[-_]")
_MOST_REMEMBERED: Final = 1_024  # names whose treatment was looked up
_MOST_SECONDS: Final = 5.0  # of processor time for a pattern in one string
_LONGEST: Final = 20_000  # characters of a pattern
_NOT_IN_KIND: Final = re.compile(r"[^A-Z0-9]+")


@dataclass(frozen=True)
class Rules:
    r"""Rules for what to replace in recordings in addition to credentials. Live calls still return the real values.

    A value of eight characters or more that a rule finds is replaced wherever it occurs, in any form. A shorter value
    is replaced only where the rule finds it and, if it has a stand-in, where it is a whole path segment or query
    parameter.

    Attributes:
        names: names of fields and headers, in any case, with or without hyphens and underscores. Their values become
            `<NAME>` in JSON, forms, queries, headers, multipart bodies and XML.
        json_paths: paths of values in JSON: `$.a.b`, `$.a[0]`, `$.a[*].b`, `$..b` (at any depth), `$['a b']`. Values
            below such a place are replaced too.
        patterns: regular expressions as in `re`; a match becomes `<MATCH>`. If the pattern has a group, only the first
            group is replaced; a named group `(?P<name>...)` becomes `<NAME>`. If a pattern takes too long on a call's
            text, the call is not recorded.
        pseudonyms: names of fields and headers with personal data, or JSON paths, which begin with `$`. A value is
            replaced by the same stand-in everywhere, in the format of the value, so that tables can still be joined.
            Without the key, nobody can recover the value.
        key: the key for the stand-ins, with at least 16 characters. The default key is created in the user's
            configuration folder at first use, so it differs from user to user.

    Raises:
        ConfigurationError: if a rule is malformed.
    """

    names: tuple[str, ...] = ()
    json_paths: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    pseudonyms: tuple[str, ...] = ()
    key: Secret | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        for name in _LISTS:
            object.__setattr__(self, name, as_several(getattr(self, name), str, about=name, example='["..."]'))
        if self.key is not None:
            [key] = as_several([self.key], str | Secret, about="key", example='os.environ["MY_SECRET"]')
            object.__setattr__(self, "key", Secret(key))
            if len(self.key.reveal()) < 16:
                raise ConfigurationError(
                    "The pseudonym key is too short.", "Pass at least 16 random characters.", about="key"
                )
        _ = self.compiled

    @classmethod
    def of(cls, table: Mapping[str, Any], *, where: str = "the table [scrubbing]") -> Rules:
        """Return the rules in a table of settings.

        Args:
            table: the table, whose keys are names of attributes.
            where: the location of the table, for messages.

        Raises:
            ConfigurationError: if the table has an unknown key, or a rule is malformed.
        """
        for name in table:
            if name not in _LISTS:
                raise ConfigurationError(f"Unknown rule {name!r} in {where}.", f"Known: {', '.join(_LISTS)}.")
        try:
            return cls(**table)
        except ConfigurationError as error:
            raise error.reworded(f"{error.what} It is in {where}.", error.next_step) from None

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in _LISTS)

    def __or__(self, other: Rules) -> Rules:
        """Return the two sets of rules combined; if both have a key, the one from `other` is used."""
        both = {name: tuple(dict.fromkeys((*getattr(self, name), *getattr(other, name)))) for name in _LISTS}
        return Rules(**both, key=other.key or self.key)

    @cached_property
    def compiled(self) -> CompiledRules:
        """The rules, compiled for quick lookup."""
        return CompiledRules(self)


def as_rules(rules: Rules | None) -> Rules | None:
    """Return the argument if it is `Rules` or None.

    Raises:
        ConfigurationError: if the argument is something else.
    """
    if rules is None:
        return None
    return as_instance(rules, Rules, about="rules", example='tk.Rules(names=["nickname"])')


_LISTS: Final = tuple(item.name for item in fields(Rules) if item.name != "key")


class CompiledRules:
    """Compiled rules, which determine how to treat the value at each place in a message.

    A treatment is the kind named in a placeholder, such as "ACCOUNT_PIN", or STAND_IN. `of_name` returns the treatment
    of a field or header with this name, or None.
    """

    def __init__(self, rules: Rules) -> None:
        self._names = {_normal(name): STAND_IN for name in rules.pseudonyms if not name.startswith("$")}
        self._names.update((_normal(name), _kind_of(name)) for name in rules.names)
        self.of_name = lru_cache(_MOST_REMEMBERED)(self._of_name)
        self._paths = [_path_pattern(path) for path in rules.json_paths]
        self._paths += [(_path_pattern(path)[0], STAND_IN) for path in rules.pseudonyms if path.startswith("$")]
        patterns = map(compile_pattern, rules.patterns)
        self.patterns = [(find, _kind_of(name) if name else "MATCH") for name, find in patterns]
        kinds = {
            *self._names.values(),
            *(treatment for _, treatment in self._paths),
            *(kind for _, kind in self.patterns),
        }
        self.has_places = bool(self._names or self._paths)
        self.has_stand_ins = STAND_IN in kinds
        written = "|".join(map(re.escape, sorted(kinds - {STAND_IN}))) or "(?!)"
        self._placeholder = re.compile(rf"<(?:{written})(?:-[0-9]+)?>")

    def _of_name(self, name: str) -> str | None:
        treatment = self._names.get(_normal(name))
        return self._names.get(_normal(last_name(name))) if treatment is None else treatment

    def of_path(self, path: KeyPath) -> str | None:
        """Return the treatment of the scalar at this place in JSON, or None."""
        for part in reversed(path):
            treatment = self.of_name(part) if isinstance(part, str) else None
            if treatment is not None:
                return treatment
        written = _written(path) if self._paths else ""
        return next((treatment for pattern, treatment in self._paths if pattern.match(written)), None)

    def is_placeholder(self, text: str) -> bool:
        """Check whether a string is already a placeholder from these rules."""
        return self._placeholder.fullmatch(text) is not None


@cache
def compile_pattern(text: str) -> tuple[str, Callable[[str], list[tuple[int, int]]]]:
    """Return the name of the group that a pattern replaces, or "", and a function that finds its matches in a string.

    The function returns the start and end of each non-empty group. A search that takes too long raises `SecretLeak`.

    Raises:
        ConfigurationError: if the pattern is not a regular expression or is too long.
    """
    import regex

    reason = f"it has more than {_LONGEST:,} characters"
    if len(text) <= _LONGEST:
        try:
            re.compile(text)  # with the standard library, whose errors are more helpful
            pattern = regex.compile(text, regex.VERSION0)
        except (re.error, regex.error, OverflowError, RecursionError) as error:
            reason = excerpt(str(error))
        else:
            names = pattern.groupindex
            name = min(names, key=names.__getitem__, default="")
            return name, partial(_places, pattern, names[name] if name else min(pattern.groups, 1))
    raise ConfigurationError(
        f"{excerpt(text)!r} is not a usable regular expression: {reason}.",
        "Use a group for the part to replace, as in id=(\\d+).",
        about="patterns",
    )


def _places(pattern: Any, group: int, text: str) -> list[tuple[int, int]]:
    try:
        spans = [match.span(group) for match in pattern.finditer(text, timeout=_MOST_SECONDS, concurrent=True)]
    except TimeoutError:
        raise SecretLeak(
            f"The pattern {excerpt(pattern.pattern)!r} takes too long to match in this call; nothing was written.",
            'Write a pattern whose matches are short, as in account[^"]{1,40}"(\\d+)", or make the call '
            "without a cassette.",
        ) from None
    return [(start, end) for start, end in spans if end > start]


def _normal(name: str) -> str:
    """Return a name normalized for comparison: lower case, without hyphens and underscores."""
    return _SEPARATORS.sub("", name.lower())


def _kind_of(name: str) -> str:
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return _NOT_IN_KIND.sub("_", apart.upper()).strip("_") or "VALUE"


def _path_pattern(path: str) -> tuple[re.Pattern[str], str]:
    """Return a pattern for a JSON path and all paths below it, as `_written` writes them, and the placeholder's kind.

    A `..` step matches at the first position where it and the steps up to the next `..` match.
    """
    pattern, name, is_open = "", "", False
    position = 1
    while path.startswith("$") and position < len(path):
        match = re.compile(_STEP).match(path, position)
        if match is None or (match[0][0] not in ".["):
            break
        if match["deep"]:
            pattern += f"{')' if is_open else ''}(?>(?:{_ANY_STEP})*?"
            is_open = True
        step = match["quoted"] or match["double"] or match["name"]
        name = step or name
        if step:
            pattern += re.escape(f"\0{step}") + _STEP_END
        elif match["index"]:
            pattern += f"\1{match['index']}{_STEP_END}"
        else:
            pattern += _ANY_STEP
        position = match.end()
    if not pattern or position < len(path):
        raise ConfigurationError(
            f"{excerpt(path)!r} is not a JSON path.",
            "Use a form such as $.a.b, $.a[0], $.a[*].b, $..b or $['a b']; filters are not supported.",
            about="json_paths",
        )
    return re.compile(pattern + (")" if is_open else "")), _kind_of(name)


def _written(path: KeyPath) -> str:
    return "".join([f"\0{part}" if isinstance(part, str) else f"\1{part}" for part in path])


def project_rules(settings: Settings) -> Rules:
    """Return the rules in the project's settings.

    Raises:
        ConfigurationError: if a rule is malformed.
    """
    return Rules.of(settings.scrubbing, where=str(settings.file or "the settings"))
