"""The fixtures, options and hooks of the plugin. pytest loads this in every run, so it imports the rest when used."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from toolkit.cassettes.cassette import Cassette
    from toolkit.session.session import AsyncSession, Session
    from toolkit.sharing.pytest_plugin.item_cassette import Playing

_T = TypeVar("_T")
_FIXTURES = ("toolkit_cassette", "toolkit_session", "toolkit_async_session")
_MARKER = (
    "toolkit_cassette(*names, environment=None, credentials=None, mode=None, strict=True, match_on=None, "
    "secrets=(), rules=None, allowed_hosts=()): replay cassettes of the toolkit: names in the project's cassettes "
    "folder, or paths; by default cassettes/<module>/<test>.yaml beside the test. Sessions that the test opens "
    "without a cassette use it."
)
_RECORDING = {
    "once": "record the cassettes that do not exist",
    "new_episodes": "replay what is recorded, and add the rest",
    "all": "record everything again; the old cassette is replaced if the test passes",
}
_MOST_LINES = 8  # of a miss; where it happened and how to record it again stand around them
_PLAYING: pytest.StashKey[Playing] = pytest.StashKey()
_HAS_PASSED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options. A mode follows after "=", so that `--toolkit-record tests` does not take a path for it."""
    group = parser.getgroup("toolkit", "toolkit: recordings and notebooks")
    for mode, what in _RECORDING.items():
        names = ["--toolkit-record", "--toolkit-record=once"] if mode == "once" else [f"--toolkit-record={mode}"]
        group.addoption(*names, action="store_const", const=mode, dest="toolkit_record", default=None, help=what)
    group.addoption(
        "--toolkit-unused", action="store_true", default=False, help="list the cassettes that no test opened"
    )
    group.addoption(
        "--toolkit-verify",
        action="store_true",
        default=False,
        help="collect notebooks too: each is run offline and compared with its file, as `toolkit verify` does",
    )
    parser.addini("toolkit_allowed_hosts", "hosts that replaying tests may connect to", type="args", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and the parts that the options ask for."""
    config.addinivalue_line("markers", _MARKER)
    if config.getoption("toolkit_unused"):
        from toolkit.sharing.pytest_plugin.run_options import UnusedCassettes

        config.pluginmanager.register(UnusedCassettes(config), "toolkit-unused")
    if config.getoption("toolkit_verify"):
        from toolkit.sharing.pytest_plugin.run_options import NotebookCollector

        config.pluginmanager.register(NotebookCollector(), "toolkit-verify")


def pytest_itemcollected(item: Any) -> None:
    """Let the marker alone open the cassette, before the first fixture that belongs to the test alone."""
    names = list(getattr(item, "fixturenames", _FIXTURES))
    if item.get_closest_marker("toolkit_cassette") is None or any(name in names for name in _FIXTURES):
        return
    definitions = item._fixtureinfo.name2fixturedefs  # noqa: SLF001 - there is no other way to the scopes
    own = (
        position
        for position, name in enumerate(names)
        if name != "request" and definitions.get(name) and definitions[name][-1].scope == "function"
    )
    names.insert(next(own, len(names)), "toolkit_cassette")
    item.fixturenames = names


@pytest.fixture
def toolkit_live() -> dict[str, Any]:
    """Arguments of `tk.Session` for recording, such as credentials and settings; override it if need be.

    Sessions that the code under test opens take from it what they do not name, too. The fixture is used only when
    something is recorded, so a practice service, for example, starts only then:

        @pytest.fixture(scope="session")
        def toolkit_live():
            with tk.practice() as service:
                yield {"environment": "broker-sandbox", "credentials": "sandbox-secret", "settings": service.settings}
    """
    return {}


@pytest.fixture
def toolkit_cassette(request: pytest.FixtureRequest) -> Iterator[Cassette | None]:
    """The cassette of the test, a `tk.Cassette`: in strict replay, unless recording is asked for."""
    from toolkit.sharing.pytest_plugin.item_cassette import Playing, live_sessions

    item: Any = request.node
    is_needed = any(name in item._fixtureinfo.names_closure for name in _FIXTURES)  # noqa: SLF001 - as collected
    playing = item.stash[_PLAYING] = _or_fail(lambda: Playing(item, is_needed=is_needed))
    live: Any = nullcontext()
    if (
        playing.cassette is not None
        and playing.cassette.records
        and not any(map(item.fixturenames.count, _FIXTURES[1:]))
    ):
        live = live_sessions(request.getfixturevalue("toolkit_live"))
    with live:
        yield playing.cassette
    problem = playing.end(well=item.stash.get(_HAS_PASSED, False))
    if problem:
        pytest.fail(problem, pytrace=False)


@pytest.fixture
def toolkit_session(request: pytest.FixtureRequest, toolkit_cassette: Cassette) -> Iterator[Session]:
    """A `tk.Session` on the cassette of the test. Recording needs credentials; see `toolkit_live`."""
    from toolkit.session.session import Session

    with _or_fail(lambda: Session(**_arguments(request, toolkit_cassette))) as session:
        yield session


@pytest.fixture
def toolkit_async_session(request: pytest.FixtureRequest, toolkit_cassette: Cassette) -> Iterator[AsyncSession]:
    """A `tk.AsyncSession` on the cassette of the test, for async tests of pytest-asyncio, anyio or asyncio.run()."""
    from toolkit.session.session import AsyncSession
    from toolkit.sharing.pytest_plugin.item_cassette import close_without_loop, closing

    session = _or_fail(lambda: AsyncSession(**_arguments(request, toolkit_cassette)))
    item: Any = request.node
    if toolkit_cassette.records and inspect.iscoroutinefunction(getattr(item, "obj", None)):
        item.obj = closing(session, item.obj)
    yield session
    close_without_loop(session)


def _arguments(request: pytest.FixtureRequest, cassette: Cassette) -> dict[str, Any]:
    live = request.getfixturevalue("toolkit_live") if cassette.records else {}
    playing: Playing = request.node.stash[_PLAYING]
    return playing.session_arguments(live)


def _or_fail(make: Callable[[], _T]) -> _T:
    """Return what a function makes; let the test fail with the two lines of an error instead of a traceback."""
    __tracebackhide__ = True
    from toolkit.core.errors import ToolkitError

    try:
        return make()
    except ToolkitError as error:
        problem = f"{type(error).__name__}: {error}"
    pytest.fail(problem, pytrace=False)  # outside the except clause, which would chain the error to it


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Generator[None, Any, Any]:
    """Note whether a test with a cassette passed, and show a request that has no recording in a few lines."""
    report = yield
    if _PLAYING not in item.stash:
        return report
    if call.when == "call" and item.stash.get(_HAS_PASSED, True):  # a subtest that failed counts for its test
        item.stash[_HAS_PASSED] = report.outcome == "passed"
    cassette, aside = item.stash[_PLAYING].cassette, item.stash[_PLAYING].aside
    if report.failed and call.when == "call" and cassette is not None and cassette.recorded_count:
        place = os.path.relpath(aside, item.config.invocation_params.dir)
        report.sections.append(("toolkit", f"The recording of the failed test is kept in {place}"))
    if call.excinfo is not None and not item.config.getoption("fulltrace", default=False):
        from toolkit.core.errors import CassetteMiss

        if call.excinfo.errisinstance(CassetteMiss):
            entries = [entry for entry in call.excinfo.traceback if str(entry.path) == str(item.path)]
            place = f"{item.path.name}:{entries[-1].lineno + 1}: {entries[-1].statement}" if entries else item.nodeid
            lines = [place, *f"{call.excinfo.typename}: {call.excinfo.value}".splitlines()[:_MOST_LINES]]
            again = f'If the test is right, record again: pytest --toolkit-record=all "{item.nodeid}"'
            report.longrepr = "\n".join([*lines, *([] if item.config.getoption("toolkit_record") else [again])])
    return report


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say that nothing was recorded, although it was asked for."""
    from toolkit.local.settings import is_offline

    if config.getoption("toolkit_record") and is_offline():
        terminalreporter.write_line("TOOLKIT_OFFLINE is set: recordings were replayed, and nothing was recorded")
