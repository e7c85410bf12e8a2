"""The magics, in a shell as a kernel has one."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import toolkit as tk
from toolkit.cassettes import ambient, endings
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
    ambient.take_away(well=False)
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
    assert ambient.current() is None
    endings._after_cell(SimpleNamespace(success=True))  # the next cell, which ends well
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


def test_calls_and_tokens_show_the_tables_of_a_session(shell: InteractiveShell) -> None:
    """Without a name they are those of the session that was assigned last."""
    run(
        shell,
        "session.accounts(); paper = tk.Session(credentials=service.credentials['paper'], settings=service.settings)",
    )
    assert len(run(shell, "%calls session")) == 2
    assert len(run(shell, "%tokens session")) == 1
    assert len(run(shell, "%calls")) == 0
    assert isinstance(shell.run_cell("%calls nobody").error_in_exec, tk.ConfigurationError)


def test_unloading_takes_the_cell_magic_away(shell: InteractiveShell) -> None:
    """After %unload_ext the first line of a cell is left alone."""
    tk.unload_ipython_extension(shell)
    assert shell.transform_cell("%%cassette x\n1").startswith("get_ipython().run_cell_magic")
