"""Go through the places that profiles come from, in the order in which they count, and list what is there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolkit.auth.profiles.fields import Profile
from toolkit.auth.profiles.saved import SavedProfile, saved_profiles
from toolkit.auth.profiles.variables import fields_in_dotenv, fields_in_variables
from toolkit.core.document import Environment
from toolkit.core.errors import ToolkitError
from toolkit.core.html import list_html, list_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from toolkit.auth.profiles.fields import ProfileFields
    from toolkit.local.settings import Settings

_VARIABLES: Final = "environment variables"
_ENVIRONMENTS: Final = tuple(Environment)
_COLUMNS: Final = ("environment", "profile", "kind", "source")
_NONE: Final = "No profiles."


class ProfileList(list[Profile]):
    """Profiles, shown as a table in a notebook and a terminal."""

    def __repr__(self) -> str:
        return list_text(_COLUMNS, _rows(self)) if self else _NONE

    def _repr_html_(self) -> str:
        return list_html(_COLUMNS, _rows(self)) if self else f"<p>{_NONE}</p>"


@dataclass(frozen=True, slots=True)
class ListedProfile:
    """A profile in one place, whether it can be loaded or not.

    Attributes:
        environment: the environment that it is for.
        name: the name to load it by.
        outcome: the profile as a list shows it, or the error that it raises.
        comes_first: False if an earlier place has a profile of this name, so that this profile is not used.
    """

    environment: Environment
    name: str
    outcome: Profile | ToolkitError
    comes_first: bool


def profiles_in_order(settings: Settings, environ: Mapping[str, str] | None) -> Iterator[ProfileFields | SavedProfile]:
    """Yield every profile, place by place in the order in which they count. A place is read when its turn comes.

    A malformed profile raises its error when it is used.

    Raises:
        ConfigurationError: if a place as a whole cannot be read.
    """
    yield from fields_in_variables(os.environ if environ is None else environ, _VARIABLES, Path())
    yield from fields_in_dotenv(settings.project)
    yield from saved_profiles()


def survey(settings: Settings, environ: Mapping[str, str] | None) -> list[ListedProfile]:
    """Return all profiles, sorted by environment and name, and then in the order in which places count.

    No keyring is opened.

    Raises:
        ConfigurationError: if a place as a whole cannot be read.
    """
    listed: list[ListedProfile] = []
    known: set[tuple[Environment, str]] = set()
    for profile in profiles_in_order(settings, environ):
        key = profile.environment, profile.name
        listed.append(ListedProfile(*key, _outcome(profile), key not in known))
        known.add(key)
    return sorted(listed, key=lambda profile: (_ENVIRONMENTS.index(profile.environment), profile.name))


def _outcome(profile: ProfileFields | SavedProfile) -> Profile | ToolkitError:
    try:
        return profile.profile()
    except ToolkitError as error:
        return error.with_traceback(None)


def _rows(profiles: list[Profile]) -> list[tuple[str, ...]]:
    return [(profile.environment, profile.name, profile.kind, profile.source) for profile in profiles]
