"""Destinations: credentials are sent to those that they are bound to, and nowhere else.

A destination is an address with its path prefix, or for a key pair the prefix of the headers that carry it. The
`toolkit.toml` of a project names destinations, and a project may come from anybody: without a binding, a cloned
repository could name an address of its own and receive the user's secrets.

- Saved profiles are bound when they are saved, and no later setting changes that.
- Credentials from variables and `.env` go to addresses that the user sets in code, or in the variables TOOLKIT_*_URL.
  To an address that only a file of the project names they go after the user allowed it, as SSH asks about a new host
  (`toolkit.auth.destination_memory`). Nothing is remembered without being asked.
- A `.env` file belongs to its project: a clone brings one along, and editors export it into the process. So a variable
  that a `.env` sets, in the working folder, above or beside it, counts as set by the project, like a line of
  `toolkit.toml`. Its value does not have to be the same, because editors expand references in it.
- Credentials that code holds go where the code says. If the same credentials are remembered, they are compared too.
- Loopback needs no permission, because the practice service is there. It is compared for saved profiles, and where a
  file names it for credentials that are remembered: any user of this machine may listen there. So is a header prefix.

`toolkit credentials allow` adds destinations. A replay sends nothing, so nothing is compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from toolkit.core.addresses import Address, is_loopback
from toolkit.core.document import DEFAULT_HEADER_PREFIX, CredentialKind
from toolkit.core.errors import UnsafeAddress
from toolkit.core.shells import shell_word
from toolkit.local.dotenv import FILE_NAME, exported_by
from toolkit.local.files import shown
from toolkit.local.variables import variable_name

if TYPE_CHECKING:
    from toolkit.core.document import Environment
    from toolkit.local.settings import Settings

HEADER_PREFIX: Final = "header_prefix"
Uses = Mapping[str, Mapping[str, str]]  # texts by name, each with the place that named it, in words


class Destination(NamedTuple):
    """A part of where credentials go.

    Attributes:
        name: name of an address, or `header_prefix`.
        text: the address with its path prefix, or the prefix.
        place: the settings file or the variable that names it; "" for code.
    """

    name: str
    text: str
    place: Path | str = ""

    @property
    def label(self) -> str:
        """The name in words."""
        return "header prefix" if self.name == HEADER_PREFIX else f"address {self.name}"

    @property
    def place_in_words(self) -> str:
        if isinstance(self.place, Path):
            return shown(self.place)
        return f"the variable {self.place}" if self.place else "code"

    @property
    def is_of_project(self) -> bool:
        """True if a file of the project names it, and not the user."""
        return isinstance(self.place, Path)

    @property
    def is_in_settings_file(self) -> bool:
        """True if commands read it, too: they do not know what code and a `.env` say."""
        return self.place != "" and (isinstance(self.place, str) or self.place.name != FILE_NAME)

    @property
    def is_loopback(self) -> bool:
        """True if it is an address of this machine."""
        return self.name != HEADER_PREFIX and is_loopback(Address.parse(self.text, setting="The address").origin.host)


class Change(NamedTuple):
    """A destination that credentials are not bound to, and those of the same name that they are bound to."""

    destination: Destination
    earlier: Mapping[str, str]

    def in_words(self) -> str:
        label, text = self.destination.label, self.destination.text
        if not self.earlier:
            return f"The {label} is new: {text} ({self.destination.place_in_words})."
        before = " or ".join(f"{old} ({place})" for old, place in self.earlier.items())
        return f"The {label} is now {text} ({self.destination.place_in_words}); earlier, it was {before}."


def destinations_of(environment: Environment, kind: CredentialKind, settings: Settings) -> list[Destination]:
    """Return where the settings send credentials.

    These are the addresses of the environment that are set and, for a key pair, the prefix of the headers that carry
    it.
    """
    texts = {name: settings.addresses.get(name, "") for name in environment.rules.addresses.values()}
    if kind is CredentialKind.KEY_PAIR and any(texts.values()):
        texts[HEADER_PREFIX] = settings.header_prefix
    places = {name: settings.place_of(name) for name, text in texts.items() if text}
    if any(isinstance(place, str) and place for place in places.values()):
        exported = exported_by(settings.project, beside=True)
        places = {name: exported.get(str(place), place) for name, place in places.items()}
    return [Destination(name, texts[name], place) for name, place in places.items()]


def without_loopback(destinations: list[Destination]) -> list[Destination]:
    """Return the destinations beyond this machine."""
    remote = [destination for destination in destinations if not destination.is_loopback]
    return remote if any(destination.name != HEADER_PREFIX for destination in remote) else []


def changes(destinations: list[Destination], uses: Uses) -> list[Change]:
    """Return the destinations that are not among the earlier ones; the usual prefix is new beside another one only."""
    usual = {HEADER_PREFIX: {DEFAULT_HEADER_PREFIX: ""}}
    return [
        Change(destination, uses.get(destination.name, {}))
        for destination in destinations
        if destination.text not in (uses.get(destination.name) or usual.get(destination.name, {}))
    ]


def refusal(
    new: list[Change], *, name: str, environment: Environment, source: str, is_bound: bool = False
) -> UnsafeAddress:
    """Return the error for credentials that would go elsewhere, with both destinations and how to allow the new.

    Args:
        new: the new destinations.
        name: name of the profile.
        environment: the environment of the credentials.
        source: where the credentials come from, in words.
        is_bound: True if they were saved, so that variables with addresses do not count.
    """
    places = " and ".join(dict.fromkeys(change.destination.place_in_words for change in new))
    command = f"toolkit credentials allow {shell_word(name)} --environment {environment}"
    unread = [change.destination for change in new if not change.destination.is_in_settings_file]
    if unread:  # the command does not know what code and editors say
        variables = " and ".join(f"{variable_name(item.name)}={item.text}" for item in unread)
        allow = f"run `{command}` with {variables} in the environment"
        if is_bound:
            allow += ", or save the credentials again with `toolkit credentials add` or save_credentials()"
    else:
        allow = f"run `{command}` in that project"
    who = f"the credentials {name} for {environment} ({source})"
    if any(change.earlier for change in new):
        what = f"{who} would go elsewhere. {' '.join(change.in_words() for change in new)}"
    else:
        added = (f"the {to.label}, {to.text} ({to.place_in_words})" for to, _ in new)
        what = f"{who} have not been allowed to go to {' and '.join(added)}."
    next_step = f"Check {places}: whoever wrote that would receive the credentials. If you trust it, {allow}."
    if not is_bound:
        own = " and ".join(variable_name(to.name) for to, _ in new)
        if unread:
            next_step += f" If you set {own} yourself, take what sets it out of that file."
        else:
            next_step += f" In a pipeline, set {own} instead: your own variables need no permission."
    return UnsafeAddress(f"Nothing was sent, because {what}", next_step, about=new[0].destination.name)
