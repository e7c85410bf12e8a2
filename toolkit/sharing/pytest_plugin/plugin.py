"""The fixtures, options and hooks of the plugin. pytest loads this in every run, so it imports the rest when used."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from toolkit.sharing.pytest_plugin.notes import Notes

if TYPE_CHECKING:
    from toolkit.cassettes.cassette import Cassette
    from toolkit.session.session import AsyncSession, Session
    from toolkit.sharing.pytest_plugin.playing import Playing

_T = TypeVar("_T")
_FIXTURES = ("toolkit_cassette", "toolkit_session", "toolkit_async_session")
_MARKER = (
    "toolkit_cassette(name=None, *, environment=None, credentials=None, mode=None, strict=True, match_on=None, "
    "secrets=(), rules=None, allowed_hosts=()): replay a cassette of the toolkit: a name in the project's cassettes "
    "folder, or a path; by default cassettes/<module>/<test>.yaml beside the test. Sessions that the test opens "
    "without a cassette use it."
)
_RECORDING = {
    "once": "record the cassettes that do not exist",
    "new_episodes": "replay what is recorded, and add the rest",
    "all": "record everything again; the old cassette is replaced if the test passes",
}
# Their frames in a traceback say nothing about a request that has no recording.
_LIBRARIES = frozenset({"toolkit", "httpx", "httpx2", "_pytest", "pluggy"})
NOTES = pytest.StashKey[Notes]()
_PLAYING: pytest.StashKey[Playing] = pytest.StashKey()
_OUTCOMES = pytest.StashKey[dict[str, str]]()
_CHECKED_LATE = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the options. A mode follows after "=", so that `--toolkit-record tests` does not take a path for it."""
    load_as_compiled(pluginmanager)
    _check_mode(sys.argv)
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


def _check_mode(arguments: Sequence[str]) -> None:
    """Refuse an unknown mode, which argparse would report as an argument that it ignored."""
    for argument in arguments:
        option, equals, mode = argument.partition("=")
        if option == "--toolkit-record" and equals and mode not in _RECORDING:
            raise pytest.UsageError(f"{argument}: the mode is not known. Choose one of {', '.join(_RECORDING)}.")


def load_as_compiled(pluginmanager: Any) -> None:
    """Let the toolkit's modules load as everywhere else.

    pytest compiles all modules of a plugin's distribution anew, to explain failing assertions. Here that would take
    most of a second in each run that cannot write to the installation.
    """
    marked = getattr(getattr(pluginmanager, "rewrite_hook", None), "_must_rewrite", None)
    if isinstance(marked, set):
        marked.discard("toolkit")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and the parts that the options ask for."""
    config.addinivalue_line("markers", _MARKER)
    config.stash[NOTES] = Notes()
    if config.getoption("toolkit_unused"):
        from toolkit.sharing.pytest_plugin.unused import UnusedCassettes

        config.pluginmanager.register(UnusedCassettes(config, config.stash[NOTES]), "toolkit-unused")
    if config.getoption("toolkit_verify"):
        from toolkit.sharing.pytest_plugin.notebook_items import NotebookCollector

        config.pluginmanager.register(NotebookCollector(), "toolkit-verify")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let the marker alone open the cassette, before other fixtures of the test."""
    if item.get_closest_marker("toolkit_cassette") is None:
        return
    names = getattr(item, "fixturenames", None)
    if names is not None and not any(name in names for name in _FIXTURES):
        item.fixturenames = _with_cassette(item, list(names))  # type: ignore[attr-defined]


def _with_cassette(item: Any, names: list[str]) -> list[str]:
    """Return the names of the fixtures with the cassette before the first one that belongs to the test alone."""
    definitions = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    for position, name in enumerate(names):
        if name != "request" and definitions.get(name) and definitions[name][-1].scope == "function":
            return [*names[:position], "toolkit_cassette", *names[position:]]
    return [*names, "toolkit_cassette"]


@pytest.fixture
def toolkit_live() -> dict[str, Any]:
    """Arguments of `tk.Session` for recording, such as credentials and settings; override it if need be.

    The fixture is used only when something is recorded, so a practice service, for example, starts only then:

        @pytest.fixture(scope="session")
        def toolkit_live():
            with tk.practice() as service:
                yield {"environment": "broker-sandbox", "credentials": "sandbox-secret", "settings": service.settings}
    """
    return {}


@pytest.fixture
def toolkit_cassette(request: pytest.FixtureRequest) -> Iterator[Cassette | None]:
    """The cassette of the test, a `tk.Cassette`: in strict replay, unless recording is asked for."""
    from toolkit.sharing.pytest_plugin.item_cassette import end, play

    item: Any = request.node
    item.stash[_OUTCOMES], item.stash[_CHECKED_LATE] = {}, False
    playing = item.stash[_PLAYING] = _or_fail(lambda: play(item, _FIXTURES))
    yield playing.cassette
    del item.stash[_PLAYING]
    well = item.stash[_OUTCOMES].get("call") == "passed"
    problem = end(playing, item.config.stash[NOTES], well=well, is_checked=not item.stash[_CHECKED_LATE])
    if problem:
        pytest.fail(problem, pytrace=False)


