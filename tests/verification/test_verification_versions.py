"""Versions: which are recorded, and what is said when others run."""

from toolkit.verification.verdict import VersionChange, changes, describe_changes, running_versions


def test_the_running_versions_are_by_name():
    """Python, the toolkit and what makes outputs, in order."""
    running = running_versions()
    assert {"python", "toolkit", "pandas", "ipywidgets"} <= set(running)
    assert list(running) == sorted(running)


def test_changes_are_told_in_words():
    """Another version, a library that is gone and one that came; nothing where nothing was stored."""
    found = changes({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "4", "d": "5"})
    assert found == (VersionChange("b", "2", "4"), VersionChange("c", "3", None), VersionChange("d", None, "5"))
    assert describe_changes(found) == "made with b 2, here 4; made with c 3, here it is not installed; made without d, here 5"
    assert changes({}, {"a": "1"}) == ()
    assert describe_changes(()) == ""
