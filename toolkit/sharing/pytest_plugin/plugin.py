"""The plugin's fixtures, options and hooks. pytest loads this in every run, so other modules are imported late.

`--toolkit-unused` lists the cassettes that no test opened, and `--toolkit-verify` runs notebooks as tests.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import nullcontext
from pathlib import Path
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
    "secrets=(), rules=None, allowed_hosts=()): replay toolkit cassettes, given as names in the project's cassettes "
    "folder or as paths (default: cassettes/<module>/<test>.yaml beside the test). Sessions that the test opens "
    "without a cassette use it."
)
_RECORDING = {
    "once": "record cassettes that do not exist yet",
    "new_episodes": "replay recorded calls, and record new ones",
    "all": "record everything again; the old cassette is replaced if the test passes",
}
_PLAY_LOG = "TOOLKIT_PLAY_LOG"  # names the folder in which all processes log what they open
_MOST_LINES = 8  # lines of a miss; where it happened comes before them, and how to record it again comes after
_PLAYING: pytest.StashKey[Playing] = pytest.StashKey()
_HAS_PASSED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options. Modes need "=", so that `tests` in `--toolkit-record tests` is not taken as a mode."""
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
        help="also collect notebooks: run each offline and compare with the saved outputs, as `toolkit verify` does",
    )
    parser.addini("toolkit_allowed_hosts", "hosts that replaying tests may connect to", type="args", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker and, if `--toolkit-unused` is given, the plugin that lists unused cassettes."""
    config.addinivalue_line("markers", _MARKER)
    if config.getoption("toolkit_unused"):
        config.pluginmanager.register(UnusedCassettes(config), "toolkit-unused")


@pytest.fixture(autouse=True)
def _toolkit_marked(request: pytest.FixtureRequest) -> None:
    """Open the cassette of a test that has the marker, before the test's function-scoped fixtures are set up."""
    if request.node.get_closest_marker("toolkit_cassette") is not None:
        request.getfixturevalue("toolkit_cassette")


@pytest.fixture
def toolkit_live() -> dict[str, Any]:
    """Arguments to `tk.Session` for recording, such as credentials and settings. Override this fixture if necessary.

    Sessions that the code under test opens also take missing arguments from this fixture. It is used only when
    something is recorded, so a practice service, for example, starts only then:

        @pytest.fixture(scope="session")
        def toolkit_live():
            with tk.practice() as service:
                yield {"environment": "broker-sandbox", "credentials": "sandbox-secret", "settings": service.settings}
    """
    return {}


@pytest.fixture
def toolkit_cassette(request: pytest.FixtureRequest) -> Iterator[Cassette | None]:
    """The test's cassette, a `tk.Cassette`, in strict replay unless something is to be recorded."""
    from toolkit.sharing.pytest_plugin.item_cassette import Playing, live_sessions

    item: Any = request.node
    named = [name for name in _FIXTURES if name in item.fixturenames]
    playing = item.stash[_PLAYING] = _or_fail(lambda: Playing(item, is_needed=bool(named)))
    records = playing.cassette is not None and playing.cassette.records
    takes_live = records and named in ([], ["toolkit_cassette"])  # sessions from fixtures use it automatically
    with live_sessions(request.getfixturevalue("toolkit_live")) if takes_live else nullcontext():
        yield playing.cassette
    problem = playing.end(well=item.stash.get(_HAS_PASSED, False))
    if problem:
        pytest.fail(problem, pytrace=False)


@pytest.fixture
def toolkit_session(request: pytest.FixtureRequest, toolkit_cassette: Cassette) -> Iterator[Session]:
    """A `tk.Session` with the test's cassette. Recording needs credentials; see `toolkit_live`."""
    from toolkit.session.session import Session

    with _or_fail(lambda: Session(**_arguments(request, toolkit_cassette))) as session:
        yield session


@pytest.fixture
def toolkit_async_session(request: pytest.FixtureRequest, toolkit_cassette: Cassette) -> AsyncSession:
    """A `tk.AsyncSession` with the test's cassette, for tests that use pytest-asyncio, anyio or asyncio.run()."""
    from toolkit.session.session import AsyncSession

    return _or_fail(lambda: AsyncSession(**_arguments(request, toolkit_cassette)))


def _arguments(request: pytest.FixtureRequest, cassette: Cassette) -> dict[str, Any]:
    live = request.getfixturevalue("toolkit_live") if cassette.records else {}
    playing: Playing = request.node.stash[_PLAYING]
    return playing.session_arguments(live)


def _or_fail(make: Callable[[], _T]) -> _T:
    """Return a function's result or, if it raises a toolkit error, fail the test with its message and no traceback."""
    __tracebackhide__ = True
    from toolkit.core.errors import ToolkitError

    try:
        return make()
    except ToolkitError as error:
        problem = f"{type(error).__name__}: {error}"
    pytest.fail(problem, pytrace=False)  # outside the except clause, which would chain the error to it


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Generator[None, Any, Any]:
    """Note whether a test with a cassette passed, and shorten the report of a request without a recording."""
    report = yield
    if _PLAYING not in item.stash:
        return report
    if call.when == "call" and item.stash.get(_HAS_PASSED, True):  # a failed subtest makes its test fail
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


class UnusedCassettes:
    """Prints the cassettes that no test opened, in the terminal summary.

    All processes in the run, including notebook kernels, log the cassettes that they open. The cassettes that
    pytest-recording opens are logged too.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config, self._patch = config, pytest.MonkeyPatch()
        self._log = Path(os.environ.get(_PLAY_LOG) or tempfile.mkdtemp(prefix="opened-"))
        self._patch.setenv(_PLAY_LOG, str(self._log))  # workers of pytest-xdist and kernels inherit it

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        """Log the cassettes that pytest-recording opens for a test."""
        from toolkit.cassettes.replay.player import note_played

        yield
        values = getattr(item, "funcargs", {})
        if path := getattr(values.get("vcr"), "_path", None):
            named = [name for mark in item.iter_markers("vcr") for name in mark.args if isinstance(name, str)]
            for name in (path, *(Path(values.get("vcr_cassette_dir", ""), name) for name in named)):
                note_played(self._log, Path(name), None)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        from toolkit.cassettes.catalog.facts import cassettes_in
        from toolkit.cassettes.replay.player import read_play_log
        from toolkit.core.text import count_text
        from toolkit.sharing.pytest_plugin.item_cassette import FAILED, FOLDER, project_settings

        write, start = terminalreporter.write_line, self._config.invocation_params.dir
        terminalreporter.write_sep("-", "cassettes that no test opened")
        folders = {project_settings(start / "any").cassettes_folder}
        for text in self._config.args:
            root = Path(start, text.partition("::")[0])
            folders |= {path for path in (root if root.is_dir() else root.parent).rglob(FOLDER) if path.is_dir()}
        files = sorted({file for folder in folders if folder.is_dir() for file in cassettes_in(folder)})
        files = [file for file in files if not file.stem.endswith((FAILED, ".part"))]
        opened = read_play_log(self._log) if self._log.is_dir() else {}
        unused = [file for file in files if file.resolve() not in opened]
        for file in unused:
            write(os.path.relpath(file, start))
        write(f"{len(unused)} of {count_text(len(files), 'cassette')}")
        options = map(self._config.getoption, ("keyword", "markexpr", "deselect", "ignore", "ignore_glob"))
        is_part = any("::" in text for text in self._config.args) or any(options)
        if is_part or any(map(terminalreporter.stats.get, ("deselected", "skipped", "failed", "error"))):
            write("Some tests did not run to the end, and may use these cassettes.")

    def pytest_unconfigure(self) -> None:
        self._patch.undo()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a notebook as a single test, if the option is set."""
    is_wanted = file_path.suffix == ".ipynb" and parent.config.getoption("toolkit_verify")
    return NotebookFile.from_parent(parent, path=file_path) if is_wanted else None


class NotebookFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        yield NotebookItem.from_parent(self, name="verify")


class NotebookItem(pytest.Item):
    """A test that a notebook still produces its stored outputs."""

    def runtest(self) -> None:
        """Run the notebook in a new kernel, and fail with the report if the outputs differ or the run fails."""
        from toolkit.verification import verify

        [verdict] = _or_fail(lambda: verify([self.path], jobs=1, play_log=os.environ.get(_PLAY_LOG)))
        if not verdict.outcome.is_good:
            advice = "" if verdict.failure else "\nIf the new outputs are right: toolkit verify --update"
            pytest.fail(f"{verdict}{advice}", pytrace=False)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.path.name
