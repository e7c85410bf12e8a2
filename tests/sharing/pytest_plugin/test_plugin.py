"""A small project: its tests record and replay, and its mistakes are explained."""

from __future__ import annotations

from plugin_projects import ONE_CALL, names

pytest_plugins = ["pytester", "plugin_projects"]


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
