"""The magics work in a shell as in a kernel."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from IPython.core.interactiveshell import InteractiveShell

import toolkit as tk
from toolkit.cassettes import selection
from toolkit.cassettes.recording import recorder as finishing


@pytest.fixture
def shell(service, tmp_path, monkeypatch):
    """Return a shell in a project, with the extension loaded and a live session in the variable `session`."""
    (tmp_path / "toolkit.toml").write_text("[addresses]\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    shell = InteractiveShell()
    tk.load_ipython_extension(shell)
    credentials = service.credentials["sandbox-secret"]
    shell.user_ns |= {"tk": tk, "service": service, "credentials": credentials}
    shell.user_ns["session"] = tk.Session(credentials=credentials, settings=service.settings)
    yield shell
    selection.take_away(well=False)
    tk.unload_ipython_extension(shell)


def run(shell, cell):
    """Run a cell without errors, and return its value."""
    done = shell.run_cell(cell)
    done.raise_error()
    return done.result


def test_a_cell_is_recorded_and_replayed(shell, service, capsys):
    """Calls of an existing session are recorded in the cell, and replayed when it runs again; its output says so."""
    lines = []
    for cell in (
        "%%cassette mine\n_ = session.accounts()",
        "%%cassette mine\n_ = session.accounts()",
        "%%cassette mine --mode new_episodes\n_ = session.accounts(), session.accounts(limit=1)",
        "%%cassette mine\n_ = 1",
        "_ = 1",
    ):
        run(shell, cell)
        lines.append(capsys.readouterr().out)
    assert lines == [
        "%%cassette: recorded 2 interactions (mine.yaml).\n",
        "%%cassette: replayed 2 interactions (mine.yaml).\n",
        "%%cassette: replayed 2 interactions and recorded 1 interaction (mine.yaml).\n",
        "%%cassette: nothing in this cell used the cassette (mine.yaml).\n",
        "",
    ]
    path = Path("cassettes/mine.yaml")
    assert len(tk.Cassette(path, mode="none")) == 3
    assert tk.scan(path, secrets=[shell.user_ns["credentials"].client_secret]) == []
    service.close()
    assert run(shell, "%%cassette mine\nlen(session.accounts())") == 25


def test_a_session_opened_in_the_cell_stays_with_the_cassette(shell):
    """A session opened in the cell replays there and in later cells without credentials and addresses."""
    run(shell, "%%cassette mine\nsession.accounts()")
    assert (
        run(shell, '%%cassette mine --mode none\nreplayed = tk.Session("broker-sandbox")\nlen(replayed.accounts())')
        == 25
    )
    assert run(shell, "len(replayed.accounts())") == 25


def test_a_cell_may_await(shell):
    """A cell with the magic may await."""
    cell = """%%cassette later
async with tk.AsyncSession(credentials=credentials, settings=service.settings) as live:
    rows = len(await live.accounts())
