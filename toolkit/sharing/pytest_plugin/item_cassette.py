"""The work of the plugin's fixtures for one test, from its markers, the options and the fixtures of users."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from toolkit.core.errors import CassetteError, ConfigurationError
from toolkit.sharing.pytest_plugin import places
from toolkit.sharing.pytest_plugin.marks import MARKER, choice_of
from toolkit.sharing.pytest_plugin.notes import Notes
from toolkit.sharing.pytest_plugin.playing import Playing

if TYPE_CHECKING:
    from toolkit.cassettes.cassette import Cassette
    from toolkit.session.session import AsyncSession

_DEFAULT_FILES = pytest.StashKey[list[tuple[str, Path]]]()


def play(item: Any, fixtures: Iterable[str]) -> Playing:
    """Open the cassette of a test.

    Args:
        item: the test.
        fixtures: names of the fixtures that need a cassette.

    Raises:
        CassetteError: if the cassette cannot be opened, or does not exist.
        ConfigurationError: if a marker or setting is wrong, or another test has the same cassette.
    """
    choice, settings = choice_of(item.iter_markers(MARKER)), places.project_settings(item.path)
    if choice.name is None:
        path = _default_file(item)
        places.refuse_shared(path, item.nodeid, _default_files(item.session, fixtures))
        if item.get_closest_marker("vcr") is not None:
            # pytest-recording would write to the same file, and it does not remove secrets.
            raise ConfigurationError(
                f"{item.nodeid} has the marker vcr too, and both would use the same cassette.",
                f'Remove one of the markers, or name a cassette: @pytest.mark.{MARKER}("...").',
                about="name",
            )
    else:
        path = places.chosen_file(choice.name, item.path, settings)
    return Playing(
        path,
        choice,
        settings,
        option=item.config.getoption("toolkit_record"),
        allowed_hosts=tuple(item.config.getini("toolkit_allowed_hosts")),
        is_needed=any(name in item._fixtureinfo.names_closure for name in fixtures),  # noqa: SLF001 - as collected
    )


def end(playing: Playing, notes: Notes, *, well: bool, is_checked: bool) -> str:
    """Finish the cassette of a test, and return what is wrong with it; empty if nothing is.

    Args:
        playing: the cassette.
        notes: note there what was recorded.
        well: True if the test passed.
        is_checked: True if it was checked at the end of the test.
    """
    problem = ""
    if well and not is_checked:
        try:
            playing.check()
        except CassetteError as error:
            well, problem = False, str(error)
    has_recorded = playing.has_recorded
    try:
        playing.end(well=well)
    except (CassetteError, OSError) as error:
        return problem or str(error)
    if playing.kept is not None:
        notes.kept.append(str(playing.kept))
    elif has_recorded:
        notes.recorded.append(str(playing.path))
        kept = str(places.failed_file(playing.path))  # of an earlier try
        notes.kept = [other for other in notes.kept if other != kept]
    return problem


def session_arguments(request: pytest.FixtureRequest, cassette: Cassette) -> dict[str, Any]:
    """Return the arguments of the session of a test.

    Raises:
        ConfigurationError: if something is to be recorded, and nothing names the environment.
    """
    choice = choice_of(request.node.iter_markers(MARKER))
    live: dict[str, Any] = {}
    if cassette.records:
        live = dict(request.getfixturevalue("toolkit_live"))
        if choice.credentials is not None:
            live["credentials"] = choice.credentials
        if not (choice.environment or live.get("environment") or hasattr(live.get("credentials"), "environment")):
            raise ConfigurationError(
                "To record, the session of a test needs an environment.",
                f'Name it, as in @pytest.mark.{MARKER}(environment="paper").',
                about="environment",
            )
    live.setdefault("settings", places.project_settings(request.path))
    return {**live, "environment": choice.environment or live.get("environment"), "cassette": cassette}


def closing(session: AsyncSession, test: Callable[..., Any]) -> Callable[..., Any]:
    """Return an async test that closes the connections of a session in the event loop that they belong to."""

    @wraps(test)
    async def run(*args: Any, **kwargs: Any) -> None:
        try:
            await test(*args, **kwargs)
        finally:
            await session.close()

    return run


def close_without_loop(session: AsyncSession) -> None:
    """Close a session without an event loop, which is not needed as long as nothing is connected."""
    steps = session.close()
    with suppress(StopIteration, RuntimeError):
        steps.send(None)
    steps.close()


def _default_file(item: Any) -> Path:
    own_class = getattr(item, "cls", None)
    return places.default_file(item.path, item.name, own_class and own_class.__name__)


def _default_files(session: pytest.Session, fixtures: Iterable[str]) -> list[tuple[str, Path]]:
    """Return node ID and default cassette of all tests that have one, computed once."""
    if _DEFAULT_FILES not in session.stash:
        session.stash[_DEFAULT_FILES] = [
            (item.nodeid, _default_file(item))
            for item in session.items
            if any(name in getattr(item, "fixturenames", ()) for name in fixtures)
            and not any(mark.args or "name" in mark.kwargs for mark in item.iter_markers(MARKER))
        ]
    return session.stash[_DEFAULT_FILES]
