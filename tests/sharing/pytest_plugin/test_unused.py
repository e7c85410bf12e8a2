"""Which cassettes there are, and whether a run was about all tests."""

from __future__ import annotations

from pathlib import Path

from toolkit.cassettes.catalog.facts import cassettes_in
from toolkit.sharing.pytest_plugin import unused
from toolkit.sharing.pytest_plugin.notes import Notes

CASSETTE = "version: 1\ninteractions:\n- request: {}\n"


def write(file, text=CASSETTE):
    """Write a file and its folder."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_cassettes(project):
    """Cassettes are found beside the tests and in the project's folder, by whichever program; other files are not."""
    (project / "toolkit.toml").write_text('cassettes = "recordings"\n')
    write(project / "recordings" / "tour.yaml")
    write(project / "tests" / "cassettes" / "test_a" / "test_x.yaml")
    write(project / "tests" / "cassettes" / "test_a" / "stock.json", '{"version": 1, "interactions": []}')
    write(project / "tests" / "deep" / "cassettes" / "x.yaml", "# a comment\n" + CASSETTE)
    for name in ("x.failed.yaml", "x.part.yaml", "notes.txt"):
        write(project / "tests" / "cassettes" / name)
    write(project / "tests" / "cassettes" / "config.yaml", "name: interactions\n")
    write(project / ".hidden" / "cassettes" / "x.yaml")
    write(project / "env" / "cassettes" / "x.yaml")
    write(project / "env" / "pyvenv.cfg")
    folders = unused.cassette_folders([project], ["*.egg", ".*"])
    assert {folder.relative_to(project).as_posix() for folder in folders} == {
        "recordings",
        "tests/cassettes",
        "tests/deep/cassettes",
    }
    files = [file.name for folder in folders for file in cassettes_in(folder) if not unused.is_aside(file)]
    assert sorted(files) == ["stock.json", "test_x.yaml", "tour.yaml", "x.yaml"]


def test_covers():
    """A run is about all tests if it is about folders that hold all that is needed."""
    tests = Path("/project/tests")
    assert unused.covers([tests], [tests / "a", tests])
    assert not unused.covers([tests / "a"], [tests])


def test_hand_on(tmp_path):
    """A log is appended to that of the folder which the user named."""
    write(tmp_path / "own" / "1.plays", "b\n")
    write(tmp_path / "user" / "1.plays", "a\n")
    write(tmp_path / "own" / "others" / "1.plays", "c\n")
    unused.hand_on(tmp_path / "own", tmp_path / "user")
    assert (tmp_path / "user" / "1.plays").read_text() == "a\nb\n"
    assert [file.name for file in (tmp_path / "user").iterdir()] == ["1.plays"]


def test_notes():
    """Notes of several processes add up; each process deselects the same tests."""
    notes = Notes()
    for number in range(2):
        notes.add(Notes([f"r{number}"], [f"k{number}"], [f"o{number}"], 7).as_plain())
    assert notes == Notes(["r0", "r1"], ["k0", "k1"], ["o0", "o1"], 7)
