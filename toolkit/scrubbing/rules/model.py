"""A user's own rules of what is scrubbed: names, JSON paths, patterns, and personal data that gets stand-ins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Final, NamedTuple

from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.local.settings import Settings
from toolkit.scrubbing.credential_names import last_name, normal_name

Path = tuple[str | int, ...]
STAND_IN: Final = ""  # the treatment of personal data; any other is the kind that a placeholder names
_STEP: Final = re.compile(
    r"(?P<deep>\.\.)?\.?(?:\[(?:(?P<index>\d+)|(?P<any>\*)|'(?P<quoted>[^']+)'|\"(?P<double>[^\"]+)\")\]"
    r"|(?P<star>\*)|(?P<name>[^.\[\]\s*'\"]+))"
)
_NO_KIND: Final = re.compile(r"[^A-Z0-9]+")


class _Step(NamedTuple):
    """One step of a path: a name, an index or (None) anything; anywhere below when `is_deep`."""

    wanted: str | int | None
    is_deep: bool


@dataclass(frozen=True)
class Rules:
    """What is taken out of recordings besides credentials. The live caller still gets it all.

    Values of eight characters or more are from then on replaced wherever they occur, in any form;
    shorter ones only where the rule finds them (a stand-in also where one is a whole part of a URL).

    Attributes:
        names: names of fields and headers, in any case, with or without hyphens and underscores. Their values become
            `<NAME>` in JSON, forms, queries, headers, multipart bodies and XML.
        json_paths: where such values are in JSON: `$.a.b`, `$.a[0]`, `$.a[*].b`, `$..b` (at any depth),
            `$['a b']`. What is below a place counts too.
        patterns: regular expressions; a match becomes `<MATCH>`. With a named group only that group does and
            becomes `<ITS NAME>`; with a group without a name, that group does.
        pseudonyms: names, or paths that begin with `$`, of personal data. A value becomes the same stand-in
            everywhere, of the same look, so that tables still join. It cannot be undone without the key.
        key: the key of the stand-ins, at least 16 characters; by default one that is made at first use in the user's
            configuration folder, and so differs from person to person.

    Raises:
        ConfigurationError: one of them is malformed.
    """

    names: tuple[str, ...] = ()
    json_paths: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    pseudonyms: tuple[str, ...] = ()
    key: Secret | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        for name in _LISTS:
            object.__setattr__(self, name, _texts(name, getattr(self, name)))
        if self.key is not None:
            given = Secret(self.key)
            object.__setattr__(self, "key", given)
            if len(given.reveal()) < 16:
                raise ConfigurationError(
                    "The key of the pseudonyms is too short.", "Give at least 16 random characters."
                )
        _ = self.compiled

    @classmethod
    def of(cls, table: Mapping[str, Any], *, where: str = "the table [scrubbing]") -> Rules:
        """The rules of a table of settings.

        Raises:
            ConfigurationError: it has another key, or a rule is malformed; says where.
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
        """Both; of two keys the other's."""
        both = {name: tuple(dict.fromkeys((*getattr(self, name), *getattr(other, name)))) for name in _LISTS}
        return Rules(**both, key=other.key or self.key)

    @cached_property
    def compiled(self) -> Compiled:
        """The rules, ready to be asked."""
        return Compiled(self)


_LISTS: Final = tuple(each.name for each in fields(Rules) if each.name != "key")


