"""A small project: its tests record and replay, and its mistakes are explained."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import plugin_projects
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
    own = {"toolkit", "toolkit.core", "toolkit.core.register", "toolkit.sharing"}
    assert {name for name in output.split() if not name.startswith("toolkit.sharing.pytest_plugin")} == own
    assert "playing" not in output
    assert "marks" not in output
