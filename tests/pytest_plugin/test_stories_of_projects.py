"""Stories of small projects: tests that record, replay, fail, and what is in their folders afterwards."""

from __future__ import annotations

import subprocess
import sys

import plugin_projects
from plugin_projects import ONE_CALL, names, numbers

from toolkit.scrubbing.scanning import Finding, FindingList
from toolkit.sharing.pytest_plugin import item_cassette, plugin

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
    recorded = (cassettes / "test_account.yaml").read_bytes()
    assert run("--toolkit-record", test_shop=ONE_CALL)[0] == {"passed": 1}  # once: what exists is replayed
    assert run(test_shop=ONE_CALL)[0] == {"passed": 1}
    assert (cassettes / "test_account.yaml").read_bytes() == recorded
    assert names(cassettes) == ["test_account.yaml"]


def test_a_miss_is_short(run):
    """A request that has no recording shows the line of the test, the nearest recording, and how to record it."""
    calls = "def test_account(toolkit_session):\n    toolkit_session.trading.get('/v2/{}')\n"
    run("--toolkit-record", test_shop=calls.format("account"))
    counts, output = run("--no-header", "-q", test_shop=calls.format("orders"))
    assert counts == {"failed": 1}
    shown = output.partition("_ test_account _")[2].partition("short test summary")[0].strip("_= \n").splitlines()
    assert len(shown) <= 10
    assert "test_shop.py:2: " in shown[0]
    assert "CassetteMiss" in shown[1]
    assert 'pytest --toolkit-record=all "test_shop.py::test_account"' in shown[-1]


def test_wrong_use(run):
    """A misspelt argument and a marker of pytest-recording are explained."""
    module = """
        import pytest

        @pytest.mark.toolkit_cassette(enviroment="paper")
        def test_misspelt():
            pass

        @pytest.mark.vcr
        def test_both(toolkit_cassette):
            pass

        @pytest.mark.toolkit_cassette(environment="paper", credentials="nobody")
        def test_profile(toolkit_session):
            pass
    """
    counts, output = run("--toolkit-record", test_shop=module)
    assert counts == {"errors": 3}
    for words in ("has no argument 'enviroment'", "also has the marker vcr", "'nobody'"):
        assert words in output


def test_import_is_light():
    """What pytest loads in every run takes no other module of the toolkit than the register of secrets."""
    code = f"import sys, pytest, {plugin.__name__}; print(*(n for n in sys.modules if n.startswith('toolkit')))"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    own = {"toolkit", "toolkit.core", "toolkit.core.secret", "toolkit.sharing"}
    own |= {"toolkit.sharing.pytest_plugin", plugin.__name__}
    assert set(output.split()) == own


def test_failed_recording(run, cassettes):
    """The recording of a failed test is kept aside and the old one stays; that of the next good test replaces both."""
    run("--toolkit-record", test_shop=ONE_CALL)
    for mode in ("all", "new_episodes"):
        before = (cassettes / "test_account.yaml").read_bytes()
        more = "\n        toolkit_session.trading.get('/v2/orders')\n        assert False\n"
        counts, output = run(f"--toolkit-record={mode}", test_shop=ONE_CALL.rstrip() + more)
        assert counts == {"failed": 1}
        assert "kept in cassettes/test_shop/test_account.failed.yaml" in output
        assert (cassettes / "test_account.yaml").read_bytes() == before
        assert len(numbers(cassettes / "test_account.failed.yaml")) == 2
        assert names(cassettes) == ["test_account.failed.yaml", "test_account.yaml"]
    assert run("--toolkit-record=all", test_shop=ONE_CALL)[0] == {"passed": 1}
    assert names(cassettes) == ["test_account.yaml"]


def test_new_episodes(run, cassettes):
    """With new_episodes a test replays what is recorded, and adds the rest."""
    run("--toolkit-record", test_shop=ONE_CALL)
    before = (cassettes / "test_account.yaml").read_bytes()
    more = ONE_CALL.rstrip() + "\n        toolkit_session.trading.get('/v2/orders')\n"
    assert run(test_shop=more)[0] == {"failed": 1}
    assert run("--toolkit-record=new_episodes", test_shop=more)[0] == {"passed": 1}
    assert (cassettes / "test_account.yaml").read_bytes().startswith(before)
    assert run(test_shop=more)[0] == {"passed": 1}


def test_strict(run):
    """A test fails if it leaves recordings unplayed, unless its marker says that this is fine."""
    run("--toolkit-record", test_shop=ONE_CALL)
    no_call = "def test_account(toolkit_session): pass"
    counts, output = run(test_shop=no_call)
    assert counts == {"passed": 1, "errors": 1}
    assert "1 of its 1 interactions were not played" in output
    assert "--toolkit-record=all" in output
    assert "plugin.py" not in output  # no traceback
    lenient = f"import pytest\n@pytest.mark.toolkit_cassette(strict=False)\n{no_call}"
    assert run(test_shop=lenient)[0] == {"passed": 1}


