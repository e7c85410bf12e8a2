"""Every profile that there is, in the order in which the places count."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolkit.auth.profiles.saved import BoundProfile, saved_profiles
from toolkit.auth.profiles.variables import given_in, given_in_dotenv
from toolkit.core.document import Environment
from toolkit.core.errors import ToolkitError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from toolkit.auth.profiles.profile import Candidate, Profile
    from toolkit.local.settings import Settings

_VARIABLES: Final = "environment variables"
_ENVIRONMENTS: Final = tuple(Environment)


@dataclass(frozen=True, slots=True)
class Found:
    """A profile at one place, in order or not.

    Attributes:
        environment: the environment that it is for.
        name: what to ask for.
        outcome: what is said of it, or what is wrong with it.
        comes_first: whether it is what one gets by this name; else a place that counts more has it too.
    """

    environment: Environment
    name: str
    outcome: Profile | ToolkitError
    comes_first: bool


def candidates(settings: Settings, environ: Mapping[str, str] | None) -> Iterator[Candidate]:
    """Everything that is found, in the order in which it counts; a later place is looked at when it is needed.

    Raises:
        ConfigurationError: a place as a whole cannot be read.
    """
    yield from given_in(os.environ if environ is None else environ, _VARIABLES, Path())
    yield from given_in_dotenv(settings.project)
    for saved in saved_profiles():
        yield BoundProfile(saved, settings)


def survey(settings: Settings, environ: Mapping[str, str] | None) -> list[Found]:
    """What there is, by environment and name, and then as the places count; no keyring is opened.

    Raises:
        ConfigurationError: a place as a whole cannot be read.
    """
    found: list[Found] = []
    known: set[tuple[Environment, str]] = set()
    for candidate in candidates(settings, environ):
        place = candidate.environment, candidate.name
        found.append(Found(*place, _outcome(candidate), place not in known))
        known.add(place)
    return sorted(found, key=lambda each: (_ENVIRONMENTS.index(each.environment), each.name))


def _outcome(candidate: Candidate) -> Profile | ToolkitError:
    try:
        return candidate.profile()
    except ToolkitError as error:
        return error
