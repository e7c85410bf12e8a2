from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from toolkit.core.errors import ConfigurationError
from toolkit.local.folders import config_folder, current_project, exported_by, project_of, user_key
from toolkit.local.settings import Settings

ME, STRANGER, SOMEBODY = 1000, 1001, 1002
posix_only = pytest.mark.skipif(os.name != "posix", reason="Windows has owners of another kind")


@pytest.fixture(autouse=True)
def _nothing_named(monkeypatch):
    for name in ("TOOLKIT_PROJECT", "JPY_SESSION_NAME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def shared(tmp_path, monkeypatch, home):
    """Make a folder like /tmp, which belongs to root and is open to all."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


@pytest.fixture
def owners(monkeypatch, shared):
    """Set owners by path where they are not this user, in place of chown, which needs root."""
    by_path = {shared: 0}
    monkeypatch.setattr("os.geteuid", lambda: ME)
    for name in ("stat", "lstat"):
        monkeypatch.setattr(Path, name, owned(getattr(Path, name), by_path))
    return by_path


def owned(real, by_path):
    def status(path, **options):
        whole = real(path, **options)
        return os.stat_result((*whole[:4], by_path.get(path, ME), *whole[5:]))

    return status


def find_project(start):
    return project_of(start) or start


@pytest.mark.parametrize("marker", ["toolkit.toml", "pyproject.toml"])
def test_find_project(project, marker):
    """The project is the nearest folder upward with a toolkit.toml or pyproject.toml."""
    (project / marker).touch()
    below = project / "notebooks" / "2026"
    below.mkdir(parents=True)
    assert find_project(below) == project
    assert find_project(project) == project
    (below.parent / "pyproject.toml").touch()
    assert find_project(below) == below.parent


@pytest.mark.parametrize("make_git", [Path.mkdir, Path.touch])
def test_find_project_stays_in_the_repository(project, make_git):
    """The search does not leave the repository; in a worktree `.git` is a file."""
    (project / "toolkit.toml").touch()
    below = project / "repository" / "notebooks"
    below.mkdir(parents=True)
    make_git(project / "repository" / ".git")
    assert find_project(below) == below
    (project / "repository" / "toolkit.toml").touch()
    assert find_project(below) == project / "repository"


def test_find_project_stays_below_the_home_folder(home, project):
    """A file in the home folder makes it a project for itself, not for the folders below it."""
    (home / "toolkit.toml").touch()
    assert (find_project(home), find_project(project)) == (home, project)


def make(folder, name="toolkit.toml"):
    folder.mkdir(exist_ok=True)
    (folder / name).touch()
    return folder / name


@posix_only
@pytest.mark.parametrize("marker", ["toolkit.toml", "pyproject.toml"])
def test_a_planted_file_above_is_ignored(shared, owners, marker):
    """Another user's file in a folder open to all is ignored, with a warning that names it."""
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
def test_a_file_in_another_users_folder(home, shared, owners):
    """A file in another user's folder is ignored: the owner may have put one of our files there."""
    file = make(home / "theirs")
    owners[home / "theirs"] = STRANGER
    below = home / "theirs" / "mine"
    below.mkdir()
    with pytest.warns(UserWarning, match=str(file)):
        assert find_project(below) == below


@posix_only
def test_a_planted_file_in_the_working_folder_is_refused(shared, owners, monkeypatch):
    """Another user's settings file in the working folder itself is an error that says what to do."""
    planted = make(shared)
    owners[planted] = STRANGER
    with pytest.raises(ConfigurationError, match="anybody may have put it there") as caught:
        find_project(shared)
    for phrase in (str(planted), "chown", f"tk.Settings.load({str(planted)!r})", "your own folder"):
        assert phrase in str(caught.value)
    monkeypatch.chdir(shared)
    for environ in ({}, {"TOOLKIT_PROJECT": str(shared)}):
        with pytest.raises(ConfigurationError, match="anybody"):
            Settings.load(environ=environ)
    planted.write_text('header_prefix = "ACME"')
    assert Settings.load(planted, environ={}).header_prefix == "ACME"


@posix_only
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("user", [0, ME])
def test_a_checkout_of_another_user(home, owners, monkeypatch, user):
    """A checkout that belongs to another user throughout, as when mounted in a container, is a project."""
    monkeypatch.setattr("os.geteuid", lambda: user)
    checkout = home / "checkout"
    file = make(checkout)
    below = checkout / "notebooks"
    below.mkdir()
    owners.update(dict.fromkeys((checkout, file, below), SOMEBODY))
    assert find_project(checkout) == checkout
    assert find_project(below) == checkout


@pytest.fixture
def elsewhere(home, monkeypatch):
    """Work in a folder that is in no project."""
    folder = home / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_named_project(project, elsewhere, monkeypatch):
    """TOOLKIT_PROJECT names the project, whatever the working directory is, with ~ too; it needs no marker."""
    (elsewhere / "toolkit.toml").touch()
    for text in (str(project), "~/project", f"{project}/notebooks/..", "../project"):
        assert current_project({"TOOLKIT_PROJECT": text}) == project
    assert current_project({}) == current_project({"TOOLKIT_PROJECT": ""}) == elsewhere
    monkeypatch.setenv("TOOLKIT_PROJECT", str(project))
    assert Settings().project == Settings.load().project == project
    with pytest.raises(ConfigurationError, match=r"TOOLKIT_PROJECT is '.*', which is not a folder"):
        current_project({"TOOLKIT_PROJECT": "~/elsewhere/toolkit.toml"})


def test_variables_of_a_dotenv(home, project, elsewhere):
    """What looks like an assignment in a .env around a project is known, in whatever way editors read such files."""
    deep = project / "deep"
    (deep / ".env").mkdir(parents=True)  # as a virtual environment may be named
    above, working = project / ".env", elsewhere / ".env"
    (home / ".env").write_text("A=1\n")
    above.write_text("\ufeffexport B=1\n # C=1\nd : 'E=1'\r\nF=\n", encoding="utf-8")
    working.write_text("B=2\nG=2\n")
    beside = [folder / ".env" for folder in (home / "beside", project / ".hidden")]
    for number, file in enumerate(beside):
        file.parent.mkdir()
        file.write_text(f"H{number}=1\n")
    around = {"B": above, "D": above, "E": above, "G": working}
    assert exported_by(deep) == around
    assert exported_by(deep, beside=True) == {**around, "H0": beside[0], "H1": beside[1]}
    above.write_text("#" * (1 << 20) + "#")
    with pytest.raises(ConfigurationError, match=r"Cannot read .*: it is larger than 1 MiB"):
        exported_by(deep)


@pytest.mark.parametrize("program", ["Jupyter", "VS Code"])
def test_project_of_the_notebook(project, elsewhere, monkeypatch, program):
    """The notebook's own project counts where its program says where it lies, unless the working folder has one."""
    (project / "toolkit.toml").touch()
    notebook = project / "notebooks" / "tour.ipynb"
    notebook.parent.mkdir()
    notebook.touch()
    environ = {"JPY_SESSION_NAME": str(notebook)} if program == "Jupyter" else {}
    if program == "VS Code":
        shell = SimpleNamespace(user_ns={"__vsc_ipynb_file__": str(notebook)})
        monkeypatch.setattr("toolkit.local.folders.shell", lambda: shell)
    assert current_project(environ) == project
    (elsewhere / "pyproject.toml").touch()
    assert current_project(environ) == elsewhere


def test_a_key_is_made_once():
    """A key is made when it is asked for, is private, and stays the same; each purpose has its own."""
    assert user_key("x", makes=False) is None
    key = user_key("x", makes=True)
    assert len(key) == 32
    assert user_key("x", makes=True) == user_key("x", makes=False) == key
    assert user_key("y", makes=True) != key
    assert os.name != "posix" or (config_folder() / "x.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "not a key", "ab" * 31, "ab" * 5000])
def test_not_a_key(text):
    """A file that is not a key is an error, and is not replaced."""
    file = config_folder() / "x.key"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    for makes in (False, True):
        with pytest.raises(OSError, match="not contain a toolkit key"):
            user_key("x", makes=makes)
    assert file.read_text() == text