def test_secret(run, cassettes, monkeypatch):
    """A test whose recording has what looks like a secret fails, and the recording is kept aside."""
    finding = Finding(cassettes / "x.part.yaml", 3, "value of a field password")
    monkeypatch.setattr(item_cassette, "scan_files", lambda *_, **__: FindingList([finding]))
    counts, output = run("--toolkit-record", test_shop=ONE_CALL)
    assert counts == {"passed": 1, "errors": 1}
    assert "line 3: value of a field password" in output
    assert names(cassettes) == ["test_account.failed.yaml"]


def test_marker_alone(run, cassettes):
    """With the marker, sessions that the code under test opens use the cassette; a test without calls needs none.

    What a fixture calls when the test is over counts.
    """
    module = """
        import pytest
        import toolkit as tk

        pytestmark = pytest.mark.toolkit_cassette

        @pytest.fixture
        def numbers():
            session = tk.Session("paper")
            yield [session.trading.get("/v2/account").json()["number"] for _ in range(2)]
            session.trading.delete("/v2/account")

        def test_own_session(numbers):
            assert len(numbers) == 2

        def test_no_call():
            pass

        def test_wrong_call(REQUEST):
            with pytest.raises(tk.NetworkBlocked, match="no recording yet"):
                import urllib.request
                urllib.request.urlopen("http://192.0.2.1/")
    """
    recording = module.replace("test_wrong_call(REQUEST)", "wrong_call()")
    assert run("--toolkit-record", test_shop=recording)[0] == {"passed": 2}
    assert names(cassettes) == ["test_own_session.yaml"]
    assert run(test_shop=module.replace("REQUEST", ""))[0] == {"passed": 3}


def test_several_cassettes(run, pytester):
    """A marker with several cassettes replays all of them, each recording once, and never records."""
    module = """
        import pytest

        @pytest.mark.toolkit_cassette("one", environment="paper")
        def test_one(toolkit_session):
            toolkit_session.trading.get("/v2/account")

        @pytest.mark.toolkit_cassette("two", environment="paper")
        def test_two(toolkit_session):
            toolkit_session.trading.get("/v2/orders")

        @pytest.mark.toolkit_cassette("one", "two", environment="paper")
        def test_zusammen(toolkit_session):
            paths = [toolkit_session.trading.get(path).json()["path"] for path in ("/v2/orders", "/v2/account")]
            assert paths == ["/v2/orders", "/v2/account"]
    """
    assert run("--toolkit-record", "-k", "one or two", test_shop=module)[0] == {"passed": 2, "deselected": 1}
    before = {path: path.read_bytes() for path in (pytester.path / "cassettes").iterdir()}
    counts, output = run("--toolkit-record=all", "--toolkit-unused", "-k", "zusammen", test_shop=module)
    assert counts == {"passed": 1, "deselected": 2}, output
    assert "0 of 2 cassettes" in output
    assert "Some tests did not run" in output
    assert {path: path.read_bytes() for path in (pytester.path / "cassettes").iterdir()} == before


def test_choices(run, pytester):
    """Markers of class and test are merged: cassette, environment and mode; mode none holds against the command."""
    module = """
        import pytest

        @pytest.mark.toolkit_cassette("wrong", environment="paper")
        class TestShop:
            @pytest.mark.parametrize("path", ["/v2/a", "/v2/b"])
            @pytest.mark.toolkit_cassette("tour", strict=False)
            def test_named(self, toolkit_session, path):
                assert toolkit_session.environment == "paper"
                toolkit_session.trading.get("/v2/account")

            @pytest.mark.toolkit_cassette(names=())
            @pytest.mark.parametrize("path", ["/v2/a"])
            def test_same(self, toolkit_session, path):
                toolkit_session.trading.get(path)

        @pytest.mark.toolkit_cassette("data/x.yaml", mode="once")
        def test_path(toolkit_cassette, toolkit_session):
            toolkit_session.trading.get("/v2/account")

        @pytest.mark.toolkit_cassette("pinned", mode="none")
        def test_pinned(toolkit_session):
            toolkit_session.trading.get("/v2/account")
    """
    assert run("--toolkit-record", test_shop=module)[0] == {"passed": 4, "errors": 1}
    assert (pytester.path / "cassettes" / "tour.yaml").exists()
    assert names(pytester.path / "cassettes" / "test_shop") == ["TestShop.test_same[-v2-a].yaml"]
    assert (pytester.path / "data" / "x.yaml").exists()
    assert run("-k", "not pinned", test_shop=module)[0] == {"passed": 4, "deselected": 1}
