from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest

from toolkit.core.errors import ConfigurationError
from toolkit.local.project import find_project, is_strangers
from toolkit.local.settings import Settings

ME, STRANGER, SOMEBODY = 1000, 1001, 1002
posix_only = pytest.mark.skipif(os.name != "posix", reason="Windows has owners of another kind")


@pytest.fixture
def shared(tmp_path, monkeypatch, home):
    """A folder like /tmp: root's, and open to all."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


@pytest.fixture
def owners(monkeypatch, shared):
    """Owners by path, where they are not this user: a stand-in for chown, which takes root."""
    by_path = {shared: 0}
    monkeypatch.setattr("toolkit.local.project._user", lambda: ME)
    monkeypatch.setattr("toolkit.local.project._owners", lambda path: {by_path.get(path, ME)})
    return by_path


def silently(start):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return find_project(start)


@pytest.mark.parametrize("marker", ["toolkit.toml", "pyproject.toml"])
def test_find_project(project, marker):
    """The project is the nearest folder upward with a toolkit.toml or pyproject.toml."""
    (project / marker).touch()
    below = project / "notebooks" / "2026"
    below.mkdir(parents=True)
    assert find_project(below) == project
    assert find_project(project) == project


def test_find_project_nearest(project):
    """The nearest of several counts."""
    (project / "toolkit.toml").touch()
    inner = project / "inner"
    inner.mkdir()
    (inner / "pyproject.toml").touch()
    assert find_project(inner) == inner


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_find_project_stays_in_the_repository(project, kind):
    """The search does not leave the repository, be its `.git` a folder or, in a worktree, a file."""
    (project / "toolkit.toml").touch()
    below = project / "repository" / "notebooks"
    below.mkdir(parents=True)
    git = project / "repository" / ".git"
    git.mkdir() if kind == "folder" else git.touch()
    assert find_project(below) == below
    (project / "repository" / "toolkit.toml").touch()
    assert find_project(below) == project / "repository"


def test_find_project_stays_below_home(project, home):
    """The home folder is no project of what lies in it."""
    (home / "toolkit.toml").touch()
    assert find_project(project) == project


def test_find_project_from_home(home):
    """Started in the home folder the search stays there: what lies above is other people's."""
    (home.parent / "toolkit.toml").touch()
    assert find_project(home) == home
    (home / "toolkit.toml").touch()
    assert find_project(home) == home


def test_find_project_with_linked_home(project, home, monkeypatch):
    """A home folder reached through a link is recognised by its real path, which the working directory has."""
    link = home.parent / "link"
    try:
        link.symlink_to(home, target_is_directory=True)
    except OSError:
        pytest.skip("no right to make links here")
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(link))
    (home / "toolkit.toml").touch()
    assert find_project(project) == project
    assert find_project(link / "project") == link / "project"


def test_find_project_without_home(project, monkeypatch):
    """A user without a home folder, as containers have, has a project all the same."""

    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    (project / "toolkit.toml").touch()
    below = project / "below"
    below.mkdir()
    assert find_project(below) == project


def test_find_project_climbs_real_parents(project, monkeypatch):
    """A path with `..` leads to the parents of where it leads."""
    (project / "a").mkdir()
    (project / "b").mkdir()
    (project / "a" / "toolkit.toml").touch()
    (project / ".git").mkdir()
    assert find_project(project / "a" / ".." / "b") == project / "b"
    monkeypatch.chdir(project / "b")
    assert find_project(Path()) == project / "b"


def make(folder, name="toolkit.toml"):
    folder.mkdir(exist_ok=True)
    (folder / name).touch()
    return folder / name


@posix_only
@pytest.mark.parametrize("marker", ["toolkit.toml", "pyproject.toml"])
def test_a_planted_file_above_is_passed_over(shared, owners, marker):
    """What a stranger left in a folder open to all is no project of ours, and is warned of by name."""
    mine = shared / "mine"
    mine.mkdir()
    planted = make(shared, marker)
    owners[planted] = STRANGER
    with pytest.warns(UserWarning, match="belongs to another user") as caught:
        assert find_project(mine) == mine
    assert str(planted) in str(caught[0].message)
    assert "tk.Settings.load" in str(caught[0].message)
    assert caught[0].filename == __file__


@posix_only
def test_no_file_in_a_folder_open_to_all_counts_above(shared, owners):
    """There even a file of our own may have been put by others, as a link to another of ours."""
    mine = shared / "mine"
    mine.mkdir()
    make(shared)
    with pytest.warns(UserWarning, match="everybody may write"):
        assert find_project(mine) == mine


