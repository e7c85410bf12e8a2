"""Stories of small projects: tests that record, replay, fail, and what is in their folders afterwards."""

from __future__ import annotations

import plugin_projects
from plugin_projects import ONE_CALL, names, numbers

from toolkit.scrubbing.scanning import Finding, FindingList
from toolkit.sharing.pytest_plugin import playing

pytest_plugins = ["pytester"]
run, cassettes = plugin_projects.run, plugin_projects.cassettes  # fixtures


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
    assert counts == {"failed": 1}
    assert "1 of its 1 interactions were not played" in output
    assert "--toolkit-record=all" in output
    lenient = f"import pytest\n@pytest.mark.toolkit_cassette(strict=False)\n{no_call}"
    assert run(test_shop=lenient)[0] == {"passed": 1}


def test_calls_after_the_test(run):
    """What a fixture calls when the test is over counts: it is recorded, and in replay it is played."""
    module = """
        import pytest

        @pytest.fixture
        def account(toolkit_session):
            yield toolkit_session.trading.get("/v2/account").json()
            CALL

        def test_account(account):
            assert account["path"] == "/v2/account"
    """
    call = 'toolkit_session.trading.delete("/v2/account")'
    assert run("--toolkit-record", test_shop=module.replace("CALL", call))[0] == {"passed": 1}
    assert run(test_shop=module.replace("CALL", call))[0] == {"passed": 1}
    assert run(test_shop=module.replace("CALL", ""))[0] == {"passed": 1, "errors": 1}


def test_secret(run, cassettes, monkeypatch):
    """A test whose recording has what looks like a secret fails, and the recording is kept aside."""
    finding = Finding(cassettes / "x.part.yaml", 3, "value of a field password")
    monkeypatch.setattr(playing, "scan_files", lambda *_, **__: FindingList([finding]))
    counts, output = run("--toolkit-record", test_shop=ONE_CALL)
    assert counts == {"failed": 1}
    assert "line 3: value of a field password" in output
    assert names(cassettes) == ["test_account.failed.yaml"]


def test_marker_alone(run, cassettes):
    """With the marker, sessions that the code under test opens use the cassette; a test without calls needs none."""
    module = """
        import pytest
        import toolkit as tk

        pytestmark = pytest.mark.toolkit_cassette

        @pytest.fixture
        def numbers(toolkit_live):
            session = tk.Session(transport=toolkit_live["transport"], **OPTIONS)
            return [session.trading.get("/v2/account").json()["number"] for _ in range(2)]

        def test_own_session(numbers):
            assert len(numbers) == 2

        def test_no_call():
            pass

        def test_wrong_call(REQUEST):
            with pytest.raises(tk.NetworkBlocked, match="no recording yet"):
                import urllib.request
                urllib.request.urlopen("http://192.0.2.1/")
    """
    options = '**{name: toolkit_live[name] for name in ("credentials", "settings")}'
    recording = module.replace("**OPTIONS", options).replace("test_wrong_call(REQUEST)", "wrong_call()")
    assert run("--toolkit-record", test_shop=recording)[0] == {"passed": 2}
    assert names(cassettes) == ["test_own_session.yaml"]
    replaying = module.replace("**OPTIONS", "").replace("REQUEST", "")
    assert run(test_shop=replaying)[0] == {"passed": 3}


def test_choices(run, pytester):
    """A marker names cassette, environment and mode; mode none holds against the command line."""
    module = """
        import pytest

        @pytest.mark.toolkit_cassette("tour", environment="paper")
        def test_named(toolkit_session):
            assert toolkit_session.environment == "paper"
            toolkit_session.trading.get("/v2/account")

        @pytest.mark.toolkit_cassette("data/x.yaml", mode="once")
        def test_path(toolkit_cassette, toolkit_session):
            toolkit_session.trading.get("/v2/account")

        @pytest.mark.toolkit_cassette("pinned", mode="none")
        def test_pinned(toolkit_session):
            toolkit_session.trading.get("/v2/account")
    """
    assert run("--toolkit-record", test_shop=module)[0] == {"passed": 2, "errors": 1}
    assert (pytester.path / "cassettes" / "tour.yaml").exists()
    assert (pytester.path / "data" / "x.yaml").exists()
    assert run("-k", "not pinned", test_shop=module)[0] == {"passed": 2, "deselected": 1}


def test_switched_off(run):
    """With -p no:toolkit there is no fixture."""
    counts, output = run("-pno:toolkit", test_shop=ONE_CALL)
    assert counts == {"errors": 1}
    assert "fixture 'toolkit_session' not found" in output
