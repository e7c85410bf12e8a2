"""A small project: its tests record and replay, and its mistakes are explained."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import plugin_projects
import pytest
from plugin_projects import ONE_CALL, names

from toolkit.sharing.pytest_plugin import plugin

pytest_plugins = ["pytester"]
run, cassettes = plugin_projects.run, plugin_projects.cassettes  # fixtures


def test_recorded_and_replayed(run, cassettes):
    """Without a recording a test does not run, and says how to record; then it replays without the service."""
    counts, output = run(test_shop=ONE_CALL)
    assert counts == {"errors": 1}
    assert "pytest --toolkit-record" in output
    assert "Traceback" not in output
    counts, output = run("--toolkit-record", test_shop=ONE_CALL)
    assert counts == {"passed": 1}
    assert "recorded 1 cassette" in output
    recorded = (cassettes / "test_account.yaml").read_bytes()
    assert run("--toolkit-record", test_shop=ONE_CALL)[0] == {"passed": 1}  # once: what exists is replayed
    assert run(test_shop=ONE_CALL)[0] == {"passed": 1}
    assert (cassettes / "test_account.yaml").read_bytes() == recorded
    assert names(cassettes) == ["test_account.yaml"]
    counts, output = run(test_shop=ONE_CALL.replace("/v2/account", "/v2/other").replace("/v1/accounts", "/v1/other"))
    assert counts == {"failed": 1}
    assert 'pytest --toolkit-record=all "test_shop.py::test_account"' in output


def test_wrong_use(run):
    """A misspelt marker, two names for one file and a marker of pytest-recording are explained."""
    module = """
        import pytest

        @pytest.mark.toolkit_cassette(enviroment="paper")
        def test_misspelt():
            pass

        @pytest.mark.parametrize("value", ["a/b", "a:b"])
        def test_same(toolkit_cassette, value):
            pass

        @pytest.mark.vcr
        def test_both(toolkit_cassette):
            pass
    """
    counts, output = run("--toolkit-record", test_shop=module)
    assert counts == {"errors": 4}
    for words in ("Did you mean environment?", "would have one cassette", "has the marker vcr too"):
        assert words in output


def test_modules_load_as_compiled():
    """pytest does not compile the toolkit's modules anew, and other versions of pytest are left alone."""
    manager = SimpleNamespace(rewrite_hook=SimpleNamespace(_must_rewrite={"toolkit", "other"}))
    plugin.load_as_compiled(manager)
    assert manager.rewrite_hook._must_rewrite == {"other"}
    plugin.load_as_compiled(SimpleNamespace())


def test_import_is_light():
    """What pytest loads in every run takes no other module of the toolkit than the register of secrets."""
    code = f"import sys, pytest, {plugin.__name__}; print(*(n for n in sys.modules if n.startswith('toolkit')))"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    own = {"toolkit", "toolkit.core", "toolkit.core.secret", "toolkit.sharing"}
    assert {name for name in output.split() if not name.startswith("toolkit.sharing.pytest_plugin")} == own
    assert "playing" not in output
    assert "marks" not in output


def test_a_miss_is_short(run):
    """A request that has no recording shows the line of the test, and no frame of the toolkit or of httpx."""
    calls = "def test_account(toolkit_session):\n    toolkit_session.trading.get('/v2/{}')\n"
    run("--toolkit-record", test_shop=calls.format("account"))
    counts, output = run(test_shop=calls.format("orders"))
    assert counts == {"failed": 1}
    assert "CassetteMiss" in output
    assert "test_shop.py:2" in output
    assert "httpx/_client.py" not in output
    assert "toolkit/session" not in output
    assert "toolkit/cassettes" not in output


def test_recording_while_offline(run, monkeypatch):
    """With TOOLKIT_OFFLINE nothing is recorded, and the summary says so."""
    run("--toolkit-record", test_shop=ONE_CALL)
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1")
    counts, output = run("--toolkit-record=all", test_shop=ONE_CALL)
    assert counts == {"passed": 1}
    assert "TOOLKIT_OFFLINE is set: recordings were replayed, and nothing was recorded" in output


def test_unknown_mode_of_recording():
    """An unknown mode is refused with the modes that there are; a known one and a path behind the option are not."""
    for arguments in (["--toolkit-record"], ["--toolkit-record=all"], ["--toolkit-record", "tests"]):
        plugin._check_mode(arguments)
    with pytest.raises(pytest.UsageError, match="Choose one of once, new_episodes, all"):
        plugin._check_mode(["-q", "--toolkit-record=bogus"])