class Compiled:
    """Rules to be asked: how is what stands at a place treated, if at all.

    A treatment is a kind, such as "ACCOUNT_PIN", or STAND_IN.
    """

    def __init__(self, rules: Rules) -> None:
        self._names = {normal_name(name): STAND_IN for name in rules.pseudonyms if not name.startswith("$")}
        self._names.update((normal_name(name), _kind_of(name)) for name in rules.names)
        paths = [(path, _kind_of_path(path)) for path in rules.json_paths]
        paths += [(path, STAND_IN) for path in rules.pseudonyms if path.startswith("$")]
        self._paths = [(_steps(path), treatment) for path, treatment in paths]
        self.patterns = [_pattern(pattern) for pattern in rules.patterns]
        kinds = {*self._names.values(), *(one for _, one in self._paths), *(kind for _, _, kind in self.patterns)}
        self.has_places = bool(self._names or self._paths)
        self.has_stand_ins = STAND_IN in kinds
        written = "|".join(map(re.escape, sorted(kinds - {STAND_IN}))) or "(?!)"
        self._placeholder = re.compile(rf"<(?:{written})(?:-[0-9]+)?>")
        self.names = tuple(rules.names) + tuple(name for name in rules.pseudonyms if not name.startswith("$"))

    def of_name(self, name: str) -> str | None:
        """The treatment of a field or header of this name, or None."""
        if not self._names:
            return None
        found = self._names.get(normal_name(name))
        return self._names.get(normal_name(last_name(name))) if found is None else found

    def of_path(self, path: Path) -> str | None:
        """The treatment of a scalar at this place of JSON, or None."""
        for part in reversed(path):
            found = self.of_name(part) if isinstance(part, str) else None
            if found is not None:
                return found
        for steps, treatment in self._paths:
            if _leads_to(steps, path):
                return treatment
        return None

    def is_placeholder(self, text: str) -> bool:
        """Whether a text stands for a value already."""
        return self._placeholder.fullmatch(text) is not None


def _texts(name: str, value: Any) -> tuple[str, ...]:
    values = (value,) if isinstance(value, str) else value
    if not isinstance(values, list | tuple) or not all(isinstance(one, str) and one for one in values):
        raise ConfigurationError(f"The rules' {name} are no list of texts.", f'Write them like {name} = ["..."].')
    return tuple(values)


def _kind_of(name: str) -> str:
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return _NO_KIND.sub("_", apart.upper()).strip("_") or "VALUE"


def _kind_of_path(path: str) -> str:
    names = [step.wanted for step in _steps(path) if isinstance(step.wanted, str)]
    return _kind_of(names[-1]) if names else "VALUE"


def _steps(path: str) -> tuple[_Step, ...]:
    steps: list[_Step] = []
    position = 1
    while path.startswith("$") and position < len(path):
        match = _STEP.match(path, position)
        if match is None or (match[0][0] not in ".["):
            break
        index = match["index"]
        name = match["quoted"] or match["double"] or match["name"]
        steps.append(_Step(int(index) if index else name, bool(match["deep"])))
        position = match.end()
    if not steps or position < len(path):
        raise ConfigurationError(
            f"{path!r} is no JSON path.",
            "Write it like $.a.b, $.a[0], $.a[*].b, $..b or $['a b']; filters are not known.",
        )
    return tuple(steps)


def _leads_to(steps: tuple[_Step, ...], path: Path, start: int = 0) -> bool:
    """Whether steps lead to a place or to something that it is in."""
    if not steps:
        return True
    wanted, is_deep = steps[0]
    for position in range(start, len(path) if is_deep else min(start + 1, len(path))):
        if (wanted is None or path[position] == wanted) and _leads_to(steps[1:], path, position + 1):
            return True
    return False


def _pattern(text: str) -> tuple[re.Pattern[str], int, str]:
    """A pattern, the group of it that is replaced, and the kind of what that is."""
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise ConfigurationError(
            f"{text!r} is no regular expression: {error}.", "Mend it; Python's are meant."
        ) from None
    if pattern.groupindex:
        name, group = min(pattern.groupindex.items(), key=lambda pair: pair[1])
        return pattern, group, _kind_of(name)
    return pattern, min(pattern.groups, 1), "MATCH"


def project_rules(settings: Settings) -> Rules:
    """What the project's settings say is scrubbed besides credentials.

    Raises:
        ConfigurationError: a rule is malformed.
    """
    return Rules.of(settings.scrubbing, where=str(settings.file or "the settings"))
