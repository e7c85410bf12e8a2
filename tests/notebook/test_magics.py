"""The magics, in a shell as a kernel has one."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell

import toolkit as tk
from toolkit.cassettes import cell_cassette
from toolkit.cassettes.recording import finishing
from toolkit.notebook.magics import Magics
from toolkit.practice_service import PracticeService, practice


@pytest.fixture
def service() -> Iterator[PracticeService]:
    """A practice service with three accounts."""
    with practice(accounts=3) as running:
        yield running


@pytest.fixture
def shell(service: PracticeService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    """A shell in a project of its own, with the extension loaded and a live session in a variable."""
    (tmp_path / "toolkit.toml").write_text("[addresses]\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    shell = InteractiveShell()
    tk.load_ipython_extension(shell)
    credentials = service.credentials["sandbox-secret"]
    shell.user_ns |= {"tk": tk, "service": service, "credentials": credentials}
    shell.user_ns["session"] = tk.Session(credentials=credentials, settings=service.settings)
    yield shell
    cell_cassette.take_away(well=False)
    tk.unload_ipython_extension(shell)


def run(shell: InteractiveShell, cell: str) -> Any:
    """The value of a cell that is to run well."""
    done = shell.run_cell(cell)
    done.raise_error()
    return done.result


def test_a_cell_is_recorded_and_replayed(shell: InteractiveShell, service: PracticeService) -> None:
    """What an existing session does in the cell is recorded; the same cell then replays without the service."""
    cell = "%%cassette mine\nlen(session.accounts())"
    assert run(shell, cell) == 3
    path = Path("cassettes/mine.yaml")
    assert len(tk.Cassette(path, mode="none")) == 2
    assert tk.scan(path, secrets=[shell.user_ns["credentials"].client_secret]) == []
    service.close()
    assert run(shell, cell) == 3


def test_a_cell_says_what_it_did(
    shell: InteractiveShell, service: PracticeService, capsys: pytest.CaptureFixture[str]
) -> None:
    """Recorded, replayed, both or neither: who sees a table cannot tell."""
    told = []
    for cell in (
        "%%cassette mine\n_ = session.accounts()",
        "%%cassette mine\n_ = session.accounts()",
        "%%cassette mine --mode new_episodes\n_ = session.accounts(), session.accounts(limit=1)",
        "%%cassette mine\n_ = 1",
        "_ = 1",
    ):
        run(shell, cell)
        told.append(capsys.readouterr().out)
    assert told == [
        "%%cassette: recorded 2 interactions (mine.yaml).\n",
        "%%cassette: replayed 2 interactions (mine.yaml).\n",
        "%%cassette: replayed 2 interactions and recorded 1 interaction (mine.yaml).\n",
        "%%cassette: nothing in this cell used it (mine.yaml).\n",
        "",
    ]


def test_outside_of_the_cell_calls_are_live(shell: InteractiveShell, service: PracticeService) -> None:
    """The cassette is put away at the end of its cell."""
    run(shell, "%%cassette mine\nsession.accounts()")
    before = service.stats.calls
    run(shell, "session.accounts()")
    assert service.stats.calls == before + 1
    assert len(tk.Cassette("cassettes/mine.yaml", mode="none")) == 2


def test_a_session_opened_in_the_cell_stays_with_the_cassette(shell: InteractiveShell) -> None:
    """A replay needs neither credentials nor addresses, in that cell and in later ones."""
    run(shell, "%%cassette mine\nsession.accounts()")
    assert (
        run(shell, '%%cassette mine --mode none\nreplayed = tk.Session("broker-sandbox")\nlen(replayed.accounts())')
        == 3
    )
    assert run(shell, "len(replayed.accounts())") == 3


def test_a_cell_may_await(shell: InteractiveShell) -> None:
    """The rest of the cell runs as any cell does, `await` included."""
    cell = """%%cassette later
async with tk.AsyncSession(credentials=credentials, settings=service.settings) as live:
    rows = len(await live.accounts())
