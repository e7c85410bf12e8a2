"""Verdicts: versions of libraries, and how their changes are described."""

from toolkit.verification.verdict import VersionChange, describe_changes, running_versions, version_changes


def test_running_versions():
    """Versions of Python, the toolkit and the libraries that shape outputs are sorted by name."""
    running = running_versions()
    assert {"python", "toolkit", "pandas", "ipywidgets"} <= set(running)
    assert list(running) == sorted(running)


def test_version_changes():
    """Changed, removed and new libraries are described; without stored versions there are no changes."""
    changes = version_changes({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "4", "d": "5"})
    assert changes == (VersionChange("b", "2", "4"), VersionChange("c", "3", None), VersionChange("d", None, "5"))
    assert (
        describe_changes(changes)
        == "made with b 2, here 4; made with c 3, here it is not installed; made without d, here 5"
    )
    assert version_changes({}, {"a": "1"}) == ()
    assert describe_changes(()) == ""
