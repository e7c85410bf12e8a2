"""Names of cassettes are files in the cassettes folder, paths are ordinary paths, and modes are vcrpy's."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolkit.cassettes.selection import find_cassette
from toolkit.core.errors import ConfigurationError
from toolkit.local.settings import Settings


@pytest.fixture
def folder(tmp_path):
    return Settings({}, cassettes="recordings", project=tmp_path)


@pytest.mark.parametrize(
    "name",
    ["", " ", "\n", 7, None, b"tour", "a\0b", "a/\0.yaml", "\ud800", "\ud800.yaml", "~nobody-of-that-name/tour.yaml"],
)
def test_neither_name_nor_path(folder, name):
    """Anything that is neither a name nor a path is refused."""
    with pytest.raises(ConfigurationError) as caught:
        find_cassette(name, folder)
    assert caught.value.next_step
    assert caught.value.about == "cassette"


@pytest.mark.parametrize("name", [".", "..", ".hidden", "--mode", " lead", "trail\u2003", "x" * 201, "é" * 101])
def test_unsuitable_name(folder, name):
    """A name that is hidden, reads as an option, ends in white space or is too long is refused."""
    with pytest.raises(ConfigurationError, match="A cassette cannot be called ") as caught:
        find_cassette(name, folder)
    assert "letters, digits, spaces" in caught.value.next_step
    assert len(caught.value.what) < 200
    assert find_cassette(f"./{name}.yaml", folder) == Path(f"{name}.yaml")
    assert find_cassette(Path(name), folder) == Path(name)


@pytest.mark.parametrize("target", ["other.yaml", "../elsewhere.yaml", "../missing/x.yaml"])
def test_name_of_a_link(folder, target):
    """A name may be a link within the folder, not out of it: a cloned project would choose which file is written."""
    link = folder.cassettes_folder / "tour.yaml"
    link.parent.mkdir()
    link.symlink_to(target)
    if target == "other.yaml":
        assert find_cassette("tour", folder) == link
    else:
        with pytest.raises(ConfigurationError, match="links to a file outside the cassettes folder") as caught:
            find_cassette("tour", folder)
        assert caught.value.about == "cassette"
    assert find_cassette(link) == link