@posix_only
def test_the_search_goes_on_above_what_is_passed_over(home, shared, owners):
    """A stranger's file does not hide the project above it."""
    make(home / "project")
    between = make(home / "project" / "between")
    owners[between] = STRANGER
    below = home / "project" / "between" / "below"
    below.mkdir()
    with pytest.warns(UserWarning, match="Passed over"):
        assert find_project(below) == home / "project"


@posix_only
def test_a_file_in_a_folder_of_a_strangers(home, shared, owners):
    """Whoever owns a folder may put files of ours into it."""
    file = make(home / "theirs")
    owners[home / "theirs"] = STRANGER
    below = home / "theirs" / "mine"
    below.mkdir()
    with pytest.warns(UserWarning, match=str(file)):
        assert find_project(below) == below


@posix_only
def test_a_planted_file_where_one_works_is_refused(shared, owners, monkeypatch):
    """Started in the very folder, the file would be read: that is an error that says what to do."""
    planted = make(shared)
    owners[planted] = STRANGER
    with pytest.raises(ConfigurationError, match="anybody may have put it there") as caught:
        find_project(shared)
    for words in (str(planted), "chown", f"tk.Settings.load({str(planted)!r})", "a folder of your own"):
        assert words in str(caught.value)
    monkeypatch.chdir(shared)
    with pytest.raises(ConfigurationError, match="anybody"):
        Settings.load(environ={})
    planted.write_text('header_prefix = "ACME"')
    assert Settings.load(planted, environ={}).header_prefix == "ACME"


@posix_only
def test_a_planted_pyproject_where_one_works(shared, owners):
    """It is not read, and says no more than that one works here."""
    owners[make(shared, "pyproject.toml")] = STRANGER
    assert silently(shared) == shared


@posix_only
@pytest.mark.parametrize("user", [0, ME])
def test_a_checkout_of_another_user(home, owners, monkeypatch, user):
    """In a container the mounted checkout belongs to another user throughout: it is a project all the same."""
    monkeypatch.setattr("toolkit.local.project._user", lambda: user)
    checkout = home / "checkout"
    file = make(checkout)
    below = checkout / "notebooks"
    below.mkdir()
    owners.update(dict.fromkeys((checkout, file, below), SOMEBODY))
    assert silently(checkout) == checkout
    assert silently(below) == checkout


@posix_only
def test_a_folder_of_ours_in_a_checkout_of_another_user(home, owners):
    """There the two do not agree, and a warning says what to do."""
    checkout = home / "checkout"
    file = make(checkout)
    mine = checkout / "mine"
    mine.mkdir()
    owners.update(dict.fromkeys((checkout, file), SOMEBODY))
    with pytest.warns(UserWarning, match=r"chown.*tk\.Settings\.load"):
        assert find_project(mine) == mine


@posix_only
def test_files_of_root(home, owners):
    """What root put there counts, as in an image that was built by root and runs as another."""
    folder = home / "app"
    file = make(folder)
    below = folder / "below"
    below.mkdir()
    owners.update(dict.fromkeys((folder, file), 0))
    assert silently(below) == folder


@posix_only
def test_a_disk_where_all_is_open_to_all(home, owners):
    """On a Windows disk in Linux everything is: whoever works there has it no better above."""
    folder = home / "disk"
    make(folder)
    below = folder / "below"
    below.mkdir()
    for each in (folder, below):
        each.chmod(0o777)
    assert silently(below) == folder


def test_on_windows_owners_are_not_looked_at(shared, owners, monkeypatch):
    """It has owners of another kind, and folders open to all are rare."""
    planted = make(shared)
    owners[planted] = STRANGER
    monkeypatch.setattr("toolkit.local.project._user", lambda: None)
    assert silently(shared) == shared
    assert not is_strangers(planted, shared)


@posix_only
def test_a_link_belongs_to_who_made_it(home):
    """A stranger's link to a file of ours is a stranger's; so is ours to a file of theirs."""
    if os.geteuid() != 0:
        pytest.skip("giving files away takes root")
    file, link = make(home / "project"), home / "project" / "link"
    link.symlink_to(file)
    assert not is_strangers(link, home)
    os.chown(link, STRANGER, -1, follow_symlinks=False)
    assert not is_strangers(file, home)
    assert is_strangers(link, home)
    os.chown(link, 0, -1, follow_symlinks=False)
    os.chown(file, STRANGER, -1)
    assert is_strangers(file, home)
    assert is_strangers(link, home)
    os.chown(home, STRANGER, -1)
    assert not is_strangers(link, home)


@posix_only
def test_what_is_not_there_is_nobodys(home):
    """A file that was removed meanwhile is no stranger's."""
    assert not is_strangers(home / "missing", home / "missing too")