@pytest.fixture
def toolkit_session(request: pytest.FixtureRequest, toolkit_cassette: Cassette) -> Iterator[Session]:
    """A `tk.Session` on the cassette of the test. Recording needs credentials; see `toolkit_live`."""
    from toolkit.session.session import Session
    from toolkit.sharing.pytest_plugin.item_cassette import session_arguments

    with _or_fail(lambda: Session(**session_arguments(request, toolkit_cassette))) as session:
        yield session


@pytest.fixture
def toolkit_async_session(request: pytest.FixtureRequest, toolkit_cassette: Cassette) -> Iterator[AsyncSession]:
    """A `tk.AsyncSession` on the cassette of the test, for async tests of pytest-asyncio, anyio or asyncio.run()."""
    from toolkit.session.session import AsyncSession
    from toolkit.sharing.pytest_plugin.item_cassette import close_without_loop, closing, session_arguments

    session = _or_fail(lambda: AsyncSession(**session_arguments(request, toolkit_cassette)))
    item: Any = request.node
    test = getattr(item, "obj", None)
    if toolkit_cassette.records and inspect.iscoroutinefunction(test):
        item.obj = closing(session, test)
    yield session
    close_without_loop(session)


def _or_fail(make: Callable[[], _T]) -> _T:
    """Return what a function makes; let the test fail with the two lines of an error instead of a traceback."""
    __tracebackhide__ = True
    from toolkit.core.errors import ToolkitError

    try:
        return make()
    except ToolkitError as error:
        problem = f"{type(error).__name__}: {error}"
    pytest.fail(problem, pytrace=False)  # outside the except clause, which would chain the error to it


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef: Any, request: pytest.FixtureRequest) -> None:
    """Note that a fixture is set up after the cassette which may still call when the test is over."""
    stash = getattr(request.node, "stash", None)
    is_other = fixturedef.argname not in _FIXTURES and not _is_of_pytest(fixturedef.func)
    if stash is not None and _PLAYING in stash and is_other and _has_teardown(fixturedef.func):
        stash[_CHECKED_LATE] = True


def _has_teardown(function: Any) -> bool:
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


def _is_of_pytest(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).partition(".")[0] in ("_pytest", "pytest_asyncio", "anyio")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Let a test fail that leaves interactions unplayed, or records a secret."""
    __tracebackhide__ = True
    value = yield
    playing = item.stash.get(_PLAYING, None)
    if playing is not None and not item.stash[_CHECKED_LATE]:
        from toolkit.core.errors import CassetteError

        try:
            playing.check()
        except CassetteError as error:
            problem = str(error)
        else:
            return value
        pytest.fail(problem, pytrace=False)
    return value


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Generator[None, Any, Any]:
    """Note how a test with a cassette ended, and say how to record again what its cassette does not have."""
    if call.excinfo is not None and not item.config.getoption("fulltrace", default=False):
        _leave_out_libraries(call.excinfo)
    report = yield
    if _PLAYING in item.stash:
        if call.excinfo is not None and not item.config.getoption("toolkit_record"):
            from toolkit.core.errors import CassetteMiss

            if call.excinfo.errisinstance(CassetteMiss):
                report.sections.append(
                    ("toolkit", f'If the test is right, record again: pytest --toolkit-record=all "{item.nodeid}"')
                )
        outcomes = item.stash[_OUTCOMES]
        if outcomes.get(call.when) != "failed":  # a subtest that failed counts for its test
            outcomes[call.when] = report.outcome
    return report


def _leave_out_libraries(excinfo: Any) -> None:
    """Leave out the frames of the toolkit and of httpx if a request of the test has no recording."""
    from toolkit.core.errors import CassetteMiss

    if not excinfo.errisinstance(CassetteMiss):
        return
    frames = [entry for entry in excinfo.traceback if _package_of(entry) not in _LIBRARIES]
    if frames:
        # pytest looks for the first frame of the test, and would take all frames after it again.
        complete = type(excinfo.traceback)
        excinfo.traceback = type("Cut", (complete,), {"cut": lambda self, **_: self})(frames)


def _package_of(entry: Any) -> str:
    return str(entry.frame.f_globals.get("__name__", "")).partition(".")[0]


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Count the tests that do not run."""
    if items:
        items[0].config.stash[NOTES].deselected += len(items)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the notes of a worker of pytest-xdist to the process that prints."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["toolkit"] = session.config.stash[NOTES].as_plain()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Receive the notes of a worker of pytest-xdist; a worker that crashed sends none."""
    plain = (getattr(node, "workeroutput", None) or {}).get("toolkit")
    if plain is not None:
        node.config.stash[NOTES].add(plain)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """List what was recorded, and the recordings of failed tests."""
    from toolkit.local.variables import is_offline

    notes = config.stash[NOTES]
    is_kept_from_recording = bool(config.getoption("toolkit_record")) and is_offline()
    if not notes.recorded and not notes.kept and not is_kept_from_recording:
        return
    terminalreporter.write_sep("-", "toolkit")
    if is_kept_from_recording:
        terminalreporter.write_line("TOOLKIT_OFFLINE is set: recordings were replayed, and nothing was recorded")
    if notes.recorded:
        count = len(set(notes.recorded))
        terminalreporter.write_line(f"recorded {count} cassette{'s' if count > 1 else ''}")
    for kept in sorted(set(notes.kept)):
        terminalreporter.write_line(f"the recording of a failed test is kept in {_shown(kept, config)}")


def _shown(file: str, config: pytest.Config) -> str:
    """Return a path as a reader at the command line writes it."""
    path, folder = Path(file), config.invocation_params.dir
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)
