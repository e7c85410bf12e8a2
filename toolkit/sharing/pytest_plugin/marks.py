"""The choices of the markers `toolkit_cassette` of a test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol

from toolkit.cassettes.paths import MODES
from toolkit.core.errors import ConfigurationError
from toolkit.core.text import nearest

MARKER = "toolkit_cassette"


class Mark(Protocol):
    """The arguments of one marker."""

    @property
    def args(self) -> tuple[Any, ...]: ...

    @property
    def kwargs(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True)
class CassetteChoice:
    """The choices of a test.

    Attributes:
        name: name or path of the cassette; None for the one named after the test.
        environment: the environment of the session; None for that of the cassette or the credentials.
        credentials: the name of the profile to record with; None for the only one, or `default` among several.
        mode: the record mode; None for strict replay. "none" holds against `--toolkit-record`, too.
        strict: True if each recording must be played exactly once.
        match_on, secrets, rules: as for `tk.Cassette`.
        allowed_hosts: hosts that a replaying test may connect to.
    """

    name: Any = None
    environment: str | None = None
    credentials: Any = None
    mode: str | None = None
    strict: bool = True
    match_on: Any = None
    secrets: Any = ()
    rules: Any = None
    allowed_hosts: Any = ()


def choice_of(marks: Iterable[Mark]) -> CassetteChoice:
    """Return the choices of the markers of a test, the closest first: a closer one wins, argument by argument.

    Raises:
        ConfigurationError: if a marker has an unknown argument or mode.
    """
    chosen: dict[str, Any] = {}
    for mark in reversed(list(marks)):
        if len(mark.args) > 1 or (mark.args and "name" in mark.kwargs):
            raise ConfigurationError(
                f"The marker {MARKER} has several names of a cassette.",
                f'Name one: @pytest.mark.{MARKER}("tour").',
                about="name",
            )
        chosen |= {**dict(zip(("name",), mark.args, strict=False)), **mark.kwargs}
    known = [field.name for field in fields(CassetteChoice)]
    for name in chosen:
        if name not in known:
            meant = nearest(name, known)
            advice = f"Did you mean {meant}?" if meant else f"It takes {', '.join(known)}."
            raise ConfigurationError(f"The marker {MARKER} has no argument {name!r}.", advice, about=name)
    mode = chosen.get("mode")
    if mode is not None and mode not in MODES:
        what = f"The marker {MARKER} names the record mode {mode!r}, which does not exist."
        raise ConfigurationError(what, f"Choose one of {', '.join(MODES)}.", about="mode")
    hosts = chosen.get("allowed_hosts", ())
    return CassetteChoice(**{**chosen, "allowed_hosts": (hosts,) if isinstance(hosts, str) else tuple(hosts)})