rows"""
    assert run(shell, cell) == 25
    assert len(tk.Cassette("cassettes/later.yaml", mode="none")) == 2


def test_a_failed_cell_keeps_the_old_recording(shell):
    """A failed cell in mode `all` drops the new recording and keeps the old one."""
    run(shell, "%%cassette mine\nsession.accounts()")
    before = Path("cassettes/mine.yaml").read_bytes()
    failed = shell.run_cell("%%cassette mine --mode all\nsession.accounts()\n1 / 0")
    assert isinstance(failed.error_in_exec, ZeroDivisionError)
    assert selection.current() is None
    finishing._after_cell(SimpleNamespace(success=True))  # the next cell, which ends well
    assert Path("cassettes/mine.yaml").read_bytes() == before


@pytest.mark.parametrize("line", ["", "--mode sometimes x", "x y", '"x'])
def test_a_wrong_line_is_an_error_that_shows_the_usage(shell, line):
    """A malformed line is an error that shows the usage, and the rest of the cell does not run."""
    failed = shell.run_cell(f"%%cassette {line}\nran = True")
    assert isinstance(failed.error_in_exec, tk.ConfigurationError)
    assert "%%cassette NAME" in str(failed.error_in_exec)
    assert "ran" not in shell.user_ns


def test_a_session_with_its_own_cassette_keeps_it_and_the_cell_says_so(shell, capsys):
    """A session with its own cassette keeps it, and the cell says so if it used the session."""
    run(shell, 'own = tk.Session(credentials=credentials, settings=service.settings, cassette="cassettes/own.yaml")')
    run(shell, "own.accounts()")
    run(shell, "%%cassette mine\nsession.accounts()")
    assert capsys.readouterr().err == ""
    run(shell, "%%cassette mine\nown.accounts(limit=1)")
    words = "%%cassette: own keeps its own cassette, own.yaml, so its calls are not in mine.yaml.\n"
    assert capsys.readouterr().err == words
    replay = 'tk.Session("broker-sandbox", cassette="cassettes/own.yaml", mode="none")'
    run(shell, f"%%cassette mine\nlater = {replay}; later.accounts()")
    assert capsys.readouterr().err == words.replace("own keeps", "later keeps")
    run(shell, f"idle = {replay}")
    run(shell, "%%cassette mine\nidle")
    assert capsys.readouterr().err == ""


def test_a_panel_with_its_own_cassette_keeps_it_too(shell, capsys):
    """A panel with its own cassette keeps it; an unconnected panel and a dead proxy do no harm."""
    run(shell, "%%cassette first\nsession.accounts()")
    run(shell, "import weakref\nclass Gone: pass\ngone = weakref.proxy(Gone())")
    run(shell, 'panel = tk.panel(cassette="first"); other = tk.panel()')
    run(shell, "%%cassette mine\n_ = panel.session.accounts()")
    words = "%%cassette: panel.session keeps its own cassette, first.yaml, so its calls are not in mine.yaml.\n"
    assert capsys.readouterr().err == words
    run(shell, "panel.close(); other.close()")


@pytest.mark.parametrize("cell", ["1 / 0", "await service.nothing()", "raise KeyboardInterrupt", "def"])
def test_the_cassette_is_removed_however_the_cell_ends(shell, cell):
    """The cassette is removed after an exception, an interrupt and invalid Python, and while awaiting."""
    assert not shell.run_cell(f"%%cassette mine\n{cell}").success
    assert selection.current() is None


def test_secrets_are_masked_until_it_is_unloaded(shell, capsys):
    """Secrets, the token of a session included, are masked until the extension is unloaded."""
    tk.load_ipython_extension(shell)  # once more: pytest has other streams in a test than in its fixtures
    run(shell, "session.accounts(); print(session.token.access_token.reveal(), credentials.client_secret.reveal())")
    assert capsys.readouterr().out == "<ACCESS_TOKEN> <CLIENT_SECRET>\n"
    tk.unload_ipython_extension(shell)
    run(shell, "print(credentials.client_secret.reveal())")
    assert capsys.readouterr().out == f"{shell.user_ns['credentials'].client_secret.reveal()}\n"


def test_a_cell_within_the_cell_leaves_the_cassette_in_place(shell):
    """A cell within the cell, even an empty or failing one, leaves the cassette in place."""
    shell.user_ns["shell"] = shell
    cell = "%%cassette mine\nfor inner in ('session.accounts()', '', '1 / 0'):\n    shell.run_cell(inner)\n"
    run(shell, f"{cell}session.accounts(limit=1)")
    assert selection.current() is None
    assert len(tk.Cassette("cassettes/mine.yaml", mode="none")) == 3


def test_a_cell_has_one_cassette(shell):
    """A second %%cassette in a cell is refused, and the first cassette is removed."""
    shell.user_ns["shell"] = shell
    for cell in ("%%cassette other\n1", "shell.run_cell('%%cassette other\\n1').raise_error()"):
        failed = shell.run_cell(f"%%cassette mine\n{cell}")
        assert "already has the cassette mine.yaml" in str(failed.error_in_exec)
        assert selection.current() is None
    assert not Path("cassettes/other.yaml").exists()