rows"""
    assert run(shell, cell) == 3
    assert len(tk.Cassette("cassettes/later.yaml", mode="none")) == 2


def test_it_is_put_away_after_an_exception(shell: InteractiveShell) -> None:
    """A cell that fails leaves no cassette behind, and with mode `all` the old recording stays."""
    run(shell, "%%cassette mine\nsession.accounts()")
    before = Path("cassettes/mine.yaml").read_bytes()
    failed = shell.run_cell("%%cassette mine --mode all\nsession.accounts()\n1 / 0")
    assert isinstance(failed.error_in_exec, ZeroDivisionError)
    assert cell_cassette.current() is None
    finishing._after_cell(SimpleNamespace(success=True))  # the next cell, which ends well
    assert Path("cassettes/mine.yaml").read_bytes() == before


def test_all_replaces_the_recording_when_the_cell_ends_well(shell: InteractiveShell) -> None:
    """Mode `all` records anew, and the new recording takes the place of the old one."""
    run(shell, "%%cassette mine\nsession.accounts(); session.accounts(limit=1)")
    run(shell, "%%cassette mine --mode all\nsession.accounts()")
    assert len(tk.Cassette("cassettes/mine.yaml", mode="none")) == 1
    assert not Path("cassettes/mine.part.yaml").exists()


@pytest.mark.parametrize("line", ["", "--mode sometimes x", "x y", '"x'])
def test_a_wrong_line_is_an_error_that_shows_the_usage(shell: InteractiveShell, line: str) -> None:
    """Nothing of the cell runs."""
    failed = shell.run_cell(f"%%cassette {line}\nran = True")
    assert isinstance(failed.error_in_exec, tk.ConfigurationError)
    assert "%%cassette NAME" in str(failed.error_in_exec)
    assert "ran" not in shell.user_ns


def test_a_session_with_its_own_cassette_keeps_it_and_the_cell_says_so(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only when the cell has used it, whether it was opened before or in the cell."""
    run(shell, 'own = tk.Session(credentials=credentials, settings=service.settings, cassette="cassettes/own.yaml")')
    run(shell, "own.accounts()")
    run(shell, "%%cassette mine\nsession.accounts()")
    assert capsys.readouterr().err == ""
    run(shell, "%%cassette mine\nown.accounts(limit=1)")
    words = "%%cassette: own keeps its own cassette own.yaml: its calls are not in mine.yaml.\n"
    assert capsys.readouterr().err == words
    replay = 'tk.Session("broker-sandbox", cassette="cassettes/own.yaml", mode="none")'
    run(shell, f"%%cassette mine\nlater = {replay}; later.accounts()")
    assert capsys.readouterr().err == words.replace("own keeps", "later keeps")
    run(shell, f"idle = {replay}")
    run(shell, "%%cassette mine\nidle")
    assert capsys.readouterr().err == ""


def test_a_panel_with_its_own_cassette_keeps_it_too(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    """A panel that is not connected, and a proxy of an object that is gone, do no harm."""
    run(shell, "%%cassette first\nsession.accounts()")
    run(shell, "import weakref\nclass Gone: pass\ngone = weakref.proxy(Gone())")
    run(shell, 'panel = tk.panel(cassette="first"); other = tk.panel()')
    run(shell, "%%cassette mine\n_ = panel.session.accounts()")
    words = "%%cassette: panel.session keeps its own cassette first.yaml: its calls are not in mine.yaml.\n"
    assert capsys.readouterr().err == words
    run(shell, "panel.close(); other.close()")


def test_nothing_is_told_of_the_cells_own_cassette(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    """A session opened in the cell records to it, and so does one with a cassette of the same file."""
    opened = "tk.Session(credentials=credentials, settings=service.settings"
    run(shell, f"%%cassette mine --mode all\nu = {opened}); u.accounts()")
    assert capsys.readouterr().err == ""
    named = 'cassette="cassettes/mine.yaml", mode="new_episodes"'
    run(shell, f"%%cassette mine\nv = {opened}, {named}); v.accounts(limit=1)")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("cell", ["1 / 0", "await service.nothing()", "raise KeyboardInterrupt", "def"])
def test_it_is_put_away_however_the_cell_ends(shell: InteractiveShell, cell: str) -> None:
    """After an exception, in a cell that awaits, when interrupted, and when it is no Python."""
    assert not shell.run_cell(f"%%cassette mine\n{cell}").success
    assert cell_cassette.current() is None


def test_it_is_put_away_without_a_result(shell: InteractiveShell) -> None:
    """IPython has none when a cell was interrupted before it began."""
    run(shell, "%%cassette mine\n1")
    magics = next(
        one.__self__
        for one in shell.events.callbacks["post_run_cell"]
        if isinstance(getattr(one, "__self__", None), Magics)
    )
    magics.cassette("mine")
    shell.events.trigger("post_run_cell", None)
    assert cell_cassette.current() is None


def test_loading_twice_is_loading_once(shell: InteractiveShell) -> None:
    """Unloading removes the callbacks and the magic."""
    tk.load_ipython_extension(shell)
    callbacks = [callback for callback in shell.events.callbacks["post_run_cell"] if "Magics" in repr(callback)]
    assert len(callbacks) == 1
    tk.unload_ipython_extension(shell)
    assert "cassette" not in shell.magics_manager.magics["line"]
    assert shell.transform_cell("%%cassette x\n1").startswith("get_ipython().run_cell_magic")


def test_secrets_are_masked_while_it_is_loaded(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of a session, its token included, until it is unloaded."""
    tk.load_ipython_extension(shell)  # once more: pytest has other streams in a test than in its fixtures
    run(shell, "session.accounts(); print(session.token.access_token.reveal(), credentials.client_secret.reveal())")
    assert capsys.readouterr().out == "<ACCESS_TOKEN> <CLIENT_SECRET>\n"
    tk.unload_ipython_extension(shell)
    run(shell, "print(credentials.client_secret.reveal())")
    assert capsys.readouterr().out == f"{shell.user_ns['credentials'].client_secret.reveal()}\n"


def test_a_cell_within_the_cell_leaves_the_cassette_in_place(shell: InteractiveShell) -> None:
    """It is put away when the cell that named it ends, not when one that runs in it does, an empty one included."""
    shell.user_ns["shell"] = shell
    cell = "%%cassette mine\nfor inner in ('session.accounts()', '', '1 / 0'):\n    shell.run_cell(inner)\n"
    run(shell, f"{cell}session.accounts(limit=1)")
    assert cell_cassette.current() is None
    assert len(tk.Cassette("cassettes/mine.yaml", mode="none")) == 3


def test_a_cell_has_one_cassette(shell: InteractiveShell) -> None:
    """A second one is refused by name, in the same cell and in one that runs within it, and the first is put away."""
    shell.user_ns["shell"] = shell
    for cell in ("%%cassette other\n1", "shell.run_cell('%%cassette other\\n1').raise_error()"):
        failed = shell.run_cell(f"%%cassette mine\n{cell}")
        assert "already has the cassette mine.yaml" in str(failed.error_in_exec)
        assert cell_cassette.current() is None
    assert not Path("cassettes/other.yaml").exists()


def test_another_cell_magic_may_follow(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    """As with the cell magics of IPython, in either order."""
    run(shell, "%%cassette mine\n%%time\nprint(len(session.accounts()))")
    run(shell, "%%time\n%%cassette mine --mode new_episodes\nprint(len(session.accounts(limit=1)))")
    run(shell, "%%cassette mine --mode new_episodes\n\n  \n%%time\nprint(len(session.accounts(limit=2)))")
    seen = capsys.readouterr().out
    assert seen.count("Wall time") == 3
    assert len(tk.Cassette("cassettes/mine.yaml", mode="none")) == 4


def test_it_is_put_away_from_a_cell_that_is_described_anew(shell: InteractiveShell) -> None:
    """As IPython does for one that was interrupted while it awaited."""
    run(shell, "%%cassette mine\n_ = 1")
    magics = shell.magics_manager.magics["line"]["cassette"].__self__
    shell.events.trigger("pre_run_cell", info := ExecutionInfo("await", True, False, True, "id"))
    magics.cassette("mine")
    assert cell_cassette.current() is not None
    again = ExecutionInfo("await", True, False, True, "id")
    assert again is not info
    magics.end_of_cell(ExecutionResult(again))
    assert cell_cassette.current() is None
